-- SPDX-License-Identifier: Apache-2.0
-- nvim-dap in a real Neovim goes through a trace.
--
-- KYMO=… TRACE=… COMMANDS=a;b NVIM_DAP=folder nvim --headless -u NONE -l session.lua: types each command into the debug
-- console, and prints where the debugger stands then, a JSON object a line.
vim.opt.runtimepath:append(vim.env.NVIM_DAP)
local dap = require('dap')

dap.adapters.kymo = { type = 'executable', command = vim.env.KYMO, args = { 'dap' } }
local stops = 0
dap.listeners.before.event_stopped['session'] = function() stops = stops + 1 end

local function frame() return dap.session() and dap.session().current_frame end

local function wait(predicate) assert(vim.wait(30000, predicate, 20), 'nothing came') end

-- Until the client has asked for all that it wants; a loop never ends.
local function settle()
  local seen, quiet = -1, 0
  while quiet < 10 and stops < 100 do
    quiet = seen == stops and quiet + 1 or 0
    seen = stops
    vim.wait(50, function() return false end)
  end
end

dap.run({ type = 'kymo', request = 'launch', name = 'a recorded run', trace = vim.env.TRACE })
wait(function() return stops > 0 and frame() end)
for command in vim.gsplit(vim.env.COMMANDS, ';', { plain = true }) do
  local before = stops
  dap.session():evaluate({ expression = command, context = 'repl' }, function() end)
  wait(function() return stops > before and frame() end)
  settle()
  io.stdout:write(vim.json.encode({ stops = stops, thread = dap.session().stopped_thread_id,
    ['function'] = frame().name, line = frame().line }) .. '\n')
end
vim.cmd('qa!')

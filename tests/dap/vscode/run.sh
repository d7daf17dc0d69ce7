#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Install code-server (VS Code in a browser) and puppeteer in FOLDER, if they are not there, install the extension as
# docs/guide/editors.md tells, and run session.js with the `kymo` of the build TREE, on a program that PYTHON runs.
# FOLDER has the pictures then.  Needs Node.js 20 with npm, a C++ compiler, make, and Chromium: $CHROMIUM is its program.
#
#   run.sh FOLDER TREE PYTHON
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd) tree=$(cd "$2" && pwd) python=$3
here=$(cd "$(dirname "$0")" && pwd) project=$(cd "$(dirname "$0")/../../.." && pwd)
code=$folder/node_modules/code-server
export npm_config_yes=true npm_config_audit=false npm_config_fund=false
[ ! -e /usr/include/node ] || export npm_config_nodedir=/usr

# Its own install script compiles what needs Kerberos, too.
if [ ! -e "$folder/installed" ]; then
    (
        cd "$folder"
        [ -e package.json ] || npm init -y
        npm install --ignore-scripts code-server@4.100.3 puppeteer-core@24 @vscode/vsce@3
        npm rebuild argon2
        cd "$code/lib/vscode"
        npm install --omit=dev --ignore-scripts
        npm rebuild @vscode/spdlog native-watchdog @parcel/watcher
        npm rebuild node-pty || true # what it does after it was built is of no use here
        cd extensions
        npm install --omit=dev --ignore-scripts
    ) >"$folder/install.log" 2>&1 || { tail -n 20 "$folder/install.log" >&2; exit 1; }
    touch "$folder/installed"
fi

work=$folder/work home=$folder/home
rm -rf "$work" "$home" "$folder/profile" "$folder/server.log" "$folder"/*.png
mkdir -p "$work/.vscode" "$home/data/User"
cp "$here/stock.py" "$work"
cp "$here/launch.json" "$work/.vscode"
record() { (cd "$work" && KYMO_PYTHON=$python "$tree/bin/kymo" record -q "$@" stock.py 2>/dev/null) || true; } # it fails, as it must
record -o run.kymo
record -o values.kymo --values=globals
# VS Code takes the PATH that a login shell has.
echo "export PATH='$tree/bin':\$PATH" >"$home/.profile"
echo '{"workbench.startupEditor": "none", "security.workspace.trust.enabled": false, "telemetry.telemetryLevel": "off",
       "extensions.autoCheckUpdates": false, "files.autoSave": "off"}' >"$home/data/User/settings.json"

serve() { HOME=$home exec node "$code/out/node/entry.js" --user-data-dir "$home/data" --extensions-dir "$home/extensions" "$@"; }
cp -r "$project/replay/debugger/editors/vscode" "$home/extension"
(cd "$home/extension" && "$folder/node_modules/.bin/vsce" package --allow-missing-repository --skip-license) >"$folder/vsce.log" 2>&1
(serve --install-extension "$home/extension/kymo-debug-0.1.0.vsix") >>"$folder/vsce.log" 2>&1

serve --auth none --bind-addr 127.0.0.1:0 --disable-telemetry --disable-update-check >"$folder/server.log" 2>&1 &
server=$!
trap 'kill $server' EXIT
until url=$(grep -soE 'http://127.0.0.1:[0-9]+' "$folder/server.log"); do
    kill -0 $server
    sleep 0.1
done
line() { grep -n -m 1 -F "$1" "$work/stock.py" | cut -d: -f1; }
cat >"$folder/facts.json" <<END
{"modules": "$folder", "chromium": "${CHROMIUM:-/usr/bin/chromium}", "profile": "$folder/profile", "url": "$url", "folder": "$work",
 "lines": {"fails": $(line 'stock[name] -= 1'), "calls": $(line '    remove(name)'), "removes": $(line 'del stock[name]'),
           "loads": $(line '= int(count)'), "reports": $(line 'sum('), "days": $(line 'for name in'), "sells": $(line '    sell(name)')}}
END
node "$here/session.js" "$folder/facts.json"

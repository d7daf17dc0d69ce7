// SPDX-License-Identifier: Apache-2.0
// Starts `kymo dap`, or says why it cannot: VS Code itself says nothing when there is no such program.
const fs = require('fs');
const path = require('path');
const vscode = require('vscode');

function isThere(program) {
    const folders = program.includes('/') ? [''] : (process.env.PATH || '').split(path.delimiter);
    return folders.some(folder => fs.existsSync(path.join(folder, program)));
}

exports.activate = context => {
    context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory('kymo', {
        createDebugAdapterDescriptor(session) {
            const program = session.configuration.kymo || 'kymo';
            if (!isThere(program))
                throw new Error(`There is no program '${program}'. Set "kymo" in launch.json to the path of Kymo's.`);
            return new vscode.DebugAdapterExecutable(program, ['dap']);
        },
    }));
};

// SPDX-License-Identifier: Apache-2.0
// A session of Microsoft's test client with `kymo dap`: node session.js FACTS, a JSON file.  Every message that goes
// either way is written to FACTS.log, one a line.
const assert = require('assert');
const fs = require('fs');
const { createRequire } = require('module');

const facts = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { DebugClient } = createRequire(facts.modules + '/')('@vscode/debugadapter-testsupport');
const log = fs.openSync(process.argv[2] + '.log', 'w');

function connect() {
    const client = new DebugClient(facts.kymo, 'dap', 'kymo', undefined, true);
    const dispatch = client.dispatch, connected = client.connect;
    client.defaultTimeout = 120000;
    client.dispatch = body => {
        fs.writeSync(log, JSON.stringify(JSON.parse(body)) + '\n');
        dispatch.call(client, body);
    };
    client.connect = (readable, writable) => {
        connected.call(client, readable, {
            write: (text, encoding) => {
                fs.writeSync(log, text.slice(text.indexOf('\r\n\r\n') + 4) + '\n');
                writable.write(text, encoding);
            },
        });
    };
    return client;
}

// Make a move, and be told where it ends.
async function move(client, request, reason, expected) {
    const stopped = client.assertStoppedLocation(reason, expected);
    await client.send(request, { threadId: 1 });
    return stopped;
}

async function stopsAtTheEntry() {
    const client = connect();
    await client.start();
    await Promise.all([
        client.configurationSequence(),
        client.launch({ trace: facts.trace, sourceRoot: facts.folder, position: 'start' }),
        client.waitForEvent('stopped').then(event => assert.equal(event.body.reason, 'entry')),
    ]);
    await client.stop();
}

async function goesBothWays() {
    const client = connect(), at = line => ({ path: facts.program, line: facts.lines[line] });
    const set = (...lines) => client.setBreakpointsRequest({
        source: { path: facts.program }, breakpoints: lines.map(line => ({ line: facts.lines[line] })) });
    await client.start();
    await client.hitBreakpoint({ trace: facts.trace, sourceRoot: facts.folder, stopOnEntry: false }, at('last'));
    await move(client, 'stepBack', 'step', at('before'));
    await move(client, 'next', 'breakpoint', at('last'));
    await set('fail');
    await move(client, 'reverseContinue', 'breakpoint', at('fail'));
    await set('fail', 'add');
    await move(client, 'reverseContinue', 'breakpoint', at('add'));
    await move(client, 'stepOut', 'breakpoint', at('fail'));
    await set();
    await move(client, 'stepIn', 'step', at('try'));
    const scopes = await client.scopesRequest({
        frameId: (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames[0].id });
    const reference = scopes.body.scopes[0].variablesReference;
    const variables = (await client.variablesRequest({ variablesReference: reference })).body.variables;
    assert.deepEqual(variables.map(variable => variable.name), ['x']);
    await client.terminateRequest();
    await client.stop();
}

async function refusesWhatIsNoTrace() {
    const client = connect();
    await client.start();
    await assert.rejects(client.launch({ trace: facts.program }), /not a trace/);
    await client.stop();
}

(async () => {
    await stopsAtTheEntry();
    await goesBothWays();
    await refusesWhatIsNoTrace();
})().catch(error => {
    console.error(error);
    process.exit(1);
});

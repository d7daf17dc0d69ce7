// SPDX-License-Identifier: Apache-2.0
// node trace_processor.js ENGINE: answers SQL with Perfetto's trace processor.  ENGINE is the folder of Perfetto's UI that has
// engine_bundle.js; a JSON list of [trace, query, …] comes from stdin, and of each a list of lists of rows goes to stdout.
const fs = require("fs");
const path = require("path");

const [engine] = process.argv.slice(2);
const METHOD = {append: 1, finalize: 2, query: 3, reset: 7};
const CELL = {null: 1, integer: 2, real: 3, text: 4, blob: 5, end: 0};

// The bundle is made for a worker of a browser.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = {href: "http://localhost/engine_bundle.js"};
globalThis.XMLHttpRequest = class {
    open(_, name) { this.name = path.basename(name); }
    send() { this.response = new Uint8Array(fs.readFileSync(path.join(engine, this.name))).buffer; }
};
const load = new Function("process", fs.readFileSync(path.join(engine, "engine_bundle.js"), "utf8"));
load(undefined);

function varint(value) {
    const bytes = [];
    for (value = BigInt(value); value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
    return Buffer.from([...bytes, Number(value)]);
}

const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const number = (id, value) => Buffer.concat([varint(id * 8), varint(value)]);

// [field, value] of a message; a value is a BigInt or bytes.
function* fields(bytes) {
    let at = 0;
    const read = () => {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = bytes[at++];
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) return BigInt.asUintN(64, value);
        }
    };
    while (at < bytes.length) {
        const tag = Number(read());
        if ((tag & 7) === 0) {
            yield [tag >> 3, read()];
        } else {
            const length = (tag & 7) === 2 ? Number(read()) : (tag & 7) === 1 ? 8 : 4;
            yield [tag >> 3, bytes.subarray(at, at + length)];
            at += length;
        }
    }
}

function* varints(bytes) {
    let value = 0n, shift = 0n;
    for (const byte of bytes) {
        value |= BigInt(byte & 0x7f) << shift;
        shift += 7n;
        if (byte < 0x80) {
            yield Number(BigInt.asIntN(64, value));
            value = shift = 0n;
        }
    }
}

function readBatch(batch, result) {
    let cells = [], integers = [], reals = [], texts = [];
    for (const [id, value] of fields(batch)) {
        if (id === 1) cells = [...varints(value)];
        if (id === 2) integers = [...varints(value)];
        if (id === 3) for (let at = 0; at < value.length; at += 8) reals.push(value.readDoubleLE(at));
        if (id === 5) texts = value.toString("utf8").split("\0");
        if (id === 6) result.isOver = Boolean(value);
    }
    for (const cell of cells) {
        if (!result.row || result.row.length === result.columns) result.rows.push((result.row = []));
        result.row.push(cell === CELL.null ? null : (cell === CELL.integer ? integers : cell === CELL.real ? reals : texts).shift());
    }
}

const {port1: ours, port2: theirs} = new MessageChannel();
let sequence = 0, rest = Buffer.alloc(0), waiting = [];
ours.onmessage = ({data}) => {
    rest = Buffer.concat([rest, data]);
    waiting.splice(0).forEach((told) => told());
};
theirs.start?.();
self.onmessage({data: theirs});

function send(method, argument = Buffer.alloc(0)) {
    ours.postMessage(new Uint8Array(field(1, Buffer.concat([number(1, sequence++), number(2, method), argument]))));
}

async function response() {
    for (;;) {
        // TraceProcessorRpcStream.msg, of which the whole must have come
        if (rest.length > 1) {
            let length = 0, at = 1, shift = 0;
            do length += (rest[at] & 0x7f) * 2 ** shift, shift += 7; while (rest[at++] & 0x80);
            if (rest.length >= at + length) {
                const message = new Map(fields(rest.subarray(at, at + length)));
                rest = rest.subarray(at + length);
                if (message.has(5)) throw new Error(message.get(5).toString());
                return message;
            }
        }
        await new Promise((told) => waiting.push(told));
    }
}

async function query(sql) {
    const result = {rows: [], columns: 0, isOver: false};
    send(METHOD.query, field(103, field(1, Buffer.from(sql))));
    while (!result.isOver) {
        for (const [id, value] of fields((await response()).get(203))) {
            if (id === 1) result.columns++;
            if (id === 2) throw new Error(`${sql}: ${value}`);
            if (id === 3) readBatch(value, result);
        }
    }
    return result.rows;
}

(async () => {
    await new Promise(setImmediate); // until the engine has told itself that it is ready
    const answers = [];
    for (const [trace, ...queries] of JSON.parse(fs.readFileSync(0, "utf8"))) {
        for (const [method, argument] of [[METHOD.reset], [METHOD.append, field(101, fs.readFileSync(trace))], [METHOD.finalize]]) {
            send(method, argument);
            await response();
        }
        const rows = [];
        for (const sql of queries) rows.push(await query(sql));
        answers.push(rows);
    }
    fs.writeSync(1, JSON.stringify(answers));
    process.exit(0);
})().catch((error) => {
    console.error(error.message);
    process.exit(1);
});

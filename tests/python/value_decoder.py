# SPDX-License-Identifier: Apache-2.0
"""A decoder of recorded values, written from format/value.h and format/record.h.

It follows each thread's stack by entries and exits alone, and keeps what the variables of each frame hold.
"""
import struct
import unittest.mock
from pathlib import Path

import kymo_model
from kymo_model import KINDS, TWO_FIELDS
from wire import leb128

FLOW_KINDS = [*KINDS, "LASTI", "SITE"]
ENTRIES = ("PY_START", "PY_START_AT", "PY_RESUME", "PY_THROW")
EXITS = ("PY_RETURN", "PY_YIELD", "PY_UNWIND")
FLOW = 1  # of the required features
WHOLE = 1
LEAVES = {1: "unbound", 2: "redacted", 3: "cut", 4: None, 5: False, 6: True, 7: "Ellipsis", 8: "NotImplemented"}
OTHER = "other"


class Block:
    """The values of one record; `names` of the code that it belongs to."""

    def __init__(self, payload, at, end, names):
        self.payload, self.at, self.end, self.names = payload, at + 1, end, names
        self.start, self.is_whole = at, payload[at] == WHOLE
        self.bindings, self.places = {}, {}
        while self.at < end:
            name = self.number()
            start = self.at
            self.bindings[name] = self.value()
            self.places[name] = start

    def number(self):
        value, self.at = leb128(self.payload, self.at)
        return value

    def take(self, count):
        self.at += count
        assert self.at <= len(self.payload)
        return self.payload[self.at - count:self.at]

    def text(self):
        self.number()
        return self.take(self.number())

    def items(self, each=1):
        count, kept = self.number(), self.number()
        return count, [self.value() for _ in range(each * kept)]

    def value(self):
        """A leaf as itself, (type, items) of a list, tuple or dict, or OTHER."""
        kind = self.take(1)[0]
        if kind in LEAVES:
            return LEAVES[kind]
        if kind == 9:
            at, back = self.number(), self.at
            assert at < self.start - 6 and self.payload[at] != 9, "SAME is of what came before, and not SAME"
            self.at = at
            value = self.value()
            self.at = back
            return value
        if kind == 10:
            self.number(), self.take(8)
        elif kind == 11:
            number = self.number()
            return number >> 1 ^ -(number & 1)
        elif kind == 12:
            is_negative, count, kept = self.take(1)[0], self.number(), self.number()
            magnitude = int.from_bytes(self.take(kept), "little")
            if kept == count:
                return -magnitude if is_negative else magnitude
        elif kind == 13:
            return struct.unpack("<d", self.take(8))[0]
        elif kind == 14:
            self.take(16)
        elif kind == 15:
            return self.number(), self.text().decode(errors="surrogatepass")
        elif kind == 16:
            self.text()
        elif kind == 17:
            self.take(8), self.text()
        elif kind == 18:
            return "tuple", *self.items()
        elif kind in (19, 20, 21):
            self.take(8)
            items = self.items()
            return ("list", *items) if kind == 19 else OTHER
        elif kind == 22:
            self.take(8)
            return "dict", *self.items(2)
        elif kind in (23, 24):
            [self.value() for _ in range(3)]
        elif kind == 25:
            self.number(), self.take(8), self.items(2)
        elif kind == 26:
            self.number(), self.take(8), self.text()
        elif kind == 27:
            self.number(), self.text()
        elif kind == 28:
            self.number(), self.take(8), self.text(), self.value()
        elif kind == 29:
            self.number(), self.take(8), [self.value() for _ in range(3)], self.items(2)
        elif kind == 30:
            self.number(), self.take(8), self.text()
            [self.number() for _ in range(self.number())]
            self.items()
        elif kind == 31:
            self.number(), self.value()
        else:
            raise AssertionError(f"kind {kind} of value at {self.at}")
        return OTHER


class Frame:
    def __init__(self, code):
        self.code, self.variables = code, None


class Decoder:
    """(event, function, line or None, own value or nothing, variables) of one thread, in `events`."""

    def __init__(self, process, is_flow):
        self.process, self.is_flow = process, is_flow
        self.stack, self.events, self.codes = [], [], {}
        self.blocks = self.whole = self.chunks = 0
        self.expected = 1
        self.told = []  # of each event, the names of what its record tells, its own value as ""

    def content(self, code):
        if code not in self.codes:
            message, owner = self.process.find("code", code)
            self.codes[code] = owner.find("content", message["content"])[0]
        return self.codes[code]

    def stand_on(self, frames):
        """The stack is @frames, outermost first."""
        if [frame.code for frame in self.stack] != frames:
            self.stack = [Frame(code) for code in frames]

    def chunk(self, header, payload):
        self.chunks += 1
        if header.first_ordinal != self.expected:
            self.lose()
        self.expected = header.last_ordinal + 1
        block = kymo_model.sync_block(payload, header.sync_bytes)
        assert block and block[0] == len(block[1]), "the stacks of these programs are listed whole"
        self.stand_on([code for code, _ in reversed(block[1])])
        at, self.values, self.code = header.sync_bytes, None, None
        self.line = 0
        while at < len(payload):
            at = self.record(payload, at)

    def lose(self):
        """Events are missing here."""
        self.stack = []
        self.told.append([])
        self.events.append(("GAP", None, None, (), {}))

    def record(self, payload, at):
        tag = payload[at]
        if tag >= 0x80 and self.is_flow:
            self.happen("SITE")
            return at + 1
        if tag >= 0x80:
            self.line += (tag & 0x7F) - 64
            self.happen("LINE", self.line)
            return at + 1
        if tag >= 0x60 and not self.is_flow:
            self.happen("INSTRUCTION")
            return at + 1
        if tag == 1:
            self.happen("BRANCH")
            return at + 5
        if tag == 2:
            return self.extended(payload, at)
        name = FLOW_KINDS[tag >> 2]
        fields = struct.Struct("<" + "BHIQ"[tag & 3] * (2 if name in TWO_FIELDS else 1))
        values = fields.unpack_from(payload, at + 1)
        if name in ("CODE", "PY_START"):
            self.code, self.line = values[0], self.content(values[0])["first_line"]
        if name in ENTRIES:
            self.stack.append(Frame(self.code))
        if name == "LINE":
            self.line = values[0]
        if name not in ("CODE", "TIME", "SWITCH", "LASTI"):
            self.happen(name, self.line if name == "LINE" else None)
        if name in EXITS:
            self.stack.pop()
        return at + 1 + fields.size

    def extended(self, payload, at):
        kind, field = struct.unpack_from("<BI", payload, at + 1)
        at += 6
        if kind == 6:
            self.values = payload, at, at + field
            return at + field
        if kind in (3, 4):
            assert self.values is None, "a stack between values and their event"
            depth, frames = kymo_model.sync_block(payload[at:at + field], field)
            self.stand_on([code for code, _ in reversed(frames)])
            for frame in self.stack:
                frame.variables = None
            return at + field
        if kind == 1:
            self.happen("MARK")
        return at

    def happen(self, event, line=None):
        frame = self.stack[-1]
        own, told = (), []
        if not self.is_flow:
            assert frame.code == self.code or event == "MARK"
        if self.values:
            content = self.content(frame.code)
            block = Block(*self.values, content)
            self.blocks += 1
            self.whole += block.is_whole
            if block.is_whole or frame.variables is None:
                assert block.is_whole or not frame.variables
                frame.variables = {}
            for name, value in block.bindings.items():
                if not name:
                    own = (value,)
                    told.append("")
                    continue
                assert not block.is_whole or value != "unbound"
                table = content["varnames"] if name % 2 else content["names"]
                told.append(table[(name - 1) // 2])
                frame.variables[table[(name - 1) // 2]] = value
                if value == "unbound":
                    del frame.variables[table[(name - 1) // 2]]
        self.values = None
        self.told.append(told)
        self.events.append((event, self.content(frame.code)["qualname"], line, own, dict(frame.variables or {})))


def read(path):
    """(trace, whether its lines are rebuilt), whatever features it needs."""
    features = kymo_model.FileHeader(*kymo_model.FILE_HEADER.unpack_from(Path(path).read_bytes())).required_features
    with unittest.mock.patch.object(kymo_model, "TASKS", features):
        return kymo_model.Trace(path), bool(features & FLOW)


def payloads(path):
    """What each frame of the trace holds."""
    return [frame.payload for frame in read(path)[0].frames]


def threads(path):
    """Decoders, one for each thread of the trace that has chunks."""
    trace, is_flow = read(path)
    result = []
    for (number, _), chunks in sorted(trace.streams().items()):
        decoder = Decoder(trace.processes[number], is_flow)
        for frame in chunks:
            decoder.chunk(frame.header, frame.payload)
        result.append(decoder)
    return result

# SPDX-License-Identifier: Apache-2.0
"""A decoder of traces, written from docs/format.md alone; the sections named here are that document's.

It is there to show that the document suffices, and to be compared with.  So it is made to be read, holds
the whole trace in memory, and needs nothing but the standard library.

    for (process, thread), events in kymo_model.Trace("run.kymo").events().items():
        print(*events, sep="\n")  # dicts, as `kymo events --jsonl` has them
"""
import opcode
import struct
from bisect import bisect_right
from collections import namedtuple
from pathlib import Path

from value_model import Values
from wire import crc32c, decode_message, leb128, unpack_lz4

MAGIC = b"\x89KYMO\r\n\x1a"
VERSION = 1
FILE_HEADER = struct.Struct("<8sIIQQQ16sII")
FileHeader = namedtuple(
    "FileHeader",
    "magic version header_bytes required_features optional_features created_unix_ns session_id reserved crc32c",
)

CHUNK, META, INDEX, TRAILER = 1, 2, 3, 4
LZ4, PROVISIONAL, SNAPSHOT = 1, 2, 4
FRAME_MAGIC = b"KYRF"
FRAME_HEADER = struct.Struct("<4s2H6I5Q2I4Q4I")
FrameHeader = namedtuple(
    "FrameHeader",
    "magic kind flags header_bytes stored_bytes raw_bytes process ring thread seq thread_chunk first_ordinal"
    " last_ordinal lost_before lost_reasons interpreter open_clock close_clock meta_position switch_base"
    " sync_bytes branches reserved crc32c",
)
MAX_RAW_BYTES = 64 << 20
Frame = namedtuple("Frame", "offset header payload")

INDEX_ENTRY = struct.Struct("<6Q3I2H")
IndexEntry = namedtuple(
    "IndexEntry", "file_offset seq first_ordinal last_ordinal open_clock close_clock process thread ring kind flags"
)
TRAILER_PAYLOAD = struct.Struct("<2Q")

KINDS = [  # section 4.2
    None, "CODE", "PY_START", "PY_START_AT", "PY_RESUME", "PY_RETURN", "PY_YIELD", "LINE", "INSTRUCTION",
    "PY_THROW", "PY_UNWIND", "RAISE", "RERAISE", "EXCEPTION_HANDLED", "STOP_ITERATION", "CALL", "C_RETURN",
    "C_RAISE", "JUMP", "BRANCH", "BRANCH_LEFT", "BRANCH_RIGHT", "TIME", "SWITCH",
]
ENTRIES = ["PY_START", "PY_RESUME", "PY_THROW"]
EXCEPTIONS = KINDS[9:15]
CALLS = KINDS[15:18]
JUMPS = KINDS[18:22]
TWO_FIELDS = EXCEPTIONS + CALLS + JUMPS
EXTENDED = {1: "MARK", 2: "INTERPRETER", 5: "TASK", 6: "VALUES"}
TASKS, VALUES = 2, 4  # of the required features
COROUTINES = 0x80 | 0x100 | 0x200  # co_flags

LOSSES = ["full", "stalled", "no-ring", "overwritten", "damaged", "storage", "reader", "discarded"]
OVERWRITTEN, DAMAGED = 8, 16
POLICY_OVERWRITE = 3


class BadTrace(Exception):
    """The file is refused."""


# Sections 1, 2, 7 and 8.1: the file as a list of valid frames


def read_file_header(data):
    if data[:8] != MAGIC or len(data) < 64:
        raise BadTrace("not a trace")
    header = FileHeader(*FILE_HEADER.unpack_from(data))
    if header.version != VERSION:
        raise BadTrace(f"version {header.version}")
    if header.crc32c != crc32c(data[:60]):
        raise BadTrace("damaged file header")
    if header.required_features & ~(TASKS | VALUES):
        raise BadTrace(f"required features {header.required_features:#x}")
    if header.header_bytes != 64 or header.reserved:
        raise BadTrace("damaged file header")
    return header


def is_sound(header):
    return (
        header.magic == FRAME_MAGIC
        and header.header_bytes == 128
        and CHUNK <= header.kind <= TRAILER
        and header.flags < 8
        and header.reserved == 0
        and header.stored_bytes <= header.raw_bytes <= MAX_RAW_BYTES
        and (header.flags & LZ4 or header.stored_bytes == header.raw_bytes)
        and (header.kind != CHUNK or header.sync_bytes <= header.raw_bytes and header.branches)
    )


def frame_at(data, offset):
    """The valid frame at @offset, or None."""
    if offset < 0 or offset + 128 > len(data):
        return None
    header = FrameHeader(*FRAME_HEADER.unpack_from(data, offset))
    stored = data[offset + 128:offset + 128 + header.stored_bytes]
    if not is_sound(header) or len(stored) != header.stored_bytes:
        return None
    if header.crc32c != crc32c(data[offset:offset + 124] + bytes(4) + stored):
        return None
    try:
        return Frame(offset, header, unpack_lz4(stored, header.raw_bytes) if header.flags & LZ4 else stored)
    except ValueError:
        return None


def scan(data):
    """The valid frames, and the damage: (offset, bytes) of what lies between them."""
    frames, damage, at = [], [], 64
    while at < len(data):
        frame = frame_at(data, at)
        if frame:
            frames.append(frame)
            at += 128 + frame.header.stored_bytes
            continue
        start = at
        while at < len(data) and not frame_at(data, at):
            at = data.find(FRAME_MAGIC, at + 1)
            at = len(data) if at < 0 else at
        damage.append((start, at - start))
    return frames, damage


def read_index(data):
    """The entries of the index, or None if there is none to be used."""
    trailer = frame_at(data, len(data) - 144)
    if not trailer or trailer.header.kind != TRAILER or len(trailer.payload) != 16:
        return None
    offset, count = TRAILER_PAYLOAD.unpack(trailer.payload)
    entries = []
    while offset and len(entries) < count:
        frame = frame_at(data, offset)
        if not frame or frame.header.kind != INDEX or not frame.payload or len(frame.payload) % 64:
            return None
        entries += map(IndexEntry._make, INDEX_ENTRY.iter_unpack(frame.payload))
        offset += 128 + frame.header.stored_bytes
    return entries if offset and len(entries) == count and all(e.kind in (CHUNK, META) for e in entries) else None


# Sections 5 and 6: definitions


def messages(frames):
    """(position, kind, message) of what is valid in META @frames of one stream."""
    end = 0
    for frame in sorted(frames, key=lambda frame: (frame.header.seq, frame.offset)):
        at = 0
        while at < len(frame.payload):
            position = frame.header.seq + at
            try:
                length, at = leb128(frame.payload, at)
                if at + length > len(frame.payload):
                    raise ValueError("cut")
            except ValueError:
                break
            body = frame.payload[at:at + length]
            at += length
            if position < end:
                continue  # an earlier frame had it
            end = frame.header.seq + at
            try:
                definition = decode_message("Definition", body)
            except ValueError:
                continue
            yield from ((position, kind, message) for kind, message in definition.items() if message)


class Process:
    """What the definitions say of one process."""

    def __init__(self, number):
        self.number = number
        self.process = None
        self.folder = ""
        self.threads = {}  # number: Thread
        self.ends = {}  # number: ThreadEnd
        self.tables = {"code": {}, "content": {}, "name": {}, "text": {}, "source": {}}  # id: (position, message)
        self.tasks = {}  # id: [(position, message)]: a task may get another name
        self.parent = None

    def define(self, position, kind, message):
        if kind in self.tables:
            self.tables[kind].setdefault(message["id"], (position, message))
        elif kind == "task":
            self.tasks.setdefault(message["id"], []).append((position, message))
        elif kind == "process" and not self.process:
            self.process = message
            self.folder = message["folder"]
        elif kind == "thread":
            known = self.threads.setdefault(message["thread"], message)
            known.update((name, value) for name, value in message.items() if value)
        elif kind == "thread_end":
            self.ends[message["thread"]] = message

    def discard(self, end):
        """A thread ended in a dropped segment: what it says itself to have lost after that comes on top."""
        own = self.ends.get(end["thread"])
        if own and own["last_ordinal"] > end["last_ordinal"]:
            end = end | {
                "last_ordinal": own["last_ordinal"],
                "lost": end["lost"] + own["last_ordinal"] - end["last_ordinal"],
                "lost_reasons": end["lost_reasons"] | own["lost_reasons"],
            }
        self.ends[end["thread"]] = end

    @property
    def pid(self):
        return self.process["pid"] if self.process else int("0" + self.folder.split("-")[0])

    def find(self, table, id):
        """(message, process that defined it), by the rule of section 6.2."""
        process, limit = self, 1 << 64
        while process:
            if table == "task":
                known = [task for task in process.tasks.get(id, []) if task[0] < limit]
                position, message = known[-1] if known else (limit, None)
            else:
                position, message = process.tables[table].get(id, (limit, None))
            if position < limit:
                return message, process
            limit = process.process["forked_at"] if process.process else 0
            process = process.parent
        return None, None


class Code:
    """A code object as events need it."""

    def __init__(self, process, id):
        code, owner = process.find("code", id)
        content = owner.find("content", code["content"])[0] if code else None
        self.is_known = content is not None
        self.file = content["file"] if content else None
        self.function = content["qualname"] or content["name"] if content else None
        self.first_line = content["first_line"] if content else None
        self.variables = {}  # by the numbers that values have: section 4.7
        for first, names in (1, content["varnames"] if content else []), (2, content["names"] if content else []):
            self.variables |= {2 * i + first: name for i, name in enumerate(names)}
        self.entry = code["entry_offset"] if content else 0
        self.is_coroutine = bool(content and content["flags"] & COROUTINES)
        self.lines = lines_of(content) if content else {}


def lines_of(content):
    """{offset in code units: line}: CPython reads its own table."""
    units = len(content["bytecode"]) // 2
    code = (lambda: 0).__code__.replace(
        co_code=bytes([opcode.opmap["NOP"], 0]) * max(units, 1),
        co_linetable=content["line_table"],
        co_firstlineno=content["first_line"],
    )
    return {unit: line for start, end, line in code.co_lines() for unit in range(start // 2, end // 2)}


# Sections 3 and 4: chunks


def sync_block(payload, sync_bytes):
    """(depth, [(code, offset or None)]), or None if it is not valid."""
    try:
        depth, at = leb128(payload[:sync_bytes], 0)
        listed, at = leb128(payload[:sync_bytes], at)
        frames = []
        for _ in range(min(listed, 129)):
            code, at = leb128(payload[:sync_bytes], at)
            offset_plus_1, at = leb128(payload[:sync_bytes], at)
            frames.append((code, offset_plus_1 - 1 if offset_plus_1 else None))
    except ValueError:
        return None
    return (depth, frames) if at == sync_bytes and listed <= min(depth, 128) else None


def branch_bits(word):
    """[1, 0, 1] of 0b1101: below the stop bit, oldest first."""
    return [int(bit) for bit in f"{word:b}"[1:]]


def record_at(payload, at):
    """(name, fields, position behind it) of the record at @at; ValueError or struct.error if it is not valid."""
    tag = payload[at]
    if tag >= 0x80:
        return "LINE_STEP", [(tag & 0x7F) - 64], at + 1
    if tag >= 0x60:
        return "INSTRUCTION_STEP", [(tag & 0x1F) - 8], at + 1
    if tag >= 0x04:
        name = KINDS[tag >> 2]
        fields = struct.Struct("<" + "BHIQ"[tag & 3] * (2 if name in TWO_FIELDS else 1))
        return name, list(fields.unpack_from(payload, at + 1)), at + 1 + fields.size
    if tag == 0x01:
        word, = struct.unpack_from("<I", payload, at + 1)
        if word > 1:
            return "BITS", [word], at + 5
    if tag == 0x02:
        code, field = struct.unpack_from("<BI", payload, at + 1)
        if code == 6 and field <= 0x10000 and at + 6 + field <= len(payload):
            return "VALUES", [at + 6, field], at + 6 + field
        if code in EXTENDED and code != 6:
            return EXTENDED[code], [field], at + 6
    raise ValueError("no record")


def records(header, payload):
    """(name, fields) of each record of a chunk, the branches of its header last."""
    at = header.sync_bytes
    while at < len(payload):
        try:
            name, fields, at = record_at(payload, at)
        except (ValueError, struct.error):
            return
        yield name, fields
    if header.branches > 1:
        yield "BITS", [header.branches]


class ChunkDecoder:
    """Turns the records of one chunk into events: dicts with the bounds of their time in `_low` and `_high`."""

    def __init__(self, process, header):
        self.process = process
        self.code, self.line, self.offset = None, 0, 0
        self.clock = header.open_clock
        self.turn = header.switch_base
        self.interpreter = header.interpreter
        self.task = 0
        self.values = None  # of the next event
        self.close_clock = header.close_clock
        self.codes = {}

    def decode(self, header, payload):
        self.chunk = Values(payload, lambda id: (self.process.find("name", id)[0] or {}).get("name"))
        waiting, done = [], []  # events whose later bound is not known yet, and all
        for name, fields in records(header, payload):
            if name == "TIME":
                self.clock += fields[0]
                for event in waiting:
                    event["_high"] = self.clock
                waiting = []
                continue
            for event in self.take(name, *fields):
                self.put_values(event)
                event |= {"_low": self.clock, "_turn": self.turn, "_interpreter": self.interpreter}
                waiting.append(event)
                done.append(event)
        for event in waiting:
            event["_high"] = max(self.close_clock, self.clock)
        return done

    def set_code(self, id):
        if id not in self.codes:
            self.codes[id] = Code(self.process, id)
        self.code = self.codes[id]
        self.line, self.offset = self.code.first_line, 0

    def take(self, name, a, b=None):
        """The events of a record, after it has moved the registers."""
        if name == "CODE":
            self.set_code(a)
        elif name == "SWITCH":
            self.turn += a
        elif name == "INTERPRETER":
            self.interpreter = a
            self.turn = 0
        elif name == "TASK":
            self.task = a
        elif name == "VALUES":
            self.values = self.chunk.block(a, a + b) if b else None
        elif name == "BITS":
            return [{"event": "BRANCH", **self.place(), "taken": bool(bit)} for bit in branch_bits(a)]
        elif name == "MARK":
            text, _ = self.process.find("text", a)
            return [{"event": "MARK", "mark": text["text"] if text else None}]
        else:
            return [self.monitored(name, a, b)]
        return []

    def put_values(self, event):
        for number, value in self.values or ():
            if number:
                name = "name" if number % 2 == 0 else "variable"
                known = self.code.variables.get(number) if self.code else None
                event.setdefault("values", {})[known or f"{name} {(number - 1) // 2}"] = value
            else:
                event["value"] = value
        self.values = None

    def place(self):
        return {"file": self.code and self.code.file, "function": self.code and self.code.function}

    def monitored(self, name, a, b):
        """An event of sys.monitoring."""
        if name == "PY_START":
            self.set_code(a)
            a = self.code.entry
        elif name == "PY_START_AT":
            name = "PY_START"
        elif name in ("LINE", "LINE_STEP"):
            self.line = a if name == "LINE" else None if self.line is None else self.line + a
            return {"event": "LINE", **self.place(), "line": self.line}
        elif name in ("INSTRUCTION", "INSTRUCTION_STEP"):
            self.offset = a = a if name == "INSTRUCTION" else self.offset + a
            name = "INSTRUCTION"
        line = self.code.lines.get(a) if self.code else None
        event = {"event": name, **self.place(), "line": line, "offset": 2 * a}
        if name in JUMPS:
            event["dest"] = 2 * b
        elif name in EXCEPTIONS or name in CALLS:
            text, _ = self.process.find("name", b)
            event["exception" if name in EXCEPTIONS else "callable"] = text["name"] if text else None
        if self.task and name in ENTRIES and self.code and self.code.is_coroutine:
            task, _ = self.process.find("task", self.task)
            event |= {"task": self.task, "task_name": task["name"] if task else None}
        return event


# Section 8: the whole


class Trace:
    def __init__(self, path):
        data = Path(path).read_bytes()
        self.header = read_file_header(data)
        self.frames, self.damage = scan(data)
        self.index = read_index(data)
        self.is_closed = bool(self.frames) and self.frames[-1].header.kind == TRAILER
        self.processes = {}
        self.run = []  # (kind, message)
        self._define()
        self.clocks = sorted(self.of_run("clock"), key=lambda clock: clock["counter"])
        self.counters = [clock["counter"] for clock in self.clocks]
        self.zero = self._time_zero()

    def of_run(self, wanted):
        return [message for kind, message in self.run if kind == wanted]

    def _define(self):
        streams = {0: []}
        for frame in self.frames:
            if frame.header.kind in (CHUNK, META):
                streams.setdefault(frame.header.process, [])
            if frame.header.kind == META:
                streams[frame.header.process].append(frame)
        self.run = [(kind, message) for _, kind, message in messages(streams.pop(0))]
        for number, frames in sorted(streams.items()):
            process = self.processes[number] = Process(number)
            for definition in messages(frames):
                process.define(*definition)
        for seen in self.of_run("process_seen"):
            process = self.processes.get(seen["process"])
            if process and not process.folder:
                process.folder = seen["folder"]
        for end in self.of_run("process_end"):
            if end["process"] in self.processes:
                self.processes[end["process"]].ends |= {thread["thread"]: thread for thread in end["threads"]}
        for discarded in self.of_run("discarded"):
            if discarded["process"] in self.processes:
                for end in discarded["threads"]:
                    self.processes[discarded["process"]].discard(end)
        folders = {process.folder: process for process in self.processes.values() if process.folder}
        for process in self.processes.values():
            if process.process and process.process["forked_from"]:
                process.parent = folders.get(process.process["forked_from"])

    def source(self, process, file):
        """The Source message that @process means by @file, or None: section 6.4."""
        sources = {}
        for source in self.of_run("source"):
            sources.setdefault((source["process"], source["file"]), source)
        while process and (process.number, file) not in sources:
            process = process.parent
        return sources.get((process.number if process else 0, file))

    def kept_source(self, process, content):
        """The Source message with the text that @process kept of @content, which its stream has; None: that is in a file."""
        return process.find("source", content["source"])[0] if content["source"] else None

    def _time_zero(self):
        if not self.clocks:
            return 0
        started = [session["started_unix_ns"] for session in self.of_run("session")] or [self.clocks[0]["unix_ns"]]
        return self.clocks[0]["monotonic_ns"] - (self.clocks[0]["unix_ns"] - started[0])

    def nanoseconds(self, counter):
        """Section 8.4."""
        if not self.clocks:
            return counter
        i = max(0, min(bisect_right(self.counters, counter) - 1, len(self.clocks) - 2))
        a, b = self.clocks[i], self.clocks[min(i + 1, len(self.clocks) - 1)]
        ticks, width = counter - a["counter"], b["counter"] - a["counter"]
        if width:
            ticks = ticks * (b["monotonic_ns"] - a["monotonic_ns"]) // width
        return a["monotonic_ns"] + ticks - self.zero

    def streams(self):
        """{(process, thread): its chunks that count, in order}: section 8.2."""
        best = {}
        for frame in self.frames:
            header = frame.header
            if header.kind != CHUNK or not header.process:
                continue
            key = header.process, header.ring, header.seq
            old = best.get(key)
            if not old or old.header.flags & PROVISIONAL or not header.flags & PROVISIONAL:
                best[key] = frame
        streams = {}
        for process in self.processes.values():
            for thread, end in process.ends.items():
                if end["last_ordinal"]:
                    streams[process.number, thread] = []
        for frame in best.values():
            streams.setdefault((frame.header.process, frame.header.thread), []).append(frame)
        for chunks in streams.values():
            chunks.sort(key=lambda frame: (frame.header.first_ordinal, frame.header.open_clock))
        return streams

    def events(self):
        """{(process, thread): its events, gaps among them}."""
        return {key: list(self._stream(*key, chunks)) for key, chunks in self.streams().items()}

    def _stream(self, process, thread, chunks):
        process = self.processes[process]
        who = {"pid": process.pid, "tid": process.threads.get(thread, {}).get("native_id", 0)}
        expected, end = 1, chunks[0].header.open_clock if chunks else None

        def gaps(next, counted, reasons, low, high):
            nonlocal expected
            missing = max(next - expected, 0)
            counted = min(counted, missing)
            for lost, why in (missing - counted, self._untold()), (counted, reasons):
                if lost:
                    why = ",".join(name for bit, name in enumerate(LOSSES) if why >> bit & 1) or "unknown"
                    event = {"event": "GAP", "lost": lost, "why": why, "_low": low, "_high": high}
                    yield self._finish(event, who, expected)
                expected += lost

        for _, header, payload in chunks:
            skip = max(expected - header.first_ordinal, 0)
            yield from gaps(header.first_ordinal, header.lost_before, header.lost_reasons, end, header.open_clock)
            for event in ChunkDecoder(process, header).decode(header, payload)[skip:]:
                yield self._finish(event, who, expected)
                expected += 1
                end = event["_high"]
            end = max(header.close_clock, end)
        last = process.ends.get(thread, {"last_ordinal": 0, "lost": 0, "lost_reasons": 0})
        named = [e.last_ordinal for e in self.index or () if (e.process, e.thread) == (process.number, thread)]
        yield from gaps(max([last["last_ordinal"], *named]) + 1, last["lost"], last["lost_reasons"], end, end)

    def _untold(self):
        """Why events are missing that were not counted as lost."""
        session = self.of_run("session")
        config = session[0]["config"] if session else None
        if not config or config["policy"] != POLICY_OVERWRITE:
            return DAMAGED
        return OVERWRITTEN | DAMAGED if self.damage else OVERWRITTEN

    def _finish(self, event, who, n):
        low, high = (self.nanoseconds(event[bound] or 0) for bound in ("_low", "_high"))
        return who | {"n": n, "t_ns": (low + high) // 2, "t_err_ns": (high - low + 1) // 2} | event

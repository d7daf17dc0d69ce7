# SPDX-License-Identifier: Apache-2.0
"""The other direction of kymo_model: makes traces, sound or not, out of what the caller says they hold."""
import struct

from kymo_model import CHUNK, EXTENDED, FRAME_HEADER, FRAME_MAGIC, INDEX, INDEX_ENTRY, KINDS, MAGIC, META, TRAILER
from wire import crc32c, encode_message, put_leb128

SHORT_LINE, SHORT_INSTRUCTION = "LINE_STEP", "INSTRUCTION_STEP"


def encode_record(name, *fields):
    """The bytes of one record, as small as its fields allow."""
    if name == SHORT_LINE:
        return bytes([0x80 | fields[0] + 64])
    if name == SHORT_INSTRUCTION:
        return bytes([0x60 | fields[0] + 8])
    if name == "BITS":
        return struct.pack("<BI", 1, *fields)
    if name == "VALUES":
        return struct.pack("<BBI", 2, 6, len(fields[0])) + fields[0]
    if name in EXTENDED.values():
        code, = (code for code, known in EXTENDED.items() if known == name)
        return struct.pack("<BBI", 2, code, *fields)
    width = next(width for width in range(4) if max(fields) < 1 << (8 << width))
    return struct.pack("<B" + "BHIQ"[width] * len(fields), KINDS.index(name) << 2 | width, *fields)


def sync_block(*frames):
    """Of (code, offset) pairs, innermost first."""
    numbers = [len(frames), len(frames), *(number for code, offset in frames for number in (code, offset + 1))]
    return b"".join(map(put_leb128, numbers))


def lz4_repeat(head, unit, count):
    """head + unit * count as an LZ4 block, which is 255 times smaller; what must be longer than a few dozen bytes."""
    def length(n):
        return bytes([255] * ((n - 15) // 255) + [(n - 15) % 255]) if n >= 15 else b""

    first, last = head + unit, unit * (12 // len(unit) + 1)
    match = len(unit) * count - len(unit) - len(last) - 4
    tokens = [min(len(first), 15) << 4 | min(match, 15), min(len(last), 15) << 4]
    return (bytes(tokens[:1]) + length(len(first)) + first + struct.pack("<H", len(unit)) + length(match)
            + bytes(tokens[1:]) + length(len(last)) + last)


class TraceBuilder:
    def __init__(self, version=1, required_features=0, optional_features=0, created_unix_ns=0, session_id=bytes(16)):
        fields = MAGIC, version, 64, required_features, optional_features, created_unix_ns, session_id, 0
        head = struct.pack("<8sIIQQQ16sI", *fields)
        self.data = head + struct.pack("<I", crc32c(head))
        self.entries = []
        self.ends = {}  # of definitions streams, by process

    def frame(self, kind, payload, **fields):
        names = (
            "flags stored_bytes raw_bytes process ring thread seq thread_chunk first_ordinal last_ordinal lost_before"
            " lost_reasons interpreter open_clock close_clock meta_position switch_base sync_bytes branches reserved"
        ).split()
        fields = {"stored_bytes": len(payload), "raw_bytes": len(payload)} | fields
        f = [fields.pop(name, 0) for name in names]
        assert not fields, f"no such fields: {fields}"
        header = FRAME_HEADER.pack(FRAME_MAGIC, kind, f[0], 128, *f[1:], 0)
        if kind in (CHUNK, META):
            flags, _, _, process, ring, thread, seq, _, first, last = f[:10]
            opened, closed = f[13:15]
            self.entries.append((len(self.data), seq, first, last, opened, closed, process, thread, ring, kind, flags))
        self.data += header[:124] + struct.pack("<I", crc32c(header + payload)) + payload
        return self

    def meta(self, process, *definitions):
        """Definitions, as pairs: ("code", {"id": 1, …})."""
        position = self.ends.get(process, 0)
        payload = b""
        for kind, message in definitions:
            body = encode_message("Definition", {kind: message})
            payload += put_leb128(len(body)) + body
        self.ends[process] = position + len(payload)
        return self.frame(META, payload, process=process, seq=position)

    def chunk(self, *records, process=1, ring=1, thread=1, seq=1, sync=sync_block(), **fields):
        payload = sync + b"".join(r if isinstance(r, bytes) else encode_record(*r) for r in records)
        fields = {"thread_chunk": seq, "branches": 1, "sync_bytes": len(sync)} | fields
        return self.frame(CHUNK, payload, process=process, ring=ring, thread=thread, seq=seq, **fields)

    def close(self, per_index=1 << 16):
        offset, entries = len(self.data), self.entries
        for at in range(0, len(entries), per_index):
            self.frame(INDEX, b"".join(INDEX_ENTRY.pack(*entry) for entry in entries[at:at + per_index]))
        return self.frame(TRAILER, struct.pack("<2Q", offset if entries else 0, len(entries)))

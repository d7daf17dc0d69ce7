# SPDX-License-Identifier: Apache-2.0
"""The encodings that traces are made of and that others defined: CRC32C, LEB128, LZ4, Protocol Buffers."""
import re
from pathlib import Path

PROTO = Path(__file__).resolve().parents[2] / "format" / "metadata.proto"


def _crc_table():
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        yield crc


CRC_TABLE = list(_crc_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def leb128(data, at):
    """The number at @at and the position behind it; ValueError if there is none."""
    value = 0
    for i, byte in enumerate(data[at:at + 10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80 and value < 1 << 64:
            return value, at + i + 1
    raise ValueError("no LEB128 number")


def put_leb128(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def unpack_lz4(block, raw_bytes):
    """One LZ4 block; ValueError if it is not one of @raw_bytes."""
    out, at = bytearray(), 0

    def length(nibble):
        nonlocal at
        total = nibble
        while nibble == 15:
            total += block[at]
            at += 1
            if block[at - 1] != 255:
                break
        return total

    try:
        while True:
            token = block[at]
            at += 1
            literals = length(token >> 4)
            out += block[at:at + literals]
            at += literals
            if at == len(block):
                break
            distance = block[at] | block[at + 1] << 8
            at += 2
            copied = length(token & 15) + 4
            if not 0 < distance <= len(out) or len(out) + copied > raw_bytes:
                raise ValueError("no LZ4 block")
            out += (out[-distance:] * (copied // distance + 1))[:copied]
    except IndexError:
        raise ValueError("no LZ4 block") from None
    if at != len(block) or len(out) != raw_bytes:
        raise ValueError("no LZ4 block of this length")
    return bytes(out)


def _schema():
    """{message: {number: (name, type, is_repeated)}} out of metadata.proto."""
    text = re.sub(r"//.*", "", PROTO.read_text())
    return {
        message: {
            int(number): (name, kind, bool(repeated))
            for repeated, kind, name, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)
        }
        for message, body in re.findall(r"message (\w+) \{(.*?)\n\}", text, re.S)
    }


SCHEMA = _schema()


def wire_fields(data):
    """(number, value) of each field of a message: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = leb128(data, at)
        if key & 7 == 0:
            value, at = leb128(data, at)
        else:
            if key & 7 == 2:
                length, at = leb128(data, at)
            elif key & 7 in (1, 5):
                length = 8 if key & 7 == 1 else 4
            else:
                raise ValueError("no wire type")
            value = data[at:at + length]
            at += length
            if len(value) != length:
                raise ValueError("cut")
        yield key >> 3, value


def decode_message(kind, data):
    """A message as a dict; fields that are missing are zero, empty or, of messages, None."""
    fields = SCHEMA[kind]
    result = {
        name: [] if repeated else "" if type == "string" else b"" if type == "bytes" else None if type in SCHEMA else 0
        for name, type, repeated in fields.values()
    }
    for number, value in wire_fields(data):
        if number not in fields:
            continue
        name, type, repeated = fields[number]
        if isinstance(value, int) == (type in ("string", "bytes") or type in SCHEMA):
            raise ValueError("another wire type")
        if type == "string":
            value = value.decode()
        elif type in SCHEMA:
            value = decode_message(type, value)
        elif type == "int32":
            value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
        if repeated:
            result[name].append(value)
        else:
            result[name] = value
    return result


def encode_message(kind, message):
    """The other direction, from a dict with what is not zero or empty."""
    out = b""
    for number, (name, type, repeated) in sorted(SCHEMA[kind].items()):
        values = message.get(name, [])
        for value in values if repeated else [values] if values not in (0, "", b"", []) else []:
            if type in SCHEMA:
                value = encode_message(type, value)
            elif type == "string":
                value = value.encode()
            if isinstance(value, bytes):
                out += put_leb128(number << 3 | 2) + put_leb128(len(value)) + value
            else:
                out += put_leb128(number << 3) + put_leb128(value % (1 << 64))
    return out

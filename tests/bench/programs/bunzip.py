# SPDX-License-Identifier: Apache-2.0
"""Text packed as bzip2 does it (sorted rotations, move to front, Huffman) and unpacked bit by bit; tight loops."""
import heapq

ROUNDS = 10
BLOCK = 24000


def text(seed, length):
    syllables = ["ka", "ru", "mo", "te", "si", "lan", "dor", "ve", "ni", "o", "the", "and"]
    out, state = [], seed
    while length > 0:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        word = "".join(syllables[(state >> (4 * k)) % 12] for k in range(1, 3 + state % 3))
        out.append(word + (" " if state % 11 else ".\n"))
        length -= len(out[-1])
    return "".join(out).encode()


def rotate(block):
    """The last column of the sorted rotations, and the row of the original."""
    doubled = block + block
    size = len(block)
    order = sorted(range(size), key=lambda i: doubled[i:i + 40])
    return bytes(doubled[i + size - 1] for i in order), order.index(0), order


def move_to_front(data):
    table = list(range(256))
    out = bytearray()
    for byte in data:
        index = table.index(byte)
        out.append(index)
        if index:
            del table[index]
            table.insert(0, byte)
    return out


def code_lengths(data):
    heap = [(data.count(symbol), symbol, (symbol,)) for symbol in set(data)]
    lengths = dict.fromkeys((symbol for _, symbol, _ in heap), 0)
    heapq.heapify(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in a[2] + b[2]:
            lengths[symbol] += 1
        heapq.heappush(heap, (a[0] + b[0], min(a[1], b[1]), a[2] + b[2]))
    return lengths


def canonical(lengths):
    """{symbol: (code, bits)}, codes given out in order of length."""
    codes, code, last = {}, 0, 0
    for symbol, bits in sorted(lengths.items(), key=lambda item: (item[1], item[0])):
        code <<= bits - last
        codes[symbol] = code, bits
        code += 1
        last = bits
    return codes


def pack(data, codes):
    out, hold, held = bytearray(), 0, 0
    for symbol in data:
        code, bits = codes[symbol]
        hold = hold << bits | code
        held += bits
        while held >= 8:
            held -= 8
            out.append(hold >> held & 0xFF)
            hold &= (1 << held) - 1
    out.append(hold << (8 - held) & 0xFF)
    return out


class Bits:
    def __init__(self, data):
        self.data = data
        self.at = 0
        self.hold = 0
        self.held = 0

    def bit(self):
        if self.held == 0:
            self.hold = self.data[self.at]
            self.at += 1
            self.held = 8
        self.held -= 1
        return self.hold >> self.held & 1


def unpack(data, codes, count):
    symbols = {(code, bits): symbol for symbol, (code, bits) in codes.items()}
    source = Bits(data)
    out = bytearray()
    while len(out) < count:
        code, bits = 0, 0
        while True:
            code = code << 1 | source.bit()
            bits += 1
            symbol = symbols.get((code, bits))
            if symbol is not None:
                break
        out.append(symbol)
    return out


def move_back(data):
    table = list(range(256))
    out = bytearray()
    for index in data:
        byte = table[index]
        if index:
            del table[index]
            table.insert(0, byte)
        out.append(byte)
    return out


def unrotate(last, row):
    counts, starts, total = [0] * 256, [0] * 256, 0
    for byte in last:
        counts[byte] += 1
    for byte in range(256):
        starts[byte] = total
        total += counts[byte]
    following = [0] * len(last)
    for i, byte in enumerate(last):
        following[starts[byte]] = i
        starts[byte] += 1
    out = bytearray()
    at = row
    for _ in range(len(last)):
        at = following[at]
        out.append(last[at])
    return out


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        block = text(seed, BLOCK)
        last, row, _ = rotate(block)
        moved = move_to_front(last)
        codes = canonical(code_lengths(moved))
        packed = pack(moved, codes)
        for _ in range(2):
            back = move_back(unpack(packed, codes, len(moved)))
            assert back == last
            for byte in unrotate(back, row):
                checksum = (checksum * 33 + byte) & 0xFFFFFF
    return checksum

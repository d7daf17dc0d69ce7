# SPDX-License-Identifier: Apache-2.0
"""Words counted, indexed, chained and formatted; strings, dictionaries, sorting; much of the time in C."""

ROUNDS = 42
STEMS = "stone river cloud amber field harbor lantern meadow north orchard paper quiet road silver tower".split()
ENDINGS = ["", "s", "ed", "ing", "ly"]


def sentences(seed, count):
    state = seed
    for _ in range(count):
        words = []
        for _ in range(6 + state % 9):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            words.append(STEMS[(state >> 7) % len(STEMS)] + ENDINGS[(state >> 13) % len(ENDINGS)])
        yield " ".join(words).capitalize() + "."


def count(text):
    counts = {}
    for word in text.lower().replace(".", " ").split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def index(lines):
    places = {}
    for number, line in enumerate(lines):
        for word in line.strip(".").lower().split(" "):
            places.setdefault(word, []).append(number)
    return places


def chain(lines):
    """The word that most often follows each."""
    followers = {}
    for line in lines:
        words = line.lower().rstrip(".").split()
        for first, second in zip(words, words[1:]):
            table = followers.setdefault(first, {})
            table[second] = table.get(second, 0) + 1
    return {word: max(sorted(table), key=table.get) for word, table in followers.items()}


def stem(word):
    for ending in ENDINGS[:0:-1]:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word


def table(counts):
    lines = []
    for word, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"{word:<12}|{number:>6}|{'#' * (number // 20)}|{stem(word)}")
    return "\n".join(lines)


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        lines = list(sentences(seed + 1, 1500))
        text = " ".join(lines)
        counts = count(text)
        following = chain(lines)
        places = index(lines)
        report = table(counts)
        stems = {stem(word) for word in text.lower().replace(".", "").split()}
        longest = max(places.values(), key=len)
        checksum = (checksum * 31 + len(report) + sum(longest) + len(stems) + len("".join(following.values()))) % 1000003
    return checksum

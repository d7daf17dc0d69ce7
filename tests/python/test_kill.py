# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random points: the trace holds what had run, and ends where the program ended."""
import dis
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import KYMO, environment
from streams import check_run, lost, shape, threads_of

PROGRAMS = Path(__file__).parent / "programs"
WITNESS = PROGRAMS / "witness.py"

VICTIMS = 23  # in each of nine tests
ROUNDS = {"calls": 400, "LINE,calls": 250, "full": 50}


def counters(path):
    """[native id, lines, calls] of each thread."""
    numbers = memoryview(path.read_bytes()).cast("Q").tolist()
    return [numbers[i:i + 3] for i in range(0, len(numbers), 3)]


def counting_places():
    """Of each line that counts: (function, line, offset of the store)."""
    text, codes, places = WITNESS.read_text(), [], {}
    codes.append(compile(text, WITNESS, "exec"))
    lines = text.splitlines()
    for code in codes:
        codes += [const for const in code.co_consts if hasattr(const, "co_code")]
        for each in dis.get_instructions(code):
            if each.opname == "STORE_SUBSCR" and "lines[me] += 1" in lines[each.positions.lineno - 1]:
                places[code.co_qualname, each.positions.lineno] = each.offset
    return {(*place, offset) for place, offset in places.items()}


PLACES = counting_places()
COUNTED_LINES = {line for _, line, _ in PLACES}


def is_count(event_set, event):
    """Whether a thread counts right after this event, before the next one of @event_set."""
    kind, _, function, line, offset, *_ = event
    if event_set == "full":
        return kind == "INSTRUCTION" and (function, line, offset) in PLACES
    if event_set == "calls":
        return kind == "PY_START" and function in ("leaf", "numbers", "fail", "recurse")
    return kind == "LINE" and line in COUNTED_LINES


class Reference:
    """What each thread records when nobody kills it, and where among that it counts."""

    def __init__(self, path, stream_of, event_set):
        self.column = 1 if event_set == "calls" else 0
        self.lines = counters(path)[0][1]
        self.streams, self.counts = [], []
        for native_id, *counted in counters(path):
            stream = [shape(event) for event in stream_of(native_id)]
            counts = [n for n, event in enumerate(stream, 1) if is_count(event_set, event)]
            assert len(counts) == counted[self.column] > 0
            self.streams.append(stream)
            self.counts.append(counts)

    def check(self, me, events, counted):
        """Nothing is missing of what thread @me did before it counted last, and at most one count is ahead."""
        counts, end = self.counts[me], check_run(events, self.streams[me])
        least = counts[counted - 1] if counted else 0
        most = counts[counted] if counted < len(counts) else len(self.streams[me])
        assert least <= end <= most, f"thread {me} had counted {counted} of {len(counts)}"


@pytest.fixture
def reference_of(tmp_path, record, events):
    def make(event_set, threads):
        path = tmp_path / f"reference-{threads}"
        path.write_bytes(bytes(24 * threads))
        trace = record([WITNESS, path, threads, ROUNDS[event_set]], f"--events={event_set}", "--include=witness.py",
                       stdin=subprocess.DEVNULL)
        streams = {tid: stream for (_, tid), stream in threads_of(events(trace)).items()}
        assert len(streams) == threads and not any(map(lost, streams.values()))
        return Reference(path, streams.get, event_set)
    return make


def check_victim(reference, path, threads, policy):
    """Take the victim's threads out of @threads and check each; return how many had recorded something."""
    victim = counters(path)
    pid = victim[0][0]
    streams = {tid: threads.pop((of, tid)) for of, tid in list(threads) if of == pid}
    if policy == "block":
        assert not any(map(lost, streams.values()))
    recorded = len(streams)
    for me, (native_id, *counted) in enumerate(victim):
        if native_id:
            reference.check(me, streams.pop(native_id, []), counted[reference.column])
    for stream in streams.values():  # killed before the thread could say who it is
        reference.check(1, stream, 0)
    return recorded


@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
@pytest.mark.parametrize("event_set", ROUNDS)
def test_what_a_killed_process_had_done_is_in_the_trace(event_set, policy, tmp_path, record, events, reference_of):
    references = {threads: reference_of(event_set, threads) for threads in (1, 4)}
    seed = f"{event_set} {policy}"
    trace = record(
        [PROGRAMS / "killer.py", tmp_path, seed, VICTIMS, ROUNDS[event_set], references[1].lines],
        f"--events={event_set}", "--include=witness.py", f"--policy={policy}", "--ring-size=16K",
    )
    threads = threads_of(events(trace))
    recorded = 0
    for path in sorted(tmp_path.glob("victim-*")):
        reference = references[len(counters(path))]
        recorded += check_victim(reference, path, threads, policy)
    assert not threads
    assert recorded > VICTIMS


@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
def test_the_command_itself_is_killed(policy, tmp_path, events, reference_of):
    reference = reference_of("LINE,calls", 4)
    path, trace = tmp_path / "victim", tmp_path / "killed.kymo"
    path.write_bytes(bytes(24 * 4))
    limit = random.Random(policy).randrange(4 * reference.lines)
    words = [KYMO, "record", "-q", "-o", trace, "--events=LINE,calls", "--include=witness.py", f"--policy={policy}",
             WITNESS, path, 4, ROUNDS["LINE,calls"]]
    recording = subprocess.Popen(list(map(str, words)), env=environment(), stdin=subprocess.PIPE)
    while not counters(path)[0][0] or sum(lines for _, lines, _ in counters(path)) < limit:
        assert recording.poll() is None
        os.sched_yield()
    os.kill(counters(path)[0][0], signal.SIGKILL)
    assert recording.wait(60) == -signal.SIGKILL
    threads = threads_of(events(trace))
    check_victim(reference, path, threads, policy)
    assert not threads

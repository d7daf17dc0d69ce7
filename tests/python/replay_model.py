# SPDX-License-Identifier: Apache-2.0
"""A naive model of going through a run: every event is kept, and each question is answered by looking at all of them.

It knows nothing of chunks, indexes or sync blocks: frames are numbered as they are entered, and an event belongs to the
frame on top.
"""
from typing import NamedTuple

ENTRIES = {"PY_START", "PY_RESUME", "PY_THROW"}
EXITS = {"PY_RETURN", "PY_YIELD", "PY_UNWIND"}
STOPS = {"LINE", "GAP", "UNKNOWN"}


class State(NamedTuple):
    event: dict
    frames: tuple  # ids, outermost first
    stack: tuple  # (file, function, line), innermost first


class Thread:
    """The states behind each of a thread's events, as `kymo events --jsonl` prints them, from its first one on."""

    def __init__(self, events):
        self.states = []
        frames, leaving, last_id = [], False, 0
        for event in events:
            if leaving and frames:
                frames.pop()
            if event["event"] in ENTRIES or not frames:
                last_id += 1
                frames.append([last_id, event["file"], event["function"], event["line"]])
            elif event.get("line") is not None:
                frames[-1][3] = event["line"]
            leaving = event["event"] in EXITS
            ids = tuple(frame[0] for frame in frames)
            self.states.append(State(event, ids, tuple(tuple(frame[1:]) for frame in reversed(frames))))
        self.has_lines = any(state.event["event"] == "LINE" for state in self.states)

    def position(self, at):
        event = self.states[at].event
        return event["n"], event.get("k", 0)

    def first(self, at, wants):
        return next((i for i in range(at + 1, len(self.states)) if wants(self.states[i])), None)

    def last(self, at, wants):
        return next((i for i in range(at - 1, -1, -1) if wants(self.states[i])), None)

    def next_event(self, at):
        return self.first(at, lambda state: True)

    def prev_event(self, at):
        return self.last(at, lambda state: True)

    def step_in(self, at):
        return self.first(at, is_stop)

    def step_in_back(self, at):
        return self.last(at, is_stop)

    def step_over(self, at):
        here = self.states[at].frames
        return self.first(at, lambda state: is_stop(state) and (state.frames[-1] in here or len(state.frames) == 1))

    def step_over_back(self, at):
        here = self.states[at].frames
        found = self.last(at, lambda state: is_stop(state) and state.frames[-1] in here)
        return self.last(at, lambda state: is_stop(state) and len(state.frames) == 1) if found is None else found

    def step_out(self, at):
        here = self.states[at].frames
        left = here[-2:-1] if self.states[at].event["event"] in EXITS else here[-1:]
        return self.first(at, lambda state: state.event["event"] in EXITS and state.frames[-1:] == left)

    def step_out_back(self, at):
        here = self.states[at].frames[:-1]
        return self.last(at, lambda state: is_stop(state) and state.frames[-1] in here)


def is_stop(state):
    return state.event["event"] in STOPS

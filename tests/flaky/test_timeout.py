"""A deadline: the work takes longer than it may when something else uses the processor."""
import os
import random
import time


def load():
    """Another job on the machine, at times."""
    if random.random() < 0.5:
        until = time.perf_counter() + 0.05
        while time.perf_counter() < until:
            os.getpid()


def wait_for(is_ready, seconds):
    until = time.monotonic() + seconds
    while not is_ready():
        if time.monotonic() > until:  # cause
            return False
        load()
    return True


def test_it_is_ready_in_time():
    steps = iter(range(3))
    assert wait_for(lambda: next(steps, None) is None, 0.08)

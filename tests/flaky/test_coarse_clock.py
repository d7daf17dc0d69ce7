"""A clock that has not ticked: a time of 0 goes along the same lines as any other, until something is divided by it."""
# kymo record --values=locals --values-for=test_coarse_clock.py
import time


class Sample:
    def __init__(self, count, ms):
        self.count = count
        self.ms = ms


def now_ms():
    return time.monotonic_ns() // 1_000_000


def measure(work, count):
    started = now_ms()
    work(count)
    taken = now_ms() - started  # cause
    return Sample(count, taken)


def work(count):
    return sum(range(count))


def mean(samples):
    rates = [sample.count / sample.ms for sample in samples]
    return sum(rates) / len(rates)


def test_the_rate_is_known():
    samples = [measure(work, 10_000)]
    assert mean(samples) > 0

"""Lost update: `add` reads the total, and another thread adds to it before it is written back."""
import sys
import threading

import pytest


class Counter:
    def __init__(self):
        self.total = 0

    def add(self, amount):
        total = self.total
        total = round(total + amount)
        self.total = total  # cause


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def test_all_are_counted():
    counter = Counter()

    def work():
        for _ in range(4000):
            counter.add(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.total == 8000

"""A resource that nobody closes: the lock is given back only once the collector has found the cycle that holds it."""
import gc
import os
import random


class Lock:
    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_CREAT | os.O_EXCL)
        self.holders = [self]  # a cycle

    def close(self):
        os.close(self.fd)
        os.unlink(self.path)

    def __del__(self):
        self.close()


def is_free(path):
    if path.exists():
        return False
    return True


def update(path):
    lock = Lock(path)
    return lock.fd > 0  # cause


def other_work():
    """Makes garbage; now and then enough for the collector to run."""
    return [[None] for _ in range(random.choice((10, 9000)))]


def test_the_lock_is_given_back(tmp_path):
    gc.collect()
    path = tmp_path / "lock"
    assert update(path)
    other_work()
    assert is_free(path)

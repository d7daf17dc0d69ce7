"""LRU.__setitem__: a key that is there already gets a second link in the ring, and is deleted twice once the cache is full."""
import random
import time

from boltons.cacheutils import LRU

CAUSE = ("boltons/cacheutils.py", ["if len(self) < self.max_size:", "del self.link_map[oldkey]"])


def test_two_fill_one_cache(in_threads):
    cache = LRU(max_size=3)

    def fill():
        for key in range(4):
            if key not in cache:
                if random.random() < 0.15:
                    time.sleep(0.0001)
                cache[key] = key

    in_threads(fill, fill)

"""FileCache.get: the file is there when it is looked for, and another user of the cache deletes it before it is opened."""
from cachecontrol.caches.file_cache import FileCache

CAUSE = ("cachecontrol/caches/file_cache.py", ["if not os.path.exists(name):", "with open(name, 'rb') as fh:"])


def test_a_cache_that_two_use(tmp_path, in_threads):
    cache = FileCache(str(tmp_path))
    for number in range(6):
        key = str(number)
        cache.set(key, b"value")
        in_threads(lambda: [cache.get(key) for _ in range(3)], lambda: cache.delete(key))

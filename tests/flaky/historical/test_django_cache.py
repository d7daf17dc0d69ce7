"""FileBasedCache.has_key: the file exists, and is deleted before it is opened."""
import django.conf
from django.core.cache.backends.filebased import FileBasedCache

CAUSE = ("django/core/cache/backends/filebased.py", ["if os.path.exists(fname):", 'with open(fname, "rb") as f:'])

if not django.conf.settings.configured:
    django.conf.settings.configure()


def test_a_cache_that_two_use(tmp_path, in_threads):
    cache = FileBasedCache(str(tmp_path), {})
    for number in range(4):
        key = str(number)
        cache.set(key, "value")
        in_threads(lambda: [cache.has_key(key) for _ in range(3)], lambda: cache.delete(key))

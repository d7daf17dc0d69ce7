"""FileStorage: two threads find the same expired file, and the second one to look at it or delete it fails."""
import os
import time

from hishel._sync._storages import FileStorage

CAUSE = ("hishel/_sync/_storages.py", ["if response_path.is_file():", "age = time.time() - response_path.stat().st_mtime",
                                       "response_path.unlink()"])


def test_cleaning_up_in_two_threads(tmp_path, in_threads):
    storages = [FileStorage(base_path=tmp_path, ttl=1) for _ in range(2)]
    long_ago = time.time() - 100
    for number in range(3):
        path = tmp_path / str(number)
        path.write_text("response")
        os.utime(path, (long_ago, long_ago))
        in_threads(*[lambda storage=storage: storage._remove_expired_caches(path) for storage in storages])

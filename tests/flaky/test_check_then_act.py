"""Check, then act: between `exists` and `read_text` a cleaner may remove the file."""
import random
import threading
import time


def read_if_there(path):
    if path.exists():
        time.sleep(0.001)
        return path.read_text()  # cause
    return ""


def test_a_missing_file_is_empty(tmp_path):
    path = tmp_path / "state"
    path.write_text("ready")

    def clean():
        time.sleep(random.uniform(0, 0.002))
        path.unlink()

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        assert read_if_there(path) in ("", "ready")
    finally:
        cleaner.join()

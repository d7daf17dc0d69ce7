import sys

import pytest


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def in_threads():
    """Run functions at once, each in a thread of its own; raises what the first of them raises."""
    import threading

    def run(*functions):
        gate, errors = threading.Barrier(len(functions)), []

        def work(function):
            gate.wait()
            try:
                function()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=[function]) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return run

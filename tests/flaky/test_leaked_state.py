"""State that a test leaves behind: in one of the orders, the second sees what the first has set."""
import random

OPTIONS = {"precision": 2}


def show(number):
    return f"{number:.{OPTIONS['precision']}f}"


def more_precise():
    OPTIONS["precision"] = 4  # cause
    assert show(1 / 3) == "0.3333"


def as_documented():
    assert show(1 / 3) == "0.33"


def test_in_any_order():
    tests = [more_precise, as_documented]
    random.shuffle(tests)
    for test in tests:
        test()

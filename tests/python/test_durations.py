# SPDX-License-Identifier: Apache-2.0
"""Of one call no more digits are told than were measured, and what is below its error bound is marked; of sums, two at least."""

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from kymo.profile import durations

UNITS = {"ns": 0, "us": 3, "ms": 6, "s": 9}
NS = st.one_of(st.integers(0, 2000), st.integers(0, 10**15))


def parse(text):
    """(nanoseconds, what its last digit stands for)"""
    number, unit = re.fullmatch(r"[<~]?([\d.]+) ([num]?s)", text).groups()
    value = Decimal(number)
    return int(value.scaleb(UNITS[unit])), 10 ** (UNITS[unit] + value.as_tuple().exponent)


def first_digit(ns):
    return 10 ** (len(str(ns)) - 1)


@given(NS, NS)
def test_text_of_a_sum(ns, err_ns):
    text = durations.text(ns, err_ns)
    shown, last = parse(text)
    digits = len(re.sub(r"\D", "", text).lstrip("0"))
    assert not text.startswith(("<", "~")) and (digits <= 4 or last == 10 ** UNITS["s"])
    assert abs(shown - ns) <= max(min(first_digit(err_ns), first_digit(ns) // 10), first_digit(ns) // 1000)
    assert ns < 10 or shown > 0


@given(NS, NS)
def test_text_of_a_call(ns, err_ns):
    text = durations.bounded_text(ns, err_ns)
    shown, last = parse(text)
    assert text.startswith(("<", "~")) == (ns <= err_ns and err_ns > 0) == (not durations.is_measured(ns, err_ns))
    if text.startswith("<"):
        assert ns + err_ns <= shown <= (ns + err_ns) * 1.1 + 1
        return
    digits = len(re.sub(r"\D", "", text).lstrip("0"))
    assert digits <= 4 or last == 10 ** UNITS["s"]
    assert abs(shown - ns) <= max(first_digit(err_ns), first_digit(ns) // 1000)
    if err_ns:
        assert shown % first_digit(err_ns) == 0 and ("." not in text or last >= first_digit(err_ns))


@given(NS)
def test_bounds_are_never_less(err_ns):
    shown, _ = parse(durations.error_text(err_ns))
    assert err_ns <= shown <= err_ns * 1.1 + 1


def test_examples():
    assert durations.text(12_345_678, 300) == "12.35 ms" and durations.text(12_345_678, 1_000_000) == "12 ms"
    assert durations.text(400, 1200) == "400 ns" and durations.text(24_000_000, 66_000_000) == "24 ms"
    assert durations.bounded_text(400, 1200) == "<1.6 us" and durations.bounded_text(24_000_000, 66_000_000) == "~20 ms"
    assert durations.text(999_999, 10) == "1.000 ms"
    assert durations.text(0, 0) == "0 ns" and durations.error_text(1234) == "1.3 us"

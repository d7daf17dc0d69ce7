"""A boundary of time: what is stamped before it, and compared after it, belongs to another period."""
import time

PERIOD = 0.02  # seconds; of a real report, a day


def period():
    return int(time.time() / PERIOD)


def report(rows):
    lines = []
    for row in rows:
        time.sleep(0.002)
        lines.append((period(), row))
    return lines


def total(lines, today):
    amount = 0
    for day, row in lines:
        if day == today:  # cause
            amount += row
    return amount


def test_the_total_of_today():
    rows = [1, 2, 3, 4]
    lines = report(rows)
    assert total(lines, period()) == sum(rows)

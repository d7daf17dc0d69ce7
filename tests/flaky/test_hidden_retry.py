"""A retry that hides an error: the first attempt had written half of the rows when it failed."""
import random


class Flaky(Exception):
    pass


def send(table, rows):
    for row in rows:
        if random.random() < 0.12:
            raise Flaky
        table.append(row)


def send_all(table, rows):
    for _ in range(5):
        try:
            send(table, rows)
            return
        except Flaky:
            continue  # cause


def test_every_row_once():
    table = []
    send_all(table, [1, 2, 3, 4])
    assert table == [1, 2, 3, 4]

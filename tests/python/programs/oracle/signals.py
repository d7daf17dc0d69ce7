# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that run Python, return, raise, and send the next signal; at places that are always the same."""
import signal


class Alarm(Exception):
    pass


def note(number, frame):
    seen.append((number, frame.f_code.co_name))


def complain(number, frame):
    raise Alarm(signal.Signals(number).name)


def pass_on(number, frame):
    if len(seen) < 5:
        note(number, frame)
        signal.raise_signal(signal.SIGUSR1)
        note(number, frame)


def work(number):
    total = 0
    for n in range(4):
        try:
            total += n
            signal.raise_signal(number)
        except Alarm as alarm:
            seen.append(str(alarm))
        finally:
            total += 10
    return total


def generate():
    for n in range(3):
        signal.raise_signal(signal.SIGUSR1)
        yield n


for handler in (note, complain, pass_on):
    seen = []
    signal.signal(signal.SIGUSR1, handler)
    try:
        print(handler.__name__, work(signal.SIGUSR1), list(generate()))
    except Alarm:
        print("alarm in a generator")
    print(seen)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)

# SPDX-License-Identifier: Apache-2.0
"""Every function of kymo._kymo from threads and from interpreters with a GIL of their own, at once; argv: folder, turns,
policy, functions.

Some threads belong to the main interpreter, some to others, and some are threads of the main one that now and then
run another.  What each call may raise is written down here; all else ends the program with status 1.
"""
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

from kymo import _kymo

FOLDER, TURNS, POLICY, WANTED = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
KINDS = [{"events": "LINE"}, {"events": "flow", "values": "args"}, {"events": "full"}, {"events": "coverage"}]

CALLS = '''
def start():
    kind = kinds[next(numbers) % len(kinds)]
    options = kind | {"output": f"{folder}/{name}-{next(numbers)}.kymo", "policy": policy, "session_dir": f"{folder}/sessions"}
    _kymo.start(program, options)

def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)

def record():
    exec(compile("def made(x):\\n    return [x for x in range(5)]\\nmade(1)", f"made-{next(numbers)}.py", "exec"))
    work(8)

FUNCTIONS = {
    "start": start, "stop": _kymo.stop, "join": _kymo.join, "is_recording": _kymo.is_recording,
    "mark": lambda: _kymo.mark(f"{name} {next(numbers) % 100}"), "snapshot": lambda: _kymo.snapshot(name),
    "begin_segment": _kymo.begin_segment, "end_segment": lambda: _kymo.end_segment(keep=next(numbers) % 2 == 0),
    "encode_value": lambda: _kymo.encode_value([name, {"a": next(numbers)}]),
    "fingerprint_value": lambda: _kymo.fingerprint_value([name, 1]), "record": record,
    "is_project_file": lambda: _kymo.is_project_file(f"/somewhere/{next(numbers) % 100}.py"),
}
MAY_SAY = {
    "start": (RuntimeError, ["already being recorded"]), "begin_segment": (RuntimeError, ["in a segment"]),
    "end_segment": (RuntimeError, ["without begin_segment"]), "snapshot": (OSError, ["the reader is not running"]),
}

def call(function):
    error, texts = MAY_SAY.get(function, ((), []))
    try:
        FUNCTIONS[function]()
    except error as said:
        assert any(text in str(said) for text in texts), said

def turns(count):
    for _ in range(count):
        call(random.choice(wanted))
'''
SETTING = "import itertools, random\nfrom kymo import _kymo\nnumbers = itertools.count()\n"


def setting(name):
    random_seed = sum(map(ord, name))
    values = {"folder": FOLDER, "program": os.environ["KYMO_PROGRAM"], "kinds": KINDS, "name": name, "wanted": WANTED,
              "policy": POLICY}
    return SETTING + f"random = random.Random({random_seed})\n" + "".join(f"{key} = {value!r}\n" for key, value in values.items()) + CALLS


def run_in(other, text):
    failed = interpreters.run_string(other, text)
    assert not failed, failed


failures = []


def threads_of(name, run):
    def main():
        try:
            run(name)
        except BaseException as error:
            failures.append(f"{name}: {error!r}")
    return threading.Thread(target=main, name=name)


def in_main(name):
    names = {}
    exec(setting(name), names)
    names["turns"](TURNS)


def in_other(name):
    other = interpreters.create()
    run_in(other, setting(name) + f"turns({TURNS})\n")
    interpreters.destroy(other)


def in_both(name):
    """One thread, by turns in two interpreters: its registers go from one GIL to the other."""
    other, names = interpreters.create(), {}
    exec(setting(name), names)
    run_in(other, setting(name + "+"))
    for _ in range(TURNS):
        names["call"](names["random"].choice(WANTED))
        run_in(other, "call(random.choice(wanted))\n")
    interpreters.destroy(other)


os.mkdir(f"{FOLDER}/sessions")
threads = [threads_of(f"{run.__name__}-{number}", run) for run in (in_main, in_other, in_both) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
_kymo.stop()
assert not _kymo.is_recording()
print("\n".join(failures), file=sys.stderr)
sys.exit(bool(failures))

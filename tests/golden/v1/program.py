import os
import sys
import threading


class Oops(Exception):
    pass


def numbers(n):
    for i in range(n):
        yield i


def work(n):
    total = 0
    for i in numbers(n):
        try:
            if i % 2:
                raise Oops(i)
            total += len(str(i))
        except Oops:
            total -= 1
    return [x for x in (total, 0) if x]


def child():
    exec(compile("def late(x):\n    return x or None\n\n\nlate(0)", "late.py", "exec"))


thread = threading.Thread(target=work, args=(3,), name="worker")
thread.start()
thread.join()
if os.fork() == 0:
    child()
    os._exit(0)
os.wait()
work(2)
if "die" in sys.argv:
    os.kill(os.getpid(), 9)

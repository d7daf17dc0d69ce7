# SPDX-License-Identifier: Apache-2.0
"""It sells more cake than there is."""
import threading

stock = {}


def load(lines):
    for line in lines:
        name, count = line.split()
        stock[name] = int(count)


def sell(name):
    stock[name] -= 1
    if stock[name] == 0:
        remove(name)


def remove(name):
    del stock[name]


def report(days):
    for day in range(days):
        sum(stock.values())


load(["tea 2", "cake 1"])
clerk = threading.Thread(target=report, args=(3,), name="clerk")
clerk.start()
clerk.join()
for name in ["tea", "cake", "tea", "cake"]:
    sell(name)

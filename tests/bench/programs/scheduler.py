# SPDX-License-Identifier: Apache-2.0
"""A workshop as discrete events: orders travel through stations of several kinds; many small methods."""
import heapq

ROUNDS = 100


class Event:
    def __init__(self, time, number, target, order):
        self.time = time
        self.number = number
        self.target = target
        self.order = order

    def __lt__(self, other):
        if self.time != other.time:
            return self.time < other.time
        return self.number < other.number


class Order:
    def __init__(self, number, route):
        self.number = number
        self.route = route
        self.step = 0
        self.faults = 0

    @property
    def is_done(self):
        return self.step >= len(self.route)

    def next_station(self):
        return self.route[self.step]

    def advance(self):
        self.step += 1


class Station:
    capacity = 1

    def __init__(self, shop, name):
        self.shop = shop
        self.name = name
        self.queue = []
        self.busy = 0
        self.served = 0

    def arrive(self, order):
        if self.busy < self.capacity:
            self.begin(order)
        else:
            self.queue.append(order)

    def begin(self, order):
        self.busy += 1
        self.shop.after(self.duration(order), self, order)

    def duration(self, order):
        raise NotImplementedError

    def finish(self, order):
        self.busy -= 1
        self.served += 1
        if self.queue:
            self.begin(self.queue.pop(0))
        self.work(order)

    def work(self, order):
        order.advance()
        self.shop.send(order)


class Lathe(Station):
    def duration(self, order):
        return 3 + order.number % 5


class Oven(Station):
    capacity = 4

    def duration(self, order):
        return 20


class Inspection(Station):
    """Sends every seventh order back, once."""

    capacity = 2

    def duration(self, order):
        return 1 + self.shop.random(4)

    def work(self, order):
        if order.number % 7 == 0 and order.faults == 0:
            order.faults += 1
            order.step = 0
            self.shop.send(order)
        else:
            super().work(order)


class Shop:
    def __init__(self, seed):
        self.seed = seed
        self.now = 0
        self.events = []
        self.made = 0
        self.finished = 0
        self.checksum = 0
        self.stations = {
            "lathe": Lathe(self, "lathe"),
            "oven": Oven(self, "oven"),
            "mill": Lathe(self, "mill"),
            "inspection": Inspection(self, "inspection"),
        }

    def random(self, below):
        self.seed = (self.seed * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.seed >> 8) % below

    def after(self, delay, station, order):
        self.made += 1
        heapq.heappush(self.events, Event(self.now + delay, self.made, station, order))

    def send(self, order):
        if order.is_done:
            self.finished += 1
            self.checksum = (self.checksum * 31 + order.number * self.now) % 1000003
        else:
            self.stations[order.next_station()].arrive(order)

    def run(self):
        while self.events:
            event = heapq.heappop(self.events)
            self.now = event.time
            event.target.finish(event.order)
        return self.checksum


ROUTES = [
    ["lathe", "oven", "inspection"],
    ["mill", "lathe", "inspection"],
    ["oven", "mill", "oven", "inspection"],
]


def main(rounds):
    checksum = 0
    for seed in range(rounds):
        shop = Shop(seed)
        for number in range(900):
            shop.send(Order(number, ROUTES[shop.random(len(ROUTES))]))
        checksum ^= shop.run() << (seed % 8)
    return checksum

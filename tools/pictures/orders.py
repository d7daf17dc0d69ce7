"""What the pictures of README.md show: orders that are added up, and a price list that is read late."""

import sys
import time

PRICES = {}


def load(day):
    time.sleep(0.002)
    PRICES.update(tea=2.5, cake=4.0)
    if day != "sunday":
        PRICES["bread"] = 3.2


def price(name, count):
    if name in PRICES:
        return PRICES[name] * count
    return None


def rebate(total, count):
    if count > 10:
        total *= 0.9
    return round(total, 2)


def total(orders):
    whole = 0
    for name, count in orders:
        cost = price(name, count)
        whole += rebate(cost, count)
    return whole


def main(day, customers):
    load(day)
    for customer in range(customers):
        orders = [("tea", customer % 3 + 1), ("cake", 12), ("bread", 2)]
        print(customer, total(orders))


main(sys.argv[1], int(sys.argv[2]))

"""Order of summands: a set of names is walked in the order of hashes, and floating-point addition is not associative."""

WEIGHTS = {"oak": 1e16, "ash": 1.0, "elm": -1e16, "fir": 1.0}


def weigh(names):
    total = 0.0
    for name in names:  # cause
        weight = WEIGHTS[name]
        if weight < 0:  # cause
            total -= -weight
        else:
            total += weight
    return total


def test_balance():
    assert weigh(set(WEIGHTS)) == 2.0 or weigh(set(WEIGHTS) - {"fir"}) == 1.0

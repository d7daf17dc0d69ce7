"""Order of a set of strings: with some hash seeds a plugin is loaded before the one that it needs."""

NEEDS = {"markdown": [], "tables": ["markdown"], "toc": ["markdown"]}


class NotLoaded(Exception):
    pass


def load(plugins):
    loaded = []
    for name in plugins:  # cause
        for needed in NEEDS[name]:
            if needed not in loaded:
                raise NotLoaded(needed)
        loaded.append(name)
    return loaded


def test_all_are_loaded():
    assert len(load(set(NEEDS))) == 3

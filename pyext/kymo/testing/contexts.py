# SPDX-License-Identifier: Apache-2.0
"""Each phase of a test is a context, so that what ran in it can be identified afterwards."""

from contextlib import contextmanager

import pytest

from kymo import context

END = "context:"  # the mark at the end of one


class Contexts:
    _item = _nodeid = None

    def _phase(self, item, name):
        # pytest builds the id at each access.
        if item is not self._item:
            self._item, self._nodeid = item, item.nodeid
        return context(f"{self._nodeid}|{name}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        with self._phase(item, "setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        with self._phase(item, "run"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        with self._phase(item, "teardown"):
            return (yield)


_is_registered = False


@contextmanager
def registered(config):
    """While the tests of @config run.  A pytest that runs inside a test leaves its lines to that test."""
    global _is_registered
    if _is_registered:
        yield
        return
    contexts, _is_registered = Contexts(), True
    config.pluginmanager.register(contexts, "kymo-contexts")
    try:
        yield
    finally:
        config.pluginmanager.unregister(contexts)
        _is_registered = False

# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin `kymo`, which `-p no:kymo` leaves out.

Every pytest where Kymo is installed imports this file: the rest is imported when it is first used.
"""

import sys

import pytest

MODES = ("off", "on", "retain-on-failure", "retain-on-first-failure")
VALUES = ("none", "args", "locals", "globals")


def pytest_addoption(parser):
    group = parser.getgroup("kymo", "recording of tests (kymo)")
    group.addoption("--kymo", choices=MODES, dest="kymo", metavar="MODE",
                    help="record the tests: " + ", ".join(MODES) + "; retain: keep only what failed")
    group.addoption("--kymo-dir", dest="kymo_dir", metavar="DIR", help="folder of the traces (default: kymo-traces)")
    group.addoption("--kymo-last", dest="kymo_last", metavar="N", type=int,
                    help="show the last N lines of each thread of a test that failed (default: 10)")
    group.addoption("--kymo-diff", dest="kymo_diff", action="store_true", default=None,
                    help="show where a failed attempt diverged from one that passed")
    group.addoption("--kymo-baseline", dest="kymo_baseline", metavar="DIR",
                    help="compare with the passing tests in DIR; with --kymo=on: save them there")
    group.addoption("--kymo-runner", dest="kymo_runner", action="store_true", default=None,
                    help="record pytest and its plugins, too")
    group.addoption("--kymo-values", choices=VALUES, dest="kymo_values", metavar="SCOPE",
                    help="record what variables hold in files of the project: args, locals, globals")
    for name in "kymo", "kymo_dir", "kymo_last", "kymo_baseline", "kymo_values":
        parser.addini(name, f"as --{name.replace('_', '-')}", default=None)
    for name in "kymo_diff", "kymo_runner":
        parser.addini(name, f"as --{name.replace('_', '-')}", type="bool", default=None)


def pytest_configure(config):
    config.addinivalue_line("markers", "kymo(events, values): the events and values that are recorded of this test, as of kymo record")
    file = config.rootpath / "pyproject.toml"
    if config.option.kymo or config.getini("kymo") or file.is_file() and b"tool.kymo" in file.read_bytes():
        from kymo.testing import session

        session.configure(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session):
    extension = sys.modules.get("kymo._kymo")
    if extension is None or not extension.is_recording():
        return (yield)
    from kymo.testing import contexts

    with contexts.registered(session.config):
        return (yield)


@pytest.fixture
def kymo_recorder():
    """For tests: leave marks in the recording, if there is one.  See kymo.testing.fixture.Recorder."""
    from kymo.testing.fixture import Recorder

    return Recorder()

# SPDX-License-Identifier: Apache-2.0
"""The parts of the plugin that a pytest process needs: one that runs tests, or one that has xdist workers run them."""

import os
import time

from kymo.testing.settings import read
from kymo.testing.summary import Summary
from kymo.testing.tests import Tests
from kymo.testing.workers import Workers


def configure(config):
    settings = read(config)
    if not settings.is_on or config.option.collectonly:
        return
    worker = getattr(config, "workerinput", None)
    stem = settings.folder / f"pytest-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    if worker is not None:
        if "kymo_stem" in worker:
            config.pluginmanager.register(Tests(config, settings, worker["kymo_stem"]), "kymo-tests")
        return
    config.pluginmanager.register(Summary(settings), "kymo-summary")
    if getattr(config.option, "dist", "no") != "no" and getattr(config.option, "tx", None):
        config.pluginmanager.register(Workers(config, settings, stem), "kymo-workers")
    else:
        config.pluginmanager.register(Tests(config, settings, stem), "kymo-tests")

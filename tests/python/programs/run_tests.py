# SPDX-License-Identifier: Apache-2.0
"""usage: run_tests.py MODULE: the unittests of a module; ends normally, whatever their outcome.

Left out is what a tool in Python cannot watch: recursion up to the limit, which its callbacks reach first, signals, which
are handled in the middle of them, tests of tracing, which set the positions of frames, and code whose first instruction
is none: where a tool asks for RAISE, it ends the process on 3.15.
"""
import sys
import unittest

UNFIT = ("recurs", "trac", "profil", "lineno", "jump", "stack_overflow", "nest", "interrupt", "invalid_bytecode")


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        elif not any(word in test.id().lower() for word in UNFIT):
            yield test


loaded = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(cases(loaded)))
print(f"{sys.argv[1]}: {result.testsRun} tests", file=sys.stderr)

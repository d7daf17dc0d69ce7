# SPDX-License-Identifier: Apache-2.0
"""`./dev bench`: the measurements of docs/performance.md."""
import argparse
import json
import os
import platform
import sys

from append import append
from arrow import arrow
from compare import compare_all, one_core, start_up
from diff import diff
from export import export
from coverage_counts import coverage_counts
from coverage_peers import coverage, coverage_imports, coverage_instructions
from instructions import instructions
from measure import PROFILES, PROGRAMS
from own_share import own_share
from peers import peers
from replay import replay
from size import size
from value_leaks import value_leaks
from values import values

PARTS = {
    "append": append,
    "start-up": start_up,
    "compare": compare_all,
    "one-core": one_core,
    "instructions": instructions,
    "size": size,
    "peers": peers,
    "coverage": coverage,
    "coverage-imports": coverage_imports,
    "coverage-instructions": coverage_instructions,
    "replay": replay,
    "diff": diff,
    "export": export,
    "coverage-counts": coverage_counts,
    "own-share": own_share,
    "arrow": arrow,
    "values": values,
    "value-leaks": value_leaks,
}


def names(known):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name}; there are {', '.join(known)}")
        return chosen

    return parse


def main():
    parser = argparse.ArgumentParser(prog="./dev bench [--python X]", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write every figure and every sample to FILE")
    parser.add_argument("--quick", action="store_true", help="three pairs of shorter runs: an impression, no figures")
    parser.add_argument("--scale", type=float, help="length of the runs (default 1); on a machine whose speed changes "
                                                    "by the second, short runs and many pairs tell more")
    parser.add_argument("--pairs", type=int, help="interleaved rounds (default 10)")
    parser.add_argument("--parts", type=names(PARTS), default=list(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--profiles", type=names(PROFILES), default=list(PROFILES), help=f"of {','.join(PROFILES)}")
    parser.add_argument("--programs", type=names(PROGRAMS), default=PROGRAMS, help=f"of {','.join(PROGRAMS)}")
    options = parser.parse_args()
    options.scale = options.scale or (0.1 if options.quick else 1.0)
    options.pairs = options.pairs or (3 if options.quick else 10)
    print(f"CPython {platform.python_version()} ({platform.python_compiler()}), {os.cpu_count()} processors, "
          f"{options.pairs} pairs; estimates are medians with 95 % bootstrap intervals")
    results = {"python": sys.version, "machine": platform.machine(), "processors": os.cpu_count(),
               "pairs": options.pairs, "scale": options.scale}
    for part in options.parts:
        results[part] = PARTS[part](options)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file, indent=1)


main()

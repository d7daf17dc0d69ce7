# SPDX-License-Identifier: Apache-2.0
"""Modules of the standard library that are written in Python, at work."""
import argparse
import configparser
import contextlib
import copy
import difflib
import fractions
import inspect
import io
import json
import pprint
import re
import shlex
import statistics
import string
import textwrap
import traceback

TEXT = "The quick brown fox jumps over the lazy dog. " * 3


def parse():
    parser = argparse.ArgumentParser(prog="x", add_help=False)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("names", nargs="*")
    commands = parser.parse_args(["--count", "3", "a", "b"])
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.suppress(SystemExit):
        parser.parse_args(["--count", "x"])
    return commands, errors.getvalue()


def configure():
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nlong = one\n  two\n")
    return {section: dict(parser[section]) for section in parser.sections()}


def explain():
    try:
        json.loads("{'wrong'}")
    except ValueError:
        return len(traceback.format_exc().splitlines()) > 3


print(parse(), configure(), explain())
print(json.dumps({"a": [1, 2.5, None, True, {"b": "\u00e9"}]}, indent=1), json.loads("[1, {}]"))
print(re.sub(r"(?P<first>\w)(\w*?)s?\b", lambda match: match["first"].upper() + match[2], TEXT)[:40])
print(re.findall(r"(?i)\b[a-f]\w+(?=\s)|(?<!o)x", TEXT), textwrap.fill(TEXT, 30), sep="\n")
print("".join(difflib.ndiff(["one\n", "two\n"], ["one\n", "tow\n"])), shlex.split("a 'b c' d\\ e"))
print(fractions.Fraction(1, 3) + fractions.Fraction("0.25"), statistics.stdev([1, 2, 3, 4]))
print(string.Template("$a ${b}").substitute(a=1, b=2), pprint.pformat({"k": list(range(30))}, width=40))
print(copy.deepcopy({"a": [(1, [2]), {3}]}), inspect.signature(parse), inspect.cleandoc(" a\n   b"))

# SPDX-License-Identifier: Apache-2.0
"""The standard library's own Python code at work: tokenize, ast, json, difflib, textwrap, string formatting."""
import ast
import difflib
import inspect
import io
import json
import textwrap
import tokenize

ROUNDS = 50


def as_data(node):
    if isinstance(node, ast.AST):
        return {"type": type(node).__name__} | {name: as_data(value) for name, value in ast.iter_fields(node)}
    if isinstance(node, list):
        return [as_data(item) for item in node]
    return node if isinstance(node, (str, int, float, bool, type(None))) else repr(node)


def main(rounds):
    source = inspect.getsource(textwrap)
    checksum = 0
    for _ in range(rounds):
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        tree = ast.parse(source)
        written = ast.unparse(tree)
        dumped = json.dumps(as_data(tree), indent=1, sort_keys=True)  # an indent keeps to the Python encoder
        loaded = json.loads(dumped)
        wrapped = textwrap.fill(textwrap.dedent(source), 60)
        changes = list(difflib.unified_diff(source.splitlines()[:150], written.splitlines()[:150], n=1))
        for number in len(tokens), len(written), len(dumped), len(loaded["body"]), len(wrapped), len(changes):
            checksum = (checksum * 31 + number) % 1000003
    return checksum

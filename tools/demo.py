# SPDX-License-Identifier: Apache-2.0
"""The program `./dev demo` records: modules of the standard library tokenized, parsed and unparsed in pure Python."""
import argparse
import ast
import inspect
import textwrap
import tokenize

for module in (argparse, inspect, textwrap):
    with tokenize.open(module.__file__) as file:
        tokens = sum(1 for _ in tokenize.generate_tokens(file.readline))
    tree = ast.parse(inspect.getsource(module))
    text = ast.unparse(tree)
    nodes = sum(1 for _ in ast.walk(tree))
    print(f"{module.__name__}: {tokens} tokens, {nodes} nodes, {len(text)} characters")

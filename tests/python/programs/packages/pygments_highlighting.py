# SPDX-License-Identifier: Apache-2.0
"""Pygments: modules of the standard library, and what is made of them, by several lexers, filters and formatters."""
import io
import json
import json.decoder
import queue

import pygments
import pygments.filters
import pygments.formatters
import pygments.lexers
import pygments.util

OTHER = {
    "c": "/* a */ #define A(x) \\\n  x\nstatic int f(char *s) { return s ? 0x1fUL + '\\n' : f(\"%d\\\"\"); } // end\n" * 5,
    "html": "<!doctype html><style>p { color: #fff }</style><p class=a>&amp;<script>var a = /b/g;</script></p>\n" * 5,
    "bash": "for x in $(ls *.c); do echo \"${x%.c} $((1 + 2))\" | sed 's/a/b/' >&2; done <<E\ntext $a\nE\n" * 5,
    "sql": "SELECT a.*, count(1) FROM a LEFT JOIN b USING (c) WHERE d LIKE '%e''' -- why\n/* f */;\n" * 5,
    "markdown": "# Title\n\n* a *b* `c`\n\n```python\ndef f(): pass\n```\n> quoted [link](a.html)\n" * 5,
    "yaml": "a: &b\n  - 1 # c\n  - {d: 'e', f: [g, ~]}\nh: |\n  text\n  more\n" * 5,
    "pycon": ">>> 1 + 1\n2\n>>> f(\n...  a)\nTraceback (most recent call last):\n  File \"a\", line 1, in f\nE: b\n" * 5,
    "diff": "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n" * 5,
}


def highlight_modules():
    for module in (json, json.decoder, queue):
        with open(module.__file__, encoding="utf-8") as file:
            text = file.read()
        lexer = pygments.lexers.get_lexer_for_filename(module.__file__, stripall=True)
        for name, options in (("html", {"linenos": "table", "full": True}), ("terminal256", {"style": "monokai"})):
            yield len(pygments.highlight(text, lexer, pygments.formatters.get_formatter_by_name(name, **options)))


def highlight_others():
    for name, text in OTHER.items():
        lexer = pygments.lexers.get_lexer_by_name(name)
        lexer.add_filter("codetagify")
        lexer.add_filter(pygments.filters.KeywordCaseFilter(case="upper"))
        for formatter in ("latex", "rtf", "svg", "terminal", "html", "raw", "bbcode"):
            output = io.BytesIO() if formatter == "raw" else io.StringIO()
            pygments.highlight(text, lexer, pygments.formatters.get_formatter_by_name(formatter), output)
            yield output.tell()


def guess():
    """By what lexers that are likely think of it: all would be too many."""
    for text in OTHER.values():
        lexers = map(pygments.lexers.get_lexer_by_name, (*OTHER, "python", "xml", "perl"))
        yield max(lexers, key=lambda lexer: lexer.analyse_text(text)).name


def fail():
    for find in (pygments.lexers.get_lexer_by_name, pygments.formatters.get_formatter_by_name,
                 pygments.lexers.get_lexer_for_filename):
        try:
            find("nothing of this name")
        except pygments.util.ClassNotFound as error:
            yield str(error)


print(list(highlight_modules()), list(highlight_others()), list(guess()), list(fail()))

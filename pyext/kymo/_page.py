# SPDX-License-Identifier: Apache-2.0
"""Pages that open from disk: their head, their style, and how text and data are put into them."""

import json
from collections.abc import Iterable
from html import escape

# Colours differ in lightness, too, and no meaning depends on colour alone.
STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --back: #fff; --soft: #f3f4f6; --line: #d5d8dc; --dim: #5f6670;
  --link: #0b57a4;
  --miss: #fde8e8; --miss-edge: #b91c1c;
  --part: #fdf3d8; --part-edge: #a16207; --ran-edge: #15803d; --skip-edge: #8a9099; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6e9; --back: #16181b; --soft: #202327; --line: #3a3f45;
  --dim: #9aa1aa; --link: #8ec5ff; --miss: #3b1d1f; --miss-edge: #f87171; --part: #372d12; --part-edge: #eab308; --ran-edge: #4ade80; } }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 88rem; overflow-wrap: anywhere; color: var(--text);
  background: var(--back); font: .95rem/1.45 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
h1 { font-size: 1.45rem; margin: .3rem 0 .5rem; overflow-wrap: anywhere; } p { color: var(--dim); margin: .6rem 0; }
.cards { display: flex; flex-wrap: wrap; gap: .6rem; margin: .8rem 0; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .9rem; background: var(--soft); }
.card b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; } .card span { color: var(--dim); font-size: .82rem; }
.share { background: linear-gradient(var(--link), var(--link)) no-repeat left bottom / var(--part, 0%) 3px; }
tbody tr:hover { background-color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
.source { font: .85rem/1.5 ui-monospace, monospace; } .source td { padding: 0 .5rem; vertical-align: top; }
.source .n, .source .hits { text-align: right; color: var(--dim); user-select: none; white-space: nowrap; }
.source .n a { color: inherit; } details .source { color: var(--text); }
.source .text { white-space: pre-wrap; overflow-wrap: anywhere; width: 100%; }
details { color: var(--dim); } summary { cursor: pointer; }
"""
# Nothing is loaded, whatever gets into a page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def head(title: str, style: str = "") -> str:
    """Up to <body>; `style` follows that of all pages."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{text(title)}</title><style>{STYLE}{style}</style></head><body>\n"
    )


def text(value: str) -> str:
    """On one line; characters that do not print become `?`."""
    return escape("".join(c if c.isprintable() else "?" for c in value))


def code(value: str) -> str:
    """A line of a source file."""
    return escape("".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in value))


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """The key figures at the top: (name, value)."""
    drawn = "".join(f'<div class="card"><b>{text(value)}</b><span>{text(name)}</span></div>' for name, value in facts)
    return f'<div class="cards">{drawn}</div>\n'


def data(name: str, value: object) -> str:
    """Data for the page's scripts, as JSON in the element `name`."""
    dumped = json.dumps(value, separators=(",", ":"), allow_nan=False)  # of ASCII alone
    for character in "<>&":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{name}">{dumped}</script>\n'


def script(program: str) -> str:
    """`program` is a part of the package, and does not contain the end of a script."""
    return f"<script>{program}</script>\n"

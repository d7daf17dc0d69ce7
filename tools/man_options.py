#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the OPTIONS and the summaries of the manual pages from the tables of the program: man_options.py KYMO FOLDER."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

MARKS = ((r"`([^`]+)`", "Cm"), (r"(kymo-[a-z]+)\(1\)", "Xr"), (r"-(-[a-z][a-z-]*)", "Fl"), (r"\$([A-Z_]+)", "Ev"))
WORD = re.compile(r"`[^`]*`\S*|[^\s`]+(?:`[^`]*`\S*)?")


def marked(word, option):
    """The macro line that prints `word` in a face of its own; None: it is plain text."""
    core, closing = re.fullmatch(r"(.*?)([.,;:]*)", word).groups()
    for pattern, macro in MARKS:
        if found := re.fullmatch(pattern, core):
            return " ".join([f".{macro} {found[1]}", *("1" * (macro == "Xr")), *closing])
    if core == option.get("value", "").rstrip("…,"):
        return " ".join([f".Ar {core.lower()}", *closing])
    return " ".join([f".Cm {core}", *closing]) if core in option.get("choices", "").split() else None


def prose(text, option):
    """Each sentence begins a line, and so does what is marked, and what follows it."""
    lines = []
    for sentence in re.split(r"(?<=\.) ", text.replace("…", "...")):
        plain = []
        for word in WORD.findall(sentence):
            if line := marked(word, option):
                lines += [" ".join(plain), line]
                plain = []
            else:
                plain.append(word.replace("`", ""))
        lines.append(" ".join(plain))
    lines = [part for line in lines for part in (textwrap.wrap(line, 100) if line[:1] != "." else [line])]
    return "".join(f"{line}\n" for line in lines)


def item(option):
    names = [f"Fl {option['letter']}"] if "letter" in option else []
    names += [f"Fl -{option['name']}"] if "name" in option else []
    value = option.get("value", "").lower().replace(",…", ",...").replace("…", " ...")
    between = " Ns = Ns Ar " if "name" in option else " Ar "
    text = option["help"][0].upper() + option["help"][1:] + "."
    return f".It {' , '.join(names)}{between + value if value else ''}\n{prose(text + ' ' + option.get('more', ''), option)}"


def section(options):
    items = "".join(map(item, [*options, {"name": "help", "help": "show a summary"}]))
    return f".Sh OPTIONS\n.Bl -tag -width Ds\n{items}.El\n"


def replaced(pattern, new, page):
    return re.sub(pattern, lambda _: new, page, count=1, flags=re.M | re.S)


def pages(kymo, folder):
    """The name and the text of each page as it should be."""
    verbs = json.loads(subprocess.run([kymo, "_options"], capture_output=True, text=True, check=True).stdout)
    index = (folder / "kymo.1").read_text()
    for verb, facts in verbs.items():
        page = replaced(r"^\.Nd [^\n]*", f".Nd {facts['summary']}", (folder / f"kymo-{verb}.1").read_text())
        yield f"kymo-{verb}.1", replaced(r"^\.Sh OPTIONS\n.*?(?=^\.Sh )", section(facts["options"]), page)
        index = replaced(rf"(?<=^\.It Xr kymo-{verb} 1\n)[^\n]*", facts["summary"], index)
    yield "kymo.1", index


def main(kymo, folder):
    for name, text in list(pages(kymo, Path(folder))):
        (Path(folder) / name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])

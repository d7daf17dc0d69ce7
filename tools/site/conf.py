# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site, by Sphinx; `./dev docs` runs it in build/pages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build" / "pages"

project = "Kymo"
author = "Kymo's contributors"
copyright = author
release = re.search(r"project\(kymo VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/*.md", "docs/guide/*.md", "docs/decisions/*.md", "manual/*.md"]
myst_heading_anchors = 4  # as GitHub makes them: links to sections are checked
suppress_warnings = ["misc.highlighting_failure"]  # sessions of a terminal are no language

html_theme = "furo"
html_title = f"Kymo {release}"
html_copy_source = False


def contents():
    """The map of the documents as tables of contents; a document that it leaves out is a warning of Sphinx."""
    tables = []
    for part in re.split(r"^## ", (PAGES / "docs" / "README.md").read_text(), flags=re.M)[1:]:
        links = re.findall(r"\]\(([^)#]+)\.md\)", part)
        pages = [link[3:] if link.startswith("../") else "docs/" + link for link in links]
        tables.append((part.splitlines()[0], pages))
    tables.append(("Manual pages", ["manual/" + page.stem for page in sorted(PAGES.glob("manual/*.md"))]))
    tables[0][1].insert(0, "docs/README")
    return "\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])
        for caption, pages in tables
    )


def add_contents(app, name, source):
    """The front page is README.md; the tables of contents stand in the column beside each page."""
    if name == "README":
        source[0] += "\n" + contents()


root_doc = "README"


def setup(app):
    app.connect("source-read", add_contents)

# SPDX-License-Identifier: Apache-2.0
"""Parts of pages of profiles."""

from pathlib import Path

from kymo import _page


def head(title: str) -> str:
    return _page.head(title, _read("page.css"))


def scripts() -> str:
    """To be placed behind the data that they use."""
    return _page.script(_read("boxes.js") + _read("report.js"))


def chart(name: str, what: str) -> str:
    """Where boxes.js draws."""
    buttons = (("in", "Zoom in"), ("out", "Zoom out"), ("left", "←"), ("right", "→"), ("all", "All"))
    names = {"left": "Earlier or more to the left", "right": "Later or more to the right"}
    bar = "".join(
        f'<button type="button" data-do="{do}" aria-label="{names.get(do, label)}">{label}</button>'
        for do, label in buttons
    )
    return (
        f'<div id="{name}"><div class="bar">{bar}</div><p class="axis"></p><div class="ticks" aria-hidden="true"></div>'
        f'<div class="boxes" tabindex="0" role="application" aria-label="{what}; arrow keys go from box to box, Enter '
        f'zooms to it, + and - zoom, Escape shows all" aria-describedby="{name}-told"></div>'
        f'<p class="told" id="{name}-told" aria-live="polite"></p></div>\n'
    )


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")

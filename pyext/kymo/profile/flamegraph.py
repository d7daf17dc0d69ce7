# SPDX-License-Identifier: Apache-2.0
"""A flame graph as a page that needs nothing else."""

from collections.abc import Iterator
from typing import Any

from kymo import _page
from kymo.profile import charts, page
from kymo.profile._tree import Function, Profile
from kymo.profile.names import qualified


class Numbers:
    """Functions by number, for scripts."""

    def __init__(self) -> None:
        self.of: dict[Function, int] = {}

    def __call__(self, function: Function) -> int:
        return self.of.setdefault(function, len(self.of))


HOW = (
    "As wide as it took time, with all that it called below it; places side by side are in no order of time. Choose "
    "one to zoom to it. A dashed edge: some of its calls were not seen to begin or to end. Hatched: several together."
)


def left_out(chart: dict[str, Any]) -> str:
    count = chart["left_out"]
    return f"<p>{count} places that took less than those shown are drawn together with others as …</p>" if count else ""


def write(profile: Profile, title: str) -> Iterator[str]:
    """The page, in parts."""
    numbers = Numbers()
    chart = charts.flame(profile, numbers)
    functions = [[qualified(function), charts.place(function)] for function in numbers.of]
    yield page.head(title)
    yield f"<h1>{_page.text(title)}</h1><p>{HOW}</p>{left_out(chart)}"
    if profile.lost:
        yield f"<p>{profile.lost} events were lost: what they would have told is missing.</p>"
    yield page.chart("flame", "Flame graph")
    yield _page.data("data", {"functions": functions, "flame": chart})
    yield page.scripts() + "</body></html>\n"

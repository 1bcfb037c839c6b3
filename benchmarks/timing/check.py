"""A small check for every change: has torchlint become slower than the committed measurements say?"""

from __future__ import annotations

from collections.abc import Mapping

from timing import contestants as c
from timing import goals, trees
from timing.measure import measure
from timing.record import Suite

#: What the ratio may be in units of the committed one, before the check warns.
TOLERANCE = 1.3
_SUITE = "timm"
_RATIO = goals.ratio(c.COLD, c.PARSE)


def measured(bench: c.Bench) -> float:
    """The time of a cold run over timm, in units of the time that parsing the same files takes."""
    tree = trees.timm(bench.cache)
    trees.read(tree)
    parse, _ = c.floors(bench, tree)
    rows = measure([c.cold(bench, tree), parse], bench.place)
    return rows[c.COLD].median / rows[c.PARSE].median


def verdict(ratio: float, cores: int, suites: Mapping[str, Suite]) -> str:
    """One line that compares the ratio with the committed one."""
    said = f"a cold run over timm takes {ratio:.2f} times as long as `ast.parse`"
    suite = suites.get(_SUITE)
    committed = _RATIO(suite) if suite else None
    if suite is None or committed is None:
        return f"speed: {said}; there is no committed measurement to compare with"
    where = f"{committed:.2f} times" if cores == suite.cores else f"{committed:.2f} times, on {suite.cores} cores"
    if ratio > TOLERANCE * committed:
        return f"speed: warning: {said}; committed are {where}"
    return f"speed: {said}; committed are {where}, which is near enough"

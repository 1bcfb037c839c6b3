"""What torchlint's speed has to reach, and how each figure is taken from the measurements."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from timing import contestants as c
from timing import suites as s
from timing.record import Suite


@dataclass(frozen=True)
class Goal:
    """One sentence with a limit; ``figure`` gives None where the suite lacks what it needs."""

    text: str
    suite: str
    figure: Callable[[Suite], float | None]
    limit: float
    unit: str = ""
    at_least: bool = False

    def measured(self, suites: Mapping[str, Suite]) -> float | None:
        """The figure, or None where it was not measured."""
        suite = suites.get(self.suite)
        return self.figure(suite) if suite else None

    def met(self, figure: float) -> bool:
        """Whether the figure is on the right side of the limit; the figure counts as it was measured, not rounded."""
        return figure >= self.limit if self.at_least else figure <= self.limit


def ratio(row: str, to: str) -> Callable[[Suite], float | None]:
    """The median wall time of one row in units of another's."""

    def figure(suite: Suite) -> float | None:
        known = suite.rows
        return known[row].median / known[to].median if row in known and to in known else None

    return figure


def growth(suite: Suite) -> float | None:
    """The time for all files in units of the mean time for a half of them."""
    if not {c.COLD, *c.HALVES} <= set(suite.rows):
        return None
    return suite.rows[c.COLD].median / statistics.mean(suite.rows[half].median for half in c.HALVES)


def peak(suite: Suite) -> float | None:
    """The most megabytes that any process of torchlint had in any run."""
    peaks = [most for name, row in suite.rows.items() if name.startswith(c.COLD) for most in row.peak]
    return max(peaks, default=None)


_TREES = {"utils": "torch/utils", "timm": "timm", "eleven": "the eleven packages"}


def _goals() -> tuple[Goal, ...]:
    return (
        *(Goal(f"cold, {tree}: time of hotpath-ai", key, ratio(c.COLD, c.HOTPATH), 1) for key, tree in _TREES.items()),
        *(
            Goal(f"cold, timm: faster than {peer}", "timm", ratio(peer, c.COLD), 60, " times", at_least=True)
            for peer in (c.TORCHFIX, c.PREFLIGHT)
        ),
        Goal("cold, the eleven packages: time of `ast.parse` in one process", "eleven", ratio(c.COLD, c.PARSE), 0.8),
        *(
            Goal(f"warm, the eleven packages: time of {ruff}", "eleven", ratio(c.WARM, ruff), 2.5)
            for ruff in (c.RUFF_WARM, c.RUFF_PYFLAKES_WARM)
        ),
        Goal('a commit of three files: time of `python -c "import libcst"`', "commit", _COMMIT_TYPICAL, 2),
        Goal("a commit of three files without torch: time of `python -c pass`", "commit", _COMMIT_PLAIN, 5),
        *(
            Goal(f"cold, {_TREES[key]}: `--jobs 2` faster than `--jobs 1`", key, _JOBS, 1.8, " times", at_least=True)
            for key in ("timm", "eleven")
        ),
        Goal("the eleven packages: time of half of the files, mean of both halves", "eleven", growth, 2.1),
        *(Goal(f"{tree}: the largest process of torchlint", key, peak, 300, " MB") for key, tree in _TREES.items()),
    )


_JOBS = ratio(c.ONE_JOB, c.TWO_JOBS)
_COMMIT_TYPICAL = ratio(s.COMMIT_TYPICAL, s.IMPORT_LIBCST)
_COMMIT_PLAIN = ratio(s.COMMIT_PLAIN, s.PASS)
GOALS = _goals()

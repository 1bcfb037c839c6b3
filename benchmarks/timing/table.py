"""Measurements in Markdown: a table for each suite, and one of the goals."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from timing import suites as s
from timing.goals import GOALS, Goal
from timing.record import Row, Suite

_TITLES = {
    "utils": "torch/utils",
    "timm": "timm",
    "eleven": "The eleven packages",
    "commit": "Three files of a commit",
}
_NONE = "not measured"


def page(suites: Mapping[str, Suite]) -> str:
    """All that stands between the markers of the page."""
    parts = [f"### Goals\n\n{goal_table(suites)}"]
    for name in s.SUITES:
        if name in suites:
            suite = suites[name]
            parts.append(f"### {_TITLES[name]}\n\n{caption(suite)}\n\n{table(suite)}")
    return "\n\n".join(parts)


def goal_table(suites: Mapping[str, Suite], wanted: Sequence[Goal] = GOALS) -> str:
    """Each goal with its measured figure and whether that reaches it."""
    lines = ["| goal | measured | limit | met |", "| --- | ---: | ---: | --- |"]
    for goal in wanted:
        figure = goal.measured(suites)
        limit = f"at {'least' if goal.at_least else 'most'} {goal.limit:g}{goal.unit}"
        said = _NONE if figure is None else f"{_figure(figure)}{goal.unit}"
        met = "" if figure is None else "yes" if goal.met(figure) else "**no**"
        lines.append(f"| {goal.text} | {said} | {limit} | {met} |")
    return "\n".join(lines)


def table(suite: Suite) -> str:
    """Each contestant beside the first."""
    first = next(iter(suite.rows.values())).median
    lines = [
        "| what runs | wall, median | fastest to slowest | processor | largest process | ratio | runs |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [_line(name, row, first) for name, row in suite.rows.items()]
    return "\n".join(lines)


def caption(suite: Suite) -> str:
    """What was measured, where, with which versions, when."""
    versions = ", ".join(f"{name} {version}" for name, version in suite.versions.items())
    cores = "1 core" if suite.cores == 1 else f"{suite.cores} cores"
    return (
        f"{suite.label}: {suite.files:,} files, {_megabytes(suite.size)}. {suite.machine}, {cores}. "
        f"{versions}. {suite.date}, commit {suite.commit or 'not kept'}."
    )


def _line(name: str, row: Row, first: float) -> str:
    spread = f"{_seconds(min(row.wall))} to {_seconds(max(row.wall))} s"
    ratio = _figure(row.median / first)
    cells = (name, f"{_seconds(row.median)} s", spread, f"{_seconds(statistics.median(row.cpu))} s")
    return f"| {' | '.join(cells)} | {max(row.peak):.0f} MB | {ratio} | {len(row.wall)} |"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def _figure(value: float) -> str:
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3}f}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"

"""The figures of ``docs/field.md``, as SVG. They are readable on light and dark pages."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl

from survey.counts import Counts, having, rules
from survey.tables import density
from torchlint.rule import topic_by_id
from torchlint.run.rules import registry

mpl.use("svg")
_INK = "#7d8590"
_TOPICS = {
    "copies": "#3b82c4",
    "transfers": "#8a63d2",
    "synchronization": "#d1495b",
    "loading": "#2a9d8f",
    "backends": "#b98b1d",
    "optimization": "#c2602b",
    "portability": "#7d8590",
    "precision": "#4f9d3a",
    "compile": "#c2569b",
}
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "torchlint",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def all_of(found: Sequence[Counts]) -> dict[str, str]:
    """The figures by file name."""
    from matplotlib import rc_context

    with rc_context(_STYLE):
        return {"problems": _problems(found), "density": _density(found), "topics": _topics(found)}


def _problems(found: Sequence[Counts]) -> str:
    """How many repositories have each problem."""
    names = {rule.id: rule.name for rule in registry.load()}
    shown = [rule for rule in rules(found) if rule in names]
    figure, axes = _axes(8.6, 0.27 * len(shown) + 0.9)
    for position, rule in enumerate(reversed(shown)):
        color, warned = _TOPICS[topic_by_id(rule)], _percent(having(found, rule), found)
        noted = _percent(having(found, rule, infos=True), found)
        axes.barh(position, warned, color=color, height=0.7)
        axes.barh(position, noted, left=warned, color=color, height=0.7, alpha=0.35)
        label = " + ".join(f"{share:.0f} %" for share in (warned, noted) if share)
        axes.text(warned + noted + 0.5, position, label, va="center", fontsize=8)
    axes.set_yticks(range(len(shown)), [f"{names[rule]}  {rule}" for rule in reversed(shown)], fontsize=8.5)
    axes.set_xlabel("repositories with at least one warning (light: with infos only), in percent")
    axes.set_ylim(-0.6, len(shown) - 0.4)
    _legend(axes, [topic_by_id(rule) for rule in shown])
    return _svg(figure)


def _density(found: Sequence[Counts]) -> str:
    """The number of warnings per thousand lines, for each repository."""
    values = sorted((density(one) for one in found), reverse=True)
    figure, axes = _axes(8.6, 3.0)
    axes.bar(range(len(values)), values, color=_TOPICS["copies"], width=0.8)
    axes.set_xlabel(f"{len(values)} repositories, those with most warnings first")
    axes.set_ylabel("warnings per 1,000 lines")
    axes.set_xlim(-1, len(values))
    axes.set_xticks([])
    return _svg(figure)


def _topics(found: Sequence[Counts]) -> str:
    """Which repositories have warnings of which topic: a column for each repository."""
    figure, axes = _axes(8.6, 0.3 * len(_TOPICS) + 0.6)
    having_topic = [{topic_by_id(each.rule) for each in one.findings if each.severity != "info"} for one in found]
    columns = sorted(having_topic, key=lambda topics: (-len(topics), sorted(map([*_TOPICS].index, topics))))
    width = 320 / len(columns)  # in points
    for row, (topic, color) in enumerate(_TOPICS.items()):
        places = [place for place, topics in enumerate(columns) if topic in topics]
        _ticks(axes, row, range(len(columns)), color=_INK, alpha=0.12, linewidth=width)
        _ticks(axes, row, places, color=color, linewidth=width)
    axes.set_yticks(range(len(_TOPICS)), _TOPICS)
    axes.set_xticks([])
    axes.set_xlim(-1, len(columns))
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xlabel(f"{len(columns)} repositories, each a column; filled where there is a warning of the topic")
    return _svg(figure)


def _ticks(axes: Any, row: int, places: Iterable[int], **style: Any) -> None:
    """Vertical bars at some places of a row, as one line with gaps: a bar each would make the file large."""
    gap = float("nan")
    points = [point for place in places for point in ((place, row - 0.36), (place, row + 0.36), (gap, gap))]
    if points:
        axes.plot(*zip(*points, strict=True), solid_capstyle="butt", **style)


def _percent(number: int, found: Sequence[Counts]) -> float:
    return 100 * number / len(found)


def _axes(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    return figure, axes


def _legend(axes: Any, topics: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=color, label=topic) for topic, color in _TOPICS.items() if topic in topics]
    axes.legend(handles=patches, loc="lower right", frameon=False, fontsize=8.5)


def _svg(figure: Any) -> str:
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"

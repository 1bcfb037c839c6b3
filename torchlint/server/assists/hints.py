"""Inlay hints: what runs have shown, behind the lines of findings."""

from __future__ import annotations

from collections import defaultdict

from lsprotocol import types

from torchlint.model import Observed
from torchlint.report.figures import duration, number
from torchlint.report.observed import words
from torchlint.server.checker import Checked
from torchlint.server.texts.positions import Lines


def within(checked: Checked, range_: types.Range, encoding: str) -> list[types.InlayHint]:
    """How often something happened at the lines of findings in a range, and what that takes.

    There are none in notebooks, which evidence does not know, or if the settings switch them off.
    """
    whole = checked.document.whole
    if whole is None or not checked.settings.show_measured:
        return []
    at: defaultdict[int, dict[Observed, Observed]] = defaultdict(dict)
    for finding in checked.findings:
        for one in finding.seen:  # of several findings, one has the time
            same = one._replace(microseconds=0.0)
            at[one.line][same] = max(one, at[one.line].get(same, one))
    lines = Lines(whole.text, encoding)
    ends = [(lines.end(line), list(seen.values())) for line, seen in sorted(at.items())]
    return [_hint(end, seen) for end, seen in ends if range_.start.line <= end.line <= range_.end.line]


def _hint(end: types.Position, seen: list[Observed]) -> types.InlayHint:
    label = "; ".join(map(_label, seen))
    tooltip = "\n".join(f"{words(one)}, says {one.source}" for one in seen)
    return types.InlayHint(end, label, tooltip=tooltip, padding_left=True)


def _label(one: Observed) -> str:
    """Short, as VS Code cuts hints off after 43 characters; what happened is in the finding."""
    basis = "modeled" if one.modeled else "measured"
    step = "in evaluation" if one.evaluates else "a step"
    return f"{number(one.times / one.steps)} {step}, {duration(one.microseconds / one.steps)} ({basis})"

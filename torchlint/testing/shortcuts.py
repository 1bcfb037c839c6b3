"""Lints a text with and without shortcuts, and names the shortcut that changes the result."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.config.config import Config
from torchlint.run import session
from torchlint.run.linting.file import Analysis
from torchlint.run.plan import Plan
from torchlint.testing import shapes
from torchlint.testing.fixtures import FixtureFile

_PREFILTER = "a prefilter leaves out too much (`needs`, or the declaration of a visitor)"
_LIGHT_TREE = "light trees show too little (`layout = False`, or the declaration of a visitor)"


def changes_in(file: FixtureFile) -> list[str]:
    """What shortcuts change, if all rules run over a file, and over each flagged function or class of it alone.

    Only the imports of the file are added to these, so that nothing beside them lets them pass the prefilters.
    """
    plan = session.plan(Config(select=("ALL",), preview=True, root=str(file.fixtures.root)))
    text = file.text
    parts = {"the whole file": text, **{f"{name} alone": part for name, part in shapes.flagged_definitions(text)}}
    return [change for name, part in parts.items() for change in changes(plan, part, file.label, name)]


def changes(plan: Plan, text: str, path: str, name: str) -> Iterator[str]:
    """What shortcuts change in the result for a text, which is called this."""
    data = text.encode()
    ordinary, exhaustive = plan.analyze(data, path), plan._replace(exhaustive=True).analyze(data, path)
    if found := _differences(ordinary, exhaustive):
        guilty = _PREFILTER if _differences(ordinary, _unscreened(plan, data, path)) else _LIGHT_TREE
        yield f"{path}: {name}: {guilty}"
        yield from found


def _unscreened(plan: Plan, data: bytes, path: str) -> Analysis:
    """The result for a light tree if no prefilter leaves out anything."""
    everything = plan._replace(exhaustive=True).screen(data, path)
    return plan.analyze(data, path, known=everything._replace(unnormalized=plan.screen(data, path).unnormalized))


def _differences(ordinary: Analysis, other: Analysis) -> list[str]:
    pairs = [*zip(ordinary.result._fields, ordinary.result, other.result, strict=True)]
    pairs.append(("facts for other files", ordinary.facts, other.facts))
    return [f"    {part}: {one}\n    and without: {two}" for part, one, two in pairs if one != two]

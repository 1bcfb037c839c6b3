"""What a run recognized of a program: the loops that repeat steps, and what they import that was not linted."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH113, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from torchlint.model import Finding, Heat, Loop, Severity, Understood, Unresolved

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.run.engine import Analysis

# What a finding of a topic counts as: a wait (0) or a copy (1).
_KINDS = {"synchronization": 0, "transfers": 1, "copies": 1}
Position = Callable[[str, int], tuple[int | None, int]]


def understood(analyses: Mapping[str, Analysis], project: Project, position: Position) -> Understood:
    """What was recognized in the files of a run. ``position`` gives the cell and line of a line of a module."""
    facts = {path: analyses[path].facts for path in sorted(analyses)}
    lines = {(path, first): last for path, known in facts.items() for first, last, _ in known.get("loops", ())}
    counts = _counts((one for each in analyses.values() for one in each.result.findings), lines)
    loops = tuple(
        Loop(path, line, kind, cell, *counts[path, first])
        for path, known in facts.items()
        for first, _, kind in known.get("loops", ())
        for cell, line in [position(path, first)]
    )
    unresolved = tuple(
        Unresolved(path, name)
        for path in dict.fromkeys(loop.path for loop in loops)
        for name in sorted(project.unresolved(path))
        if _is_own(path, name, project)
    )
    return Understood(loops, unresolved, any(known.get("on_accelerator") for known in facts.values()))


def _counts(
    findings: Iterable[Finding], lines: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """How many of the findings in the steps of each loop are about waits and about copies, and how many warn.

    ``lines`` gives the last line of each loop, by its path and first line. A finding belongs to the loop around it, or
    else to the one around the loop whose steps get to it.
    """
    found = {loop: [0, 0, 0] for loop in lines}
    for one in findings:
        if one.topic in _KINDS and one.heat is not None and one.heat.rank >= Heat.STEP.rank:
            loop = _around((one.path, one.span.line), lines) or (_around(one.step, lines) if one.step else None)
            if loop is not None:
                found[loop][_KINDS[one.topic]] += 1
                found[loop][2] += one.severity is not Severity.INFO
    return {loop: (waits, copies, warned) for loop, (waits, copies, warned) in found.items()}


def _around(place: tuple[str, int], lines: Mapping[tuple[str, int], int]) -> tuple[str, int] | None:
    """The innermost loop around a line of a file."""
    own = [loop for loop, last in lines.items() if loop[0] == place[0] and loop[1] <= place[1] <= last]
    return max(own, default=None)


def _is_own(path: str, name: str, project: Project) -> bool:
    """Whether an import that is no file of the run is part of the project, and not of another package.

    That is so for relative imports of modules, for modules in packages of the run, and for files beside the importing
    one.
    """
    if name.startswith("."):
        return bool(name.rpartition(".")[0].strip("."))
    package, _, rest = name.partition(".")
    if rest and project.module(path, package) is not None:
        return True
    return os.path.isfile(os.path.join(os.path.dirname(path), f"{package}.py"))

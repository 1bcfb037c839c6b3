"""What a run recognized of a program: the loops that repeat steps, and what they import that was not linted."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH113, PTH118, PTH120
from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.model import Finding, Heat, Loop, Severity, Understood, Unfinished, Unresolved

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.run.linting.file import Analysis

# What a finding of a topic counts as: a wait (0) or a copy (1).
_KINDS = {"synchronization": 0, "transfers": 1, "copies": 1}
Position = Callable[[str, int], tuple[int | None, int]]


def understood(analyses: Mapping[str, Analysis], project: Project, position: Position) -> Understood:
    """What was recognized in the files of a run. ``position`` gives the cell and line of a line of a module."""
    facts = {path: analyses[path].facts for path in sorted(analyses)}
    found = [(path, *each) for path, known in facts.items() for each in known.get("loops", ())]
    own = {path for path, *_ in found}
    found += [(path, line, line, kind) for path, line, kind in _followed(facts, project) if path not in own]
    lines: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for path, first, last, _ in found:
        lines[_slashed(path)].append((first, last))
    counts = _counts((one for each in analyses.values() for one in each.result.findings), lines)
    loops = tuple(
        Loop(path, line, kind, cell, *counts.get((_slashed(path), first), (0, 0, 0)))
        for path, first, _, kind in sorted(found)
        for cell, line in [position(path, first)]
    )
    unresolved = tuple(
        Unresolved(path, name)
        for path in dict.fromkeys(loop.path for loop in loops if loop.path in facts)
        for name in sorted(project.unresolved(path))
        if _is_own(path, name, project)
    )
    on_accelerator = any(known.get("on_accelerator") for known in facts.values())
    unfinished = tuple(Unfinished(path, *left) for path, left in project.unfollowed())
    return Understood(loops, unresolved, on_accelerator, unfinished)


def _followed(paths: Iterable[str], project: Project) -> set[tuple[str, int, str]]:
    """The loops, and the calls of frameworks, that make the steps in which files are known to run.

    Only these are named in findings, and a file that calls a framework has no loop of its own.
    """
    known = [project.followed(path.replace("\\", "/")) for path in paths]
    ways = {(step.way[0], step.phase) for each in known for step in each.steps if step.way}
    ways |= {(event.way[0], event.phase) for each in known for event in each.events if event.way}
    kinds = {"training": "training", "inference": "evaluation"}
    return {(path, line, kinds[phase]) for (path, line, name), phase in ways if name == "step" and phase in kinds}


def _counts(
    findings: Iterable[Finding], lines: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """How many of the findings in the steps of each loop are about waits and about copies, and how many warn.

    ``lines`` gives the first and last lines of the loops of each file. A finding belongs to the loop around it, or else
    to the one around the loop whose steps get to it. Loops are named by path, with forward slashes, and first line.
    """
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    for one in findings:
        if one.topic not in _KINDS or one.heat is None or one.heat.rank < Heat.STEP.rank:
            continue
        loop = _around((_slashed(one.path), one.span.line), lines) or _around(one.step, lines)
        if loop is not None:
            counts = [*found.get(loop, (0, 0, 0))]
            counts[_KINDS[one.topic]] += 1
            found[loop] = counts[0], counts[1], counts[2] + (one.severity is not Severity.INFO)
    return found


def _around(place: tuple[str, int] | None, loops: Mapping[str, Sequence[tuple[int, int]]]) -> tuple[str, int] | None:
    """The innermost loop around a line of a file."""
    if place is None:
        return None
    own = [(place[0], first) for first, last in loops.get(place[0], ()) if first <= place[1] <= last]
    return max(own, default=None)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


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

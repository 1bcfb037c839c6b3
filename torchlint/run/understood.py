"""What a run recognized of a program: the loops that repeat steps, and what they import that was not linted."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH113, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from torchlint.model import Loop, Understood, Unfinished, Unresolved

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.run.engine import Analysis

Position = Callable[[str, int], tuple[int | None, int]]


def understood(analyses: Mapping[str, Analysis], project: Project, position: Position) -> Understood:
    """What was recognized in the files of a run. ``position`` gives the cell and line of a line of a module."""
    facts = {path: analyses[path].facts for path in sorted(analyses)}
    found = [(path, line, kind) for path, known in facts.items() for line, kind in known.get("loops", ())]
    own = {path for path, *_ in found}
    found += [step for step in _followed(facts, project) if step[0] not in own]
    loops = tuple(
        Loop(path, line, kind, cell)
        for path, module_line, kind in sorted(found)
        for cell, line in [position(path, module_line)]
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

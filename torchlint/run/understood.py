"""What a run recognized of a program: the loops that repeat steps, and what they import that was not linted."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH113, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from torchlint.model import Loop, Understood, Unfinished, Unresolved

if TYPE_CHECKING:
    from torchlint.project.merged import Project
    from torchlint.run.engine import Analysis

Position = Callable[[str, int], tuple[int | None, int]]


def understood(analyses: Mapping[str, Analysis], project: Project, position: Position) -> Understood:
    """What was recognized in the files of a run. ``position`` gives the cell and line of a line of a module."""
    facts = {path: analyses[path].facts for path in sorted(analyses)}
    loops = tuple(
        Loop(path, line, kind, cell)
        for path, known in facts.items()
        for module_line, kind in known.get("loops", ())
        for cell, line in [position(path, module_line)]
    )
    unresolved = tuple(
        Unresolved(path, name)
        for path in dict.fromkeys(loop.path for loop in loops)
        for name in sorted(project.unresolved(path))
        if _is_own(path, name, project)
    )
    on_accelerator = any(known.get("on_accelerator") for known in facts.values())
    unfinished = tuple(Unfinished(path, *left) for path, left in project.unfollowed())
    return Understood(loops, unresolved, on_accelerator, unfinished)


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

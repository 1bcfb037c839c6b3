"""Helpers for tests of the analysis: parse a text, and find a node by its source."""

from __future__ import annotations

import textwrap

import libcst as cst

from torchlint.analysis.module import SourceModule
from torchlint.analysis.syntax.walk import descendants
from torchlint.program.world import USUAL
from torchlint.project.merged import Project
from torchlint.project.view import ProjectView
from torchlint.run.following import follow_programs


def parse(text: str) -> SourceModule:
    """Parse an indented text, and follow it as the only file of a project."""
    text = textwrap.dedent(text)
    followed = follow_programs([{"example.py": text.encode()}], lambda _: USUAL)
    view = ProjectView(Project(followed=followed), "example.py")
    return SourceModule.parse(text, "example.py", project=view, layout=False)


def find(module: SourceModule, code: str, occurrence: int = 0) -> cst.CSTNode:
    """The expression whose source is ``code``; ``occurrence`` selects among several."""
    found = [
        node for node in descendants(module.tree) if isinstance(node, cst.BaseExpression) and module.code(node) == code
    ]
    found.sort(key=lambda node: (module.span(node).line, module.span(node).column))
    assert found, f"{code!r} is not in the module"
    return found[occurrence]

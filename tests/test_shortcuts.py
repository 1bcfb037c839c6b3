"""No shortcut changes a result: neither light trees in place of LibCST's, nor lazy parsing, nor prefilters.

The nodes of both trees are compared for the marked files, for torchlint itself and for code of many shapes. For the
marked files and each flagged function in them, so is what is found with and without shortcuts, and what other files
are told.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import harness, representatives
from tests.trees import different_nodes
from torchlint.testing.shapes import flagged_definitions
from torchlint.testing.shortcuts import changes_in

MARKED = {file.path: file for file in harness.HERE.files}
SHAPES = sorted(harness.SHAPES.rglob("*.py"))
MODULES = sorted((harness.ROOT / "torchlint").rglob("*.py"))
FILES = [*MARKED, *SHAPES, *MODULES]
# A file of each rule, all shapes, and every tenth module of torchlint.
CHOSEN = {*representatives.shortest_files(), *SHAPES, *MODULES[::10]}


@pytest.mark.parametrize(
    "path", representatives.parameters(FILES, CHOSEN), ids=[str(path.relative_to(harness.ROOT)) for path in FILES]
)
def test_no_shortcut_changes_a_result(path: Path) -> None:
    file = MARKED.get(path)
    text = file.text if file else path.read_text(encoding="utf-8")
    reasons = [
        f"the light tree has other nodes than LibCST's (LibCST's first): {place}" for place in different_nodes(text)
    ]
    if file:
        reasons += changes_in(file)
    assert not reasons, "\n".join(reasons)


def test_flagged_functions_are_compared_alone() -> None:
    assert sum(1 for file in list(MARKED.values())[::10] for _ in flagged_definitions(file.text)) > 50

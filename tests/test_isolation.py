"""Each flagged function or class of a fixture alone: an ordinary run and an exhaustive run find the same.

Only the imports of its file are added, so nothing else lets it pass the prefilters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import harness
from torchlint.config.config import Config
from torchlint.run import session

ORDINARY = session.plan(Config(select=("ALL",)))
EXHAUSTIVE = ORDINARY._replace(exhaustive=True)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def units(path: Path) -> Iterator[tuple[str, str]]:
    """The flagged definitions of a file by name, each as a text of its own."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    tree = ast.parse(text)
    imported = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = [line for node in imported for line in _lines(node, lines)]
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and any("# flag" in line for line in _lines(node, lines)):
            own = [line.partition("  # flag")[0] for line in _lines(node, lines)]
            yield node.name, "\n".join([*imports, "", "", *own, ""])


def _lines(node: ast.stmt, lines: list[str]) -> list[str]:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return lines[first - 1 : node.end_lineno]


def parsable(path: Path) -> bool:
    """Some fixtures need a newer Python than the one that runs."""
    try:
        ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:
        return False
    return True


FILES = [path for path in harness.files() if parsable(path) and any(units(path))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(harness.FIXTURES)))
def test_what_is_found_does_not_depend_on_what_stands_beside_it(path: Path) -> None:
    for name, text in units(path):
        one, other = (run.analyse(text.encode(), path.name).result.findings for run in (ORDINARY, EXHAUSTIVE))
        assert one == other, name


def test_there_is_something_to_compare() -> None:
    assert sum(1 for path in FILES for _ in units(path)) > 500

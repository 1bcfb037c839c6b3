"""Each flagged function or class of a fixture alone: an ordinary run and an exhaustive run find the same.

Only the imports of its file are added, so nothing else lets it pass the prefilters.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import harness
from torchlint.config.config import Config
from torchlint.run import session
from torchlint.testing.shapes import flagged_definitions

ORDINARY = session.plan(Config(select=("ALL",), preview=True))
EXHAUSTIVE = ORDINARY._replace(exhaustive=True)


def parsable(path: Path) -> bool:
    """Some fixtures need a newer Python than the one that runs."""
    try:
        ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:
        return False
    return True


FILES = [path for path in harness.files() if parsable(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(harness.FIXTURES)))
def test_what_is_found_does_not_depend_on_what_stands_beside_it(path: Path) -> None:
    for name, text in flagged_definitions(path.read_text(encoding="utf-8")):
        one, other = (run.analyse(text.encode(), path.name).result.findings for run in (ORDINARY, EXHAUSTIVE))
        assert one == other, name


def test_there_is_something_to_compare() -> None:
    assert sum(1 for path in FILES for _ in flagged_definitions(path.read_text(encoding="utf-8"))) > 500

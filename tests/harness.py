"""The fixtures of this repository, which ``torchlint.testing`` reads and compares, and code with marks elsewhere."""

from __future__ import annotations

from pathlib import Path

from torchlint.testing.fixtures import Fixtures, fixtures_in

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
SHAPES = ROOT / "tests" / "shapes"
HERE = fixtures_in(FIXTURES)
# The shapes without the name of the folder above them, which would make them code of tests.
SHAPED = Fixtures(FIXTURES)
SHAPED.root = SHAPES.parent


def files() -> list[Path]:
    """All marked files."""
    return [file.path for file in HERE.files]

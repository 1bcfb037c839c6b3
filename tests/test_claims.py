"""What the rules claim, executed: both forms of each ``fixtures/<rule>/run.py`` compute the same."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

CLAIMS = sorted((Path(__file__).parents[1] / "fixtures").glob("*/run.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.parent.name)
def test_the_slow_and_the_fast_form_compute_the_same(path: Path) -> None:
    forms = runpy.run_path(str(path))
    slow, fast = forms["slow"]("cpu"), forms["fast"]("cpu")
    assert slow.dtype == fast.dtype
    assert torch.equal(slow, fast) or torch.allclose(slow, fast, rtol=1e-5)

"""Dynamo is imported for the first time while functions and properties of torch are replaced."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests import first_imports, warm

RESULTS = {"trained": 0.0, "compiled": 3.0, "mapped": 4.0, "differentiated": 2.0, "checkpointed": 3.0, "imported": 0.0}


@cache
def results() -> list[Any]:
    """Of all ways and places; in a process that has imported torch, but not Dynamo."""
    command = [sys.executable, "-m", "tests.first_imports"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=warm.HANGS, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.parametrize("place, way", first_imports.PLACES)
def test_dynamo_may_be_imported_first_in_any_way_under_observation(place: str, way: str) -> None:
    found = results()[first_imports.PLACES.index((place, way))]
    assert found == [RESULTS[way], [True, True, True]]

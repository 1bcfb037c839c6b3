"""Helpers for tests of observation on a GPU, without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parent)


def order(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """An order for observing code of the tests."""
    return {"torchlint": "test", "run": "test", "directory": str(tmp_path), "roots": [HERE], **more}

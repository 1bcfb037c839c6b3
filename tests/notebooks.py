"""Notebooks for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def code(source: str, **more: Any) -> dict[str, Any]:
    """A code cell as Jupyter writes it."""
    lines = source.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines, **more}


def markdown(source: str) -> dict[str, Any]:
    """A cell with text."""
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def notebook(*cells: dict[str, Any] | str, metadata: dict[str, Any] = PYTHON, **more: Any) -> str:
    """The text of a notebook as Jupyter writes it; a string is the source of a code cell."""
    every = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    whole = {"cells": every, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def sources(text: str | bytes) -> Sequence[str]:
    """The sources of all cells."""
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]

"""The text that is linted for a file, and where findings are in it: for a notebook, the module of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from torchlint.base.inputs import read
from torchlint.base.limits import MAX_BYTES
from torchlint.model import Finding
from torchlint.notebook.document import MAX_BYTES as MAX_NOTEBOOK

if TYPE_CHECKING:
    from torchlint.text.cells import Cells

MOST = max(MAX_BYTES, MAX_NOTEBOOK)


def data(path: str, contents: Mapping[str, bytes]) -> bytes:
    """The content of a file, or what is linted in its place; nothing if it cannot be read."""
    if path in contents:
        return contents[path]
    try:
        return read(path, MOST)
    except OSError:
        return b""


def module(data: bytes) -> bytes:
    """The module of a notebook; empty if it cannot be read."""
    from torchlint.notebook.book import Book, NotebookProblem

    try:
        return Book.read(data).module
    except NotebookProblem:
        return b""


def cells(data: bytes) -> Mapping[int, str]:
    """The sources of the Python cells of a notebook."""
    from torchlint.notebook.book import Book, NotebookProblem

    try:
        return Book.read(data).sources
    except NotebookProblem:
        return {}


def lines_of(finding: Finding, code: bytes) -> tuple[int, int]:
    """The first and the last line of a finding in the linted text."""
    span = finding.span
    if finding.cell is None:
        return span.line, span.end_line
    cells = _cells_of(code)
    if cells is None:
        return 0, 0
    return cells.line(finding.cell, span.line), cells.line(finding.cell, span.end_line)


@lru_cache(maxsize=1)  # findings are in the order of their files
def _cells_of(code: bytes) -> Cells | None:
    from torchlint.text.cells import Cells

    return Cells.of(code.decode())

"""Reads the document of a notebook: the number, language and source of its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

# Larger notebooks are not read.
MAX_BYTES = 200_000_000
_CONVERT = "convert it with `jupyter nbconvert --to notebook --nbformat 4 --inplace`"
_PYTHON = ("python", "ipython")
# A notebook without any of these words has nothing to find, and need not be read.
_WORDS = (b"torch", b"ightning", b"Trainer", b"accelerate")
# How the text begins that Git LFS puts in place of a file.
_POINTER = b"version https://git-lfs.github.com/spec/"


class NotebookProblem(Exception):
    """Why a file is not a notebook that can be read; ``line`` is the line of the file, if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


class Cell(NamedTuple):
    """A cell by its number among all cells of the notebook, from 1."""

    number: int
    source: str
    is_python: bool = True


class Document(NamedTuple):
    """The cells of a notebook, and its language if that is not Python."""

    cells: tuple[Cell, ...]
    language: str | None = None


def may_matter(data: bytes) -> bool:
    """Whether a notebook may contain anything that a rule finds, or cannot be read; if not, it need not be read."""
    unread = _is_wide(data) or data.startswith(_POINTER) or not data[:1000].strip()
    return unread or any(word in data for word in _WORDS)


def _is_wide(data: bytes) -> bool:
    """Whether the encoding is UTF-16 or UTF-32."""
    return data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]


def parsed(data: bytes) -> Any:
    """The document as plain data, without outputs. Raises :class:`NotebookProblem`."""
    if len(data) > MAX_BYTES:
        advice = "clear its outputs with `jupyter nbconvert --clear-output --inplace`, or exclude it"
        raise NotebookProblem(f"is too large: notebooks are read up to {MAX_BYTES // 1_000_000} MB; {advice}")
    if data.startswith(_POINTER):
        raise NotebookProblem("is a pointer of Git LFS to the notebook; run `git lfs pull`, or exclude it")
    text = decoded(data)
    try:
        return _loaded(text)
    except json.JSONDecodeError as error:
        if text.startswith(("<<<<<<<", "=======", ">>>>>>>"), text.rfind("\n", 0, error.pos) + 1):
            raise NotebookProblem("a merge conflict is not resolved here: choose a side", error.lineno) from None
        if not text.strip():
            raise NotebookProblem("is empty; delete or exclude it") from None
        raise NotebookProblem(f"is not valid JSON: {error.msg}; correct or exclude it", error.lineno) from None
    except RecursionError:
        raise NotebookProblem("is nested too deeply to be read; exclude it") from None


def decoded(data: bytes) -> str:
    """The text of a notebook, without a byte order mark. Raises :class:`NotebookProblem`."""
    if _is_wide(data):
        raise NotebookProblem("is not UTF-8, the only encoding of notebooks; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} is not valid in UTF-8, the only encoding of notebooks"
        raise NotebookProblem(f"{wrong}; save it as UTF-8", line) from None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_hook=_without_outputs)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with thousands of digits, which Python does not convert
        return json.loads(text, object_hook=_without_outputs, parse_int=len)


def _without_outputs(value: dict[str, Any]) -> dict[str, Any] | None:
    return None if "output_type" in value else value


def document(data: bytes) -> Document:
    """The cells of a notebook. Raises :class:`NotebookProblem`."""
    found = parsed(data)
    if not isinstance(found, dict) or not ("cells" in found or "worksheets" in found or "nbformat" in found):
        raise NotebookProblem("is not a notebook: it has no `cells`; correct or exclude it")
    version = found.get("nbformat")
    if "cells" not in found:
        shown = f" (version {version})" if isinstance(version, int) and version > 0 else ""
        raise NotebookProblem(f"has the format of notebooks before version 4{shown}; {_CONVERT}")
    cells = found["cells"]
    if not isinstance(cells, list):
        raise NotebookProblem("is not a notebook: its `cells` are no list; correct or exclude it")
    language = _language(found.get("metadata"))
    read = tuple(_cell(number, cell, language) for number, cell in enumerate(cells, start=1))
    return Document(read, None if any(cell.is_python for cell in read) else language)


def _language(metadata: object) -> str | None:
    """The language of a notebook if it is not Python."""
    named = [_text(metadata, "kernelspec", "language"), _text(metadata, "language_info", "name")]
    language = next((name for name in named if name), "python")
    return None if language.lower() in _PYTHON else language


def _text(value: object, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _cell(number: int, cell: object, language: str | None) -> Cell:
    if not isinstance(cell, dict):
        raise NotebookProblem(f"is not a notebook: cell {number} is no object; correct or exclude it")
    kind = cell.get("cell_type")
    if not isinstance(kind, str):
        what = "is not a text" if "cell_type" in cell else "is missing"
        raise NotebookProblem(f"the `cell_type` of cell {number} {what}; correct or exclude it")
    if kind != "code":
        return Cell(number, "", is_python=False)
    own = _text(cell, "metadata", "vscode", "languageId") or language or "python"
    source = _joined(cell.get("source", ""))
    if source is None:
        raise NotebookProblem(
            f"the `source` of cell {number} is neither a text nor a list of texts; correct or exclude it"
        )
    return Cell(number, source, is_python=own.lower() in _PYTHON)


def _joined(source: object) -> str | None:
    if isinstance(source, list) and all(isinstance(part, str) for part in source):
        return "".join(source)
    return source if isinstance(source, str) else None


def of_cells(cells: Iterable[tuple[int, str, str]]) -> tuple[Cell, ...]:
    """Cells from their numbers, kinds (``code`` or ``markdown``) and sources."""
    return tuple(Cell(number, source, kind == "code") for number, kind, source in cells)

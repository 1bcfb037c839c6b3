"""Which files are Python source or notebooks: those found in folders, and those given explicitly."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH119, PTH122
from __future__ import annotations

import os
import re

from torchlint.base import inputs, limits

# : Suffixes of files that are found in folders.
SEARCHED = (".py", ".pyw", ".ipynb")
# Further suffixes of files that are given explicitly: stubs, and what pre-commit recognizes as Python.
_SUFFIXES = frozenset((*SEARCHED, ".pyi", ".pyt", ".tac", ".wsgi", ".gyp", ".gypi"))
_NAMES = frozenset(("wscript", "SConstruct", "SConscript", ".pdbrc"))
_NOTEBOOK = ".ipynb"
_INTERPRETER = re.compile(rb"#![^\r\n]*(?:python|pypy|\buv\s+run\b)")
_DOCUMENT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:cells|metadata|nbformat|nbformat_minor)"\s*:')
_LINE = 200  # bytes read of the first line


def problem(path: str, name: str) -> str | None:
    """Why a file that was given explicitly is not linted; None for files that are, or cannot be read."""
    end = os.path.splitext(name)[1].lower()
    if end in _SUFFIXES or os.path.basename(name) in _NAMES:
        return None
    try:
        first = inputs.read(path, _LINE)
    except OSError:
        return None
    if _INTERPRETER.match(first):
        return None
    import shlex

    return (
        "is not checked: its name does not end with .py, .pyw or .pyi, and it does not begin with a line such as "
        f"`#!/usr/bin/env python3`; if it is Python, pipe it: torchlint - < {shlex.quote(name)}"
    )


def is_notebook(path: str, start: bytes = b"") -> bool:
    """Whether a file is a notebook: by its name, or by how its content begins if it has none, as standard input."""
    if path.lower().endswith(_NOTEBOOK):
        return True
    return path.startswith("<") and _DOCUMENT.match(start) is not None


def content(path: str) -> bytes:
    """The Python code of a file; of a notebook, that of its cells. Raises ``OSError``.

    A notebook that cannot be read has no code; see :func:`torchlint.run.notebooks.opened`.
    """
    if not is_notebook(path):
        return limits.content(path)
    from torchlint.run import notebooks

    try:
        return notebooks.opened(path).module
    except notebooks.NotebookProblem:
        return b""

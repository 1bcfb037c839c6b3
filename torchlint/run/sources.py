"""Which files are Python source: those found in folders, and those given explicitly."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH119, PTH122
from __future__ import annotations

import os
import re

from torchlint.base import inputs

# : Suffixes of files that are found in folders.
SEARCHED = (".py", ".pyw")
# Further suffixes of files that are given explicitly: stubs, and what pre-commit recognizes as Python.
_SUFFIXES = frozenset((*SEARCHED, ".pyi", ".pyt", ".tac", ".wsgi", ".gyp", ".gypi"))
_NAMES = frozenset(("wscript", "SConstruct", "SConscript", ".pdbrc"))
_NOTEBOOK = ".ipynb"
_NOT_READ = "is not checked: torchlint does not read notebooks; convert it with `jupyter nbconvert --to script`"
_INTERPRETER = re.compile(rb"#![^\r\n]*(?:python|pypy|\buv\s+run\b)")
_LINE = 200  # bytes read of the first line


def problem(path: str, name: str) -> str | None:
    """Why a file that was given explicitly is not linted; None for Python files, and for files that cannot be read."""
    end = os.path.splitext(name)[1].lower()
    if end in _SUFFIXES or os.path.basename(name) in _NAMES:
        return None
    if end == _NOTEBOOK:
        return _NOT_READ
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


def piped_problem(data: bytes, name: str) -> str | None:
    """Why standard input is not linted: it is a notebook, whatever its name is."""
    if name.lower().endswith(_NOTEBOOK) or (data.lstrip()[:1] == b"{" and b'"nbformat"' in data):
        return _NOT_READ
    return None

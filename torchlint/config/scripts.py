"""The functions that a project installs as commands, from its declared scripts.

The project's folder is the nearest one with such a file, or with a repository in it.
"""

# os.path, as in torchlint.config.config, and because pathlib costs start-up.
# ruff: noqa: PTH118, PTH208
from __future__ import annotations

import os
import re

from torchlint.base.inputs import CONFIGURATION, read

_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
# `[project.scripts]` and Poetry's table in pyproject.toml, `console_scripts` in the files of setuptools.
_SECTION = re.compile(r"^\[(?:project|tool\.poetry)\.(?:gui-)?scripts\]|\b(?:console|gui)_scripts\b", re.MULTILINE)
_END = re.compile(r"^\[|\]", re.MULTILINE)
_NAMED = re.compile(r"=\s{0,9}[\"']?([A-Za-z_][\w.]{0,200}:[A-Za-z_]\w{0,100})")


def scripts_in(directory: str) -> tuple[str, ...] | None:
    """``module:function`` of each script that a folder declares; None if parent folders are to be searched."""
    try:
        names = set(os.listdir(directory))
    except OSError:
        return None
    if not names.intersection((*_FILES, ".git")):
        return None
    texts = [_text(os.path.join(directory, name)) for name in _FILES if name in names]
    return tuple(sorted({script for text in texts for script in _declared(text)}))


def _text(path: str) -> str:
    try:
        return read(path, CONFIGURATION).decode("utf-8", "replace")
    except OSError:
        return ""


def _declared(text: str) -> list[str]:
    found: list[str] = []
    for start in _SECTION.finditer(text):
        end = _END.search(text, start.end())
        found += _NAMED.findall(text, start.end(), end.start() if end is not None else len(text))
    return found

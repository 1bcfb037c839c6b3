"""The oldest version of torch that a project supports, from its declared requirements.

The project's folder is the nearest one with such a file, or with a repository in it.
"""

# os.path, as in torchlint.config.config, and because pathlib costs start-up.
# ruff: noqa: PTH118, PTH208
from __future__ import annotations

import os
import re

from torchlint.base.inputs import CONFIGURATION, read

NOTHING_FURTHER = ""  # no version, and parent folders are not searched
_FILES = ("pyproject.toml", "setup.cfg", "requirements.txt", "setup.py")
_EXTRA = re.compile(r"requirements[\w.-]*\.txt\Z")
# `torch>=2.1,<3` in a requirements file, quoted in a list, or `torch = "^2.1"` for Poetry.
_DECLARED = re.compile(
    r"""^[^#\n]*?(?<![\w.-])torch(?:\[[^\]]{0,80}\])?\s{0,9}(?:=\s{0,9}(?:\{[^}\n]{0,200}?version\s{0,9}=\s{0,9})?["'])?"""
    r"""\s{0,9}\(?((?:>=|==|~=|\^)\s{0,9}\d{1,9}(?:\.\d{1,9}){0,9})""",
    re.MULTILINE,
)


def declared_in(directory: str) -> str | None:
    """The lowest version declared in a folder; None if parent folders are to be searched."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return None
    paths = [os.path.join(directory, name) for name in names if name in _FILES or _EXTRA.match(name)]
    found = [version for path in paths for version in _versions(path)]
    if found:
        return ".".join(str(part) for part in min(found))
    return NOTHING_FURTHER if ".git" in names else None


def _versions(path: str) -> list[tuple[int, int]]:
    """The versions that a file declares; empty if it cannot be read."""
    try:
        text = read(path, CONFIGURATION).decode("utf-8", "replace")
    except OSError:
        return []
    found = []
    for match in _DECLARED.finditer(text):
        numbers = [int(part) for part in re.findall(r"\d{1,6}", match[1])]
        found.append((numbers[0], numbers[1] if len(numbers) > 1 else 0))
    return found

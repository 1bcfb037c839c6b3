"""Keys of other linters' configurations, and what has the same purpose here."""

from __future__ import annotations

from collections.abc import Mapping

#: The key of torchlint's configuration with the same purpose.
KEYS: Mapping[str, str] = {
    "disable": "ignore",
    "disable-error-code": "ignore",
    "enable": "extend-select",
    "exclude-dirs": "exclude",
    "exclude-paths": "exclude",
    "excludes": "exclude",
    "extend-exclude": "exclude",
    "extend-ignore": "ignore",
    "extend-per-file-ignores": "per-file-ignores",
    "extends": "extend",
    "ignore-paths": "exclude",
    "ignore-patterns": "exclude",
    "omit": "exclude",
    "skip": "exclude",
    "skips": "ignore",
}
#: Options of the command line with the same name, or with the same purpose.
OPTIONS: Mapping[str, str] = {
    "cache-dir": "--cache-dir",
    "color": "--color",
    "exit-zero": "--exit-zero",
    "fix": "--fix",
    "format": "--output-format",
    "jobs": "--jobs",
    "output-file": "--output-file",
    "output-format": "--output-format",
    "quiet": "--quiet",
    "show-files": "--show-files",
    "show-settings": "--show-settings",
    "statistics": "--statistics",
    "unsafe-fixes": "--unsafe-fixes",
    "verbose": "--verbose",
}
_LAYOUT = "torchlint does not look at the layout of code; remove it"
_PATHS = "name the files and folders to lint on the command line, and use 'exclude' for those to leave out"
_PYTHON = "torchlint reads the syntax of every version of Python; remove it, or use 'target-torch' for that of PyTorch"
#: What to do where nothing has the same purpose.
_REASONS: Mapping[str, str] = {
    "files": _PATHS,
    "include": _PATHS,
    "indent-width": _LAYOUT,
    "line-length": _LAYOUT,
    "lint": "write its keys directly into the table of torchlint",
    "max-line-length": _LAYOUT,
    "python-version": _PYTHON,
    "src": _PATHS,
    "target-version": _PYTHON,
}


def advice(key: str) -> str | None:
    """What to write instead of a key of another tool; None for any other key."""
    name = key.casefold().replace("_", "-")
    if name in KEYS:
        return f"use {KEYS[name]!r}"
    if name in OPTIONS:
        return f"give {OPTIONS[name]} on the command line"
    return _REASONS.get(name)

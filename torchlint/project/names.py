"""Names of the files of a run that do not depend on where it was started."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH100, PTH117, PTH120
from __future__ import annotations

import os
from collections.abc import Collection, Mapping


def names(paths: Collection[str]) -> Mapping[str, str]:
    """The name of each file, by its path: with forward slashes, and below the folder that all files share.

    That folder is no package. If no path is absolute or leads out of the current folder, the names are the paths.
    """
    slashed = {path: path.replace("\\", "/") for path in paths}
    if not any(path.startswith("../") or os.path.isabs(path) for path in slashed.values()):
        return slashed
    full = {path: os.path.abspath(path).replace("\\", "/") for path in paths}
    try:
        shared = os.path.commonpath([os.path.dirname(path) for path in full.values()]).replace("\\", "/")
    except ValueError:  # on several drives
        return full
    files = set(full.values())
    while f"{shared}/__init__.py" in files:
        shared = os.path.dirname(shared)
    return {path: name.removeprefix(shared).lstrip("/") for path, name in full.items()}

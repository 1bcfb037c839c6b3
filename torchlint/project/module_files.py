"""The files of a run by the names that they have as modules."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Collection
from functools import cached_property

from torchlint.knowledge.packages import LIBRARIES

_SOURCES = ("src", "python", "lib")  # where projects keep their packages, if not at their root


class ModuleFiles:
    """Finds the file of a module without knowing which folders are on the path of modules."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = paths

    def elsewhere(self, folder: str, dotted: str) -> str | None:
        """The file of a module that is in no folder above ``folder``; None if there is none, or several as near.

        Modules of Python and of known libraries are installed ones, unless the project is the library itself, which
        stands in a folder such as ``src`` then.
        """
        first, tail = dotted.partition(".")[0], dotted.replace(".", "/")
        if first in sys.stdlib_module_names:
            return None
        if first in LIBRARIES:
            tail = next((f"{source}/{tail}" for source in _SOURCES if self._nearest(folder, f"{source}/{first}")), "")
        return self._nearest(folder, tail) if tail else None

    def _nearest(self, folder: str, tail: str) -> str | None:
        """The file whose path ends with ``tail``; of several, the one that shares most folders with ``folder``."""
        ending = f"/{tail}"
        found = [path for path in self._by_name.get(posixpath.basename(tail), ()) if f"/{_stem(path)}".endswith(ending)]
        if len(found) < 2:
            return found[0] if found else None
        shared = [len(posixpath.commonprefix([f"{folder}/", path]).rpartition("/")[0]) for path in found]
        most = max(shared)
        return found[shared.index(most)] if shared.count(most) == 1 else None

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._paths:
            found.setdefault(posixpath.basename(_stem(path)), []).append(path)
        return found


def _stem(path: str) -> str:
    """The path of a module without the ending: ``models/unet`` for ``models/unet.py``, ``models`` for its package."""
    return path.removesuffix(".py").removesuffix("/__init__")

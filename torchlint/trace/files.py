"""Finds the linted file for a path of the machine on which a recording was made."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from torchlint.trace.frames import Frame
from torchlint.trace.functions import Function, Functions

Read = Callable[[str], "str | None"]


class Files:
    """Linted files by what their paths end with. ``read`` returns the text of one, or None."""

    def __init__(self, paths: Iterable[str], read: Read) -> None:
        self._read = read
        self._named: defaultdict[str, list[tuple[str, list[str]]]] = defaultdict(list)
        for path in paths:
            parts = _parts(os.path.abspath(path))  # noqa: PTH100 - resolves no links
            self._named[parts[-1]].append((path, parts))
        self._functions: dict[str, Functions] = {}
        self._found: dict[Frame, str | None] = {}

    def find(self, frame: Frame) -> str | None:
        """The file of a function: of those with the most of its path, the only one that has the function there."""
        if frame not in self._found:
            self._found[frame] = None if frame.is_installed else self._search(frame)
        return self._found[frame]

    def function(self, path: str, frame: Frame) -> Function | None:
        """The function in a file; None if the file has no function with this name at this line."""
        if path not in self._functions:
            self._functions[path] = Functions(self._read(path) or "")
        return self._functions[path].at(frame.function, frame.line)

    def _search(self, frame: Frame) -> str | None:
        asked = _parts(frame.path)
        if not asked:
            return None
        shared = {path: _shared(parts, asked) for path, parts in self._named.get(asked[-1], ())}
        # The profiler leaves out the folder from which Python imported the module: the rest must be there.
        least = 1 if _is_absolute(frame.path) else len(asked)
        possible = {path: count for path, count in shared.items() if count >= least and self.function(path, frame)}
        best = [path for path, count in possible.items() if count == max(possible.values())]
        return best[0] if len(best) == 1 else None


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\")) or path[1:2] == ":"


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths share at their ends."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count

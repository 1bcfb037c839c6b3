"""The components of a project: files that imports connect, in either direction and through others."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

from torchlint.project.definitions import Definitions

_COMPUTED = re.compile(rb"\b(?:import_module|__import__)\s*\(")


def components(contents: Mapping[str, bytes], definitions: Definitions) -> list[list[str]]:
    """The files of each component, sorted; the components in the order of their first files.

    A module is connected with its packages. A file that computes the name of a module may import any file of its
    package, or of its folder.
    """
    joined, whole = _Joined(contents), set[str]()
    for path, data in contents.items():
        for other in (*definitions.imports(path), *definitions.packages(path)):
            joined.join(path, other)
        if _COMPUTED.search(data):
            top = _top(posixpath.dirname(path), contents)
            for other in contents if top not in whole else ():
                if posixpath.dirname(other) == top or other.startswith(f"{top}/" if top else ""):
                    joined.join(path, other)
            whole.add(top)
    return joined.groups()


def _top(folder: str, paths: Collection[str]) -> str:
    """The outermost package that a folder is in; the folder itself if it is no package."""
    while f"{posixpath.dirname(folder)}/__init__.py" in paths:
        folder = posixpath.dirname(folder)
    return folder


class _Joined:
    """A union of sets: each item leads to another one of its set, and at last to one that stands for it."""

    def __init__(self, items: Collection[str]) -> None:
        self._next = {item: item for item in items}

    def _first(self, item: str) -> str:
        while self._next[item] != item:
            self._next[item] = self._next[self._next[item]]
            item = self._next[item]
        return item

    def join(self, one: str, other: str) -> None:
        self._next[self._first(one)] = self._first(other)

    def groups(self) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for item in sorted(self._next):
            found.setdefault(self._first(item), []).append(item)
        return list(found.values())

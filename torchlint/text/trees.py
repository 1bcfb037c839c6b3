"""CPython's trees of files. What follows programs and what lints files share them, so that each file is parsed once."""

from __future__ import annotations

import ast
import warnings

_KEPT = 6_000_000  # bytes of source; their trees take some forty times as much memory


class Trees:
    """The trees of the contents that were parsed last."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._most, self._size = kept, 0
        self._known: dict[tuple[bytes, int], ast.Module] = {}

    def of(self, content: bytes, copy: int = 0) -> ast.Module:
        """The tree of the content of a file, which nobody may change; each ``copy`` has nodes of its own.

        Raises ``SyntaxError``, ``ValueError``, ``RecursionError`` and ``MemoryError``, as :func:`ast.parse` does.
        """
        found = self._known.get((content, copy))
        if found is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escape sequences in the file
                found = ast.parse(content)
            self._keep((content, copy), found)
        return found

    def __contains__(self, content: bytes) -> bool:
        return (content, 0) in self._known

    def _keep(self, key: tuple[bytes, int], tree: ast.Module) -> None:
        self._known[key] = tree
        self._size += len(key[0])
        while self._size > self._most:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._size -= len(oldest[0])


TREES = Trees()

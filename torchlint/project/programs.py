"""Programs: the files of a run that are started, and what they import."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property

from torchlint.project.definitions import Definitions

_NO_PROGRAM = re.compile(r"(?:^|/)tests?/|(?:^|/)(?:setup|__init__)\.py$")


class Programs:
    """Tells which programs use a file, by imports anywhere in the files of a run."""

    def __init__(self, paths: Collection[str], definitions: Definitions) -> None:
        self._paths = paths
        self._definitions = definitions
        self._found: dict[str, tuple[str, ...]] = {}

    def using(self, path: str) -> tuple[str, ...]:
        """The programs that import a file, directly or through others: what has a main part, or is never imported.

        Tests and the initialization of packages are no programs.
        """
        if path not in self._found:
            around = sorted(one for one in self._importers(path) if self._is_started(one))
            self._found[path] = tuple(around)
        return self._found[path]

    def _is_started(self, path: str) -> bool:
        if _NO_PROGRAM.search(path) or self._definitions.is_test(path):
            return False
        return path not in self._imported_by or self._definitions.is_program(path)

    def _importers(self, path: str) -> set[str]:
        todo = [path]
        seen = set(todo)
        for current in todo:  # which grows
            found = self._imported_by.get(current, set()) - seen
            seen |= found
            todo += found
        return seen - {path}

    @cached_property
    def _imported_by(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self._paths:
            for imported in self._definitions.imports(path):
                found.setdefault(imported, set()).add(path)
        return found

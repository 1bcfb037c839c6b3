"""Modules: files of the project, parsed when something needs them."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import Any

from torchlint.project.tests import is_test
from torchlint.text.trees import TREES


class Module:
    """A file of the project, or a stub. ``names`` are its global names once it has been evaluated.

    ``library``: what people call the library that a stub stands for; empty for files of the project. ``copy`` is the
    number of modules with the same content before it: each of them has nodes of its own.
    """

    def __init__(self, path: str, name: str, content: bytes, library: str = "", copy: int = 0) -> None:
        self.path, self.name, self.content, self.library = path, name, content, library
        self._copy = copy
        self.names: dict[str, Any] = {}
        self.loaded = False
        self.missing: set[str] = set()  # modules beside it that it always imports, and that are not in the project

    @cached_property
    def tree(self) -> ast.Module:
        """The tree; empty for a file that this Python does not parse."""
        try:
            return TREES.of(self.content, self._copy)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module(body=[], type_ignores=[])

    @property
    def package(self) -> str:
        """The dotted name of the package that relative imports start from."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]

    @property
    def cannot_run(self) -> bool:
        """Whether it is part of something else that is not here: more is missing than a file that a build makes."""
        return len(self.missing) > 1

    @cached_property
    def is_test(self) -> bool:
        """Whether the file belongs to tests."""
        *folders, _ = self.path.lower().split("/")
        return not _TEST_FOLDERS.isdisjoint(folders) or is_test(self.path, self.content)

    @cached_property
    def is_program(self) -> bool:
        """Whether the file does something when it is run: it has a main guard, or statements that work."""
        *folders, file = self.path.lower().split("/")
        if file == "setup.py" or self.is_test or not _NO_PROGRAMS.isdisjoint(folders):
            return False
        return b"__main__" in self.content or _WORKS.search(self.content) is not None


def is_main_guard(statement: ast.stmt) -> bool:
    """``if __name__ == "__main__":``"""
    test = statement.test if isinstance(statement, ast.If) else None
    sides = (test.left, *test.comparators) if isinstance(test, ast.Compare) else ()
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


# A loop or a call outside of functions and classes; files are not parsed to see that.
_WORKS = re.compile(rb"^(?:for |while |with |[A-Za-z_][\w.]*\()", re.MULTILINE)
_TEST_FOLDERS = frozenset({"tests", "testing", "unit_tests", "unittests", "test_suite"})
_NO_PROGRAMS = frozenset({"docs", "doc", "benchmarks"})

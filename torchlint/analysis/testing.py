"""Test code: a line in a test may be what the test is about, and its speed matters little."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.walk import descendants
from torchlint.project.tests import is_test, uses_tests

if TYPE_CHECKING:
    from torchlint.analysis.code import Code

_FOLDER = re.compile(r"(?:.*_)?tests")


class Testing:
    """Decides which code of a module belongs to a test."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def covers(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a file of tests or of their helpers, in a test case, or in a test function."""
        return self._whole_file or self.in_function(node) or self._in_test_case(node)

    def in_function(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a function that pytest would run as a test.

        Such a function is named ``test_..``, and either asserts something or has no parameters: ``test_epoch(model,
        loader)`` in a training script is none.
        """
        around = (a for a in (node, *self._code.ancestors(node)) if isinstance(a, cst.FunctionDef))
        return any(f.name.value.startswith("test_") and (not f.params.params or _asserts(f)) for f in around)

    def _in_test_case(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a class that derives from a ``TestCase``, of unittest or of the project."""
        owners = (a for a in self._code.ancestors(node) if isinstance(a, cst.ClassDef))
        return any((dotted(base.value) or "").endswith("TestCase") for owner in owners for base in owner.bases)

    @cached_property
    def _whole_file(self) -> bool:
        """Whether pytest would collect the file, or the file supports those that it collects."""
        content = self._code.text.encode(errors="surrogatepass")
        *folders, _ = self._code.path.replace("\\", "/").split("/")
        in_folder = any(map(_FOLDER.fullmatch, folders[-1:]))
        return in_folder or is_test(self._code.path, content) or uses_tests(content)


def _asserts(function: cst.FunctionDef) -> bool:
    for node in descendants(function.body):
        if isinstance(node, cst.Assert):
            return True
        called = node.func if isinstance(node, cst.Call) else None
        last = called.attr if isinstance(called, cst.Attribute) else called
        if isinstance(last, cst.Name) and last.value.lower().startswith("assert"):
            return True
    return False

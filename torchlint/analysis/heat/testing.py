"""Test code: a line in a test may be what the test is about, so fixes of it are not safe."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.walk import descendants

if TYPE_CHECKING:
    from torchlint.analysis.code import Code

_IMPORTED = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|torch\.testing)\b", re.MULTILINE)


class Testing:
    """Decides which code of a module belongs to a test."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def covers(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a test file, or in a test function."""
        return self._whole_file or self.in_function(node)

    def in_function(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a function that pytest would run as a test.

        Such a function is named ``test_..``, and either asserts something or has no parameters: ``test_epoch(model,
        loader)`` in a training script is none.
        """
        around = (a for a in (node, *self._code.ancestors(node)) if isinstance(a, cst.FunctionDef))
        return any(f.name.value.startswith("test_") and (not f.params.params or _asserts(f)) for f in around)

    @cached_property
    def _whole_file(self) -> bool:
        name = self._code.path.replace("\\", "/").rpartition("/")[2]
        named = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
        return named or _IMPORTED.search(self._code.text) is not None


def _asserts(function: cst.FunctionDef) -> bool:
    for node in descendants(function.body):
        if isinstance(node, cst.Assert):
            return True
        called = node.func if isinstance(node, cst.Call) else None
        last = called.attr if isinstance(called, cst.Attribute) else called
        if isinstance(last, cst.Name) and last.value.lower().startswith("assert"):
            return True
    return False

"""Test code: a line in a test may be what the test is about, and its speed matters little."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.walk import descendants

if TYPE_CHECKING:
    from torchlint.analysis.code import Code

_IMPORTED = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|torch\.testing)\b", re.MULTILINE)
# What pytest or unittest would run; scripts such as `test_model.py`, which evaluate a model, have neither.
_ASSERTS = re.compile(r"^[ \t]*(?:def test\w*\([ \t]*(?:self\b|\))|class Test|assert\b)", re.MULTILINE)
_TESTS = re.compile(r"^[ \t]*(?:def test|class Test)", re.MULTILINE)
# Modules that tests share: `test_utils`, `testing_helpers`, `shampoo_test_utils`, `utils_for_tests`.
_HELPERS = re.compile(r"(?:.*_)?test(?:s|ing)?_(?:utils?|helpers?|common|cases?|base|lib)|.*_for_tests?|conftest")
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
        *folders, name = self._code.path.replace("\\", "/").split("/")
        stem = name.rpartition(".")[0]
        if stem.endswith("_test") or _HELPERS.fullmatch(stem) or any(map(_FOLDER.fullmatch, folders[-1:])):
            return True
        text = self._code.text
        runs = stem.startswith("test_") and _ASSERTS.search(text) is not None and _TESTS.search(text) is not None
        return runs or _IMPORTED.search(text) is not None


def _asserts(function: cst.FunctionDef) -> bool:
    for node in descendants(function.body):
        if isinstance(node, cst.Assert):
            return True
        called = node.func if isinstance(node, cst.Call) else None
        last = called.attr if isinstance(called, cst.Attribute) else called
        if isinstance(last, cst.Name) and last.value.lower().startswith("assert"):
            return True
    return False

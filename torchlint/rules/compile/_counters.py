"""Integers that compiled code counts up, on whose values it is specialized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.syntax.walk import wording
from torchlint.analysis.things.traced import TracedCode
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard


class Counters:
    """Finds such statements in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
        """The statements that a traced function runs in every call, and the counters of modules or the file in them."""
        code = self._module.shared(TracedCode)
        for statement, target in self._counting(function):
            always = code.always(statement, function, unless=_is_training)
            if always and self._is_integer(target) and not self._starts_again(statement, target):
                yield statement, target

    def _starts_again(self, statement: cst.CSTNode, target: cst.BaseExpression) -> bool:
        """Whether compiled code also sets the counter anew, or counts in two places, such as up and down again."""
        counted = {wording(target)} | ({wording(target.value)} if isinstance(target, cst.Subscript) else set())
        return any(
            wording(written) in counted
            for traced in self._module.shared(TracedCode).all
            if self._module.class_of(traced.function) is self._module.class_of(statement)
            for other, written in self._writes(traced.function)
            if other is not statement
        )

    def _writes(self, function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
        for assigned in self._module.within(function, cst.Assign):
            yield from ((assigned, target.target) for target in assigned.targets)
        for added in self._module.within(function, cst.AugAssign):
            yield added, added.target

    def _counting(self, function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
        """``n += 1`` and ``n = n + 1`` for an integer."""
        for added in self._module.within(function, cst.AugAssign):
            if isinstance(added.operator, (cst.AddAssign, cst.SubtractAssign)) and _is_number(added.value):
                yield added, added.target
        for assigned in self._module.within(function, cst.Assign):
            target, value = assigned.targets[0].target, assigned.value
            if len(assigned.targets) == 1 and isinstance(value, cst.BinaryOperation) and _is_number(value.right):
                counts = isinstance(value.operator, (cst.Add, cst.Subtract))
                if counts and isinstance(target, cst.Attribute) and wording(target) == wording(value.left):
                    yield assigned, target

    def _is_integer(self, target: cst.BaseExpression) -> bool:
        """Whether a target is an integer on whose value the compiler specializes."""
        if isinstance(target, cst.Name):
            return self._is_global(target)
        if isinstance(target, cst.Subscript):
            return self._is_of_module(target.value) and self._module.value(target.value).kind in (Kind.DICT, Kind.LIST)
        if not isinstance(target, cst.Attribute) or not self._is_of_module(target):
            return False
        owner = self._module.class_of(target)
        assert owner is not None
        stored = [value for value, _ in self._module.classes.assignments(owner, target.attr.value)]
        first = [value for value in stored if not isinstance(value, (cst.AugAssign, cst.BinaryOperation))]
        return bool(first) and all(map(_is_number, first))

    def _is_of_module(self, node: cst.BaseExpression) -> bool:
        """``self.name`` in a class of modules: of other objects, torch makes integers symbolic."""
        own = isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self"
        owner = self._module.class_of(node) if own else None
        return owner is not None and self._module.classes.is_module(owner)

    def _is_global(self, name: cst.Name) -> bool:
        """Whether a name is declared ``global`` in its function, and a number at module level."""
        function = self._module.function_of(name)
        declared = self._module.within(function, cst.Global) if function is not None else ()
        if not any(item.name.value == name.value for statement in declared for item in statement.names):
            return False
        bindings = self._module.names.module.found.get(name.value, ())
        return any(_is_number(binding.value) for binding in bindings if binding.kind == "assign")


def _is_training(guard: Guard) -> bool:
    """``if self.training:``."""
    test = guard.condition if guard.kind == "test" and guard.holds else None
    return isinstance(test, cst.Attribute) and test.attr.value == "training"


def _is_number(node: cst.CSTNode | None) -> bool:
    found = literal(node)
    return isinstance(found, int) and not isinstance(found, bool)

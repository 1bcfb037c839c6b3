"""Checks for CUDA in functions: a call after which CUDA is there, and helpers that look for it before they choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import libcst as cst

from torchlint.analysis.scopes.flow import never_falls_through
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_BLOCKS = (cst.IndentedBlock, cst.Module)
_STATICALLY = frozenset({"builtins.staticmethod", "builtins.classmethod"})


class Tests(Protocol):
    """What is asked about a condition."""

    def asks(self, node: cst.CSTNode, *, names: bool = True) -> bool: ...

    def implies(self, test: cst.BaseExpression, holds: bool, depth: int = ...) -> bool: ...


class CudaChecks:
    """Answers for one module which calls return only where there is CUDA, and what has run after one."""

    def __init__(self, module: SourceModule, guards: Tests) -> None:
        self._module = module
        self._guards = guards
        self._ends: dict[cst.FunctionDef, bool] = {}
        self._first: dict[cst.CSTNode, int | None] = {}

    @cached_property
    def _possible(self) -> bool:
        """The file asks for CUDA somewhere, or calls functions of other files."""
        return any(word in self._module.text for word in known.ASKS) or bool(self._module.project_imports())

    def passed(self, node: cst.CSTNode, *, stop: cst.CSTNode | None = None) -> bool:
        """A check has certainly returned before the node runs."""
        if not self._possible:
            return False
        below = node
        for around in self._module.ancestors(node):
            if below is stop:
                return False
            if isinstance(around, _BLOCKS) and self._checked_before(around, below):
                return True
            below = around
        return False

    def _checked_before(self, block: cst.IndentedBlock | cst.Module, below: cst.CSTNode) -> bool:
        if block not in self._first:
            self._first[block] = None  # a function that calls itself
            places = (place for place, statement in enumerate(block.body) if self._checks(statement))
            self._first[block] = next(places, None)
        first = self._first[block]
        return (
            first is not None and below is not block.body[first] and self._module.comes_before(block.body[first], below)
        )

    def made_after(self, function: cst.FunctionDef) -> bool:
        """The function is a method of a class whose instances cannot be made without CUDA."""
        owner = self._module.class_of(function)
        if owner is None or not self._possible:
            return False
        if any(self._module.qualified(d.decorator) in _STATICALLY for d in function.decorators):
            return False
        methods = (s for s in owner.body.body if isinstance(s, cst.FunctionDef))
        made = next((m for m in methods if m.name.value == "__init__"), None)
        return made is not None and made is not function and self.ends(made)

    # -- statements ------------------------------------------------------------------------------

    def _checks(self, statement: cst.CSTNode) -> bool:
        """Control passes the statement only where there is CUDA."""
        if isinstance(statement, cst.If):
            asked = self._guards.asks(statement.test) and self._guards.implies(statement.test, False)
            return asked and any(self._never_returns(call) for call in _called_alone(statement.body.body))
        return any(self.of_call(call) == known.ENDS for call in _called_alone([statement]))

    def _never_returns(self, call: cst.Call) -> bool:
        """``parser.error(..)``, or a function of the file that always raises or exits."""
        made = self._module.definitions(parser) if isinstance(parser := receiver(call), cst.Name) else ()
        if method(call) == "error" and made:
            calls = [b.value for b in made]
            return all(isinstance(c, cst.Call) and self._module.qualified(c.func) in known.PARSERS for c in calls)
        function = self._module.functions.callee(call)
        if function is None:
            return False
        body = self._module.functions.body(function)
        return not body.returns and not body.is_generator and never_falls_through(function.body, self._module.qualified)

    # -- functions -------------------------------------------------------------------------------

    def of_call(self, call: cst.Call) -> str | None:
        """What the function that a call runs does about a missing CUDA, as :meth:`of_function` has it."""
        function = self._module.functions.callee(call)
        if function is not None:
            return self.of_function(function)
        name = self._module.project_symbol(call.func)
        return self._module.project.cuda_check(name) if name is not None else None

    def of_function(self, function: cst.FunctionDef) -> str | None:
        """The function ends the program without CUDA, or asks whether it is there; None when it does neither."""
        if self.ends(function):
            return known.ENDS
        return known.FALLS_BACK if self._guards.asks(function.body, names=False) else None

    def ends(self, function: cst.FunctionDef) -> bool:
        """The function returns only where there is CUDA: elsewhere it raises or exits."""
        if function not in self._ends:
            self._ends[function] = False
            self._ends[function] = self._only_with_cuda(function)
        return self._ends[function]

    def _only_with_cuda(self, function: cst.FunctionDef) -> bool:
        body = self._module.functions.body(function)
        if body.is_generator or function.asynchronous is not None:
            return False
        if not never_falls_through(function.body, self._module.qualified):
            left = self._module.guards_after(function.body)
            if not self._proves(left) and not any(map(self._checks, function.body.body)):
                return False
        elif not body.returns:
            return False  # it never returns at all
        return all(
            self._proves(self._module.guards(r, stop=function)) or self.passed(r, stop=function) for r in body.returns
        )

    def _proves(self, guards: Iterator[Guard]) -> bool:
        """One of the conditions asks for CUDA itself, and came out so that it is there."""
        tests = ((g.condition, g.holds) for g in guards if g.kind == "test" and g.condition is not None)
        return any(self._guards.asks(test) and self._guards.implies(test, holds) for test, holds in tests)


def _called_alone(statements: Iterable[cst.CSTNode]) -> Iterator[cst.Call]:
    """The calls that are statements, or whose result is kept."""
    for statement in statements:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,):
            value = small.value if isinstance(small, (cst.Expr, cst.Assign, cst.AnnAssign)) else None
            if isinstance(value, cst.Call):
                yield value

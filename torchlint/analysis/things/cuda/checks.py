"""CUDA checks in functions: functions that return only with CUDA, and functions that check for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.flow import never_falls_through
from torchlint.analysis.syntax.calls import literal, method, positional, receiver
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_BLOCKS = (cst.IndentedBlock, cst.Module)
_IMPORTING = "pytest.importorskip"
_STATIC_DECORATORS = frozenset({"builtins.staticmethod", "builtins.classmethod"})


class CudaConditions(Protocol):
    """The queries on conditions that :class:`CudaChecks` needs."""

    def checks_cuda(self, node: cst.CSTNode, *, follow_names: bool = True) -> bool: ...

    def implies_cuda(self, test: cst.BaseExpression, holds: bool, depth: int = ...) -> bool: ...


class CudaChecks:
    """Decides which calls in one module return only where CUDA is available, and which nodes they precede."""

    def __init__(self, module: SourceModule, guards: CudaConditions) -> None:
        self._module = module
        self._guards = guards
        self._requires_cuda: dict[cst.FunctionDef, bool] = {}
        self._first_check: dict[cst.CSTNode, int | None] = {}

    @cached_property
    def may_check(self) -> bool:
        """Whether the file checks for CUDA anywhere, calls functions of other files, or imports what needs CUDA."""
        words = (*known.AVAILABILITY_WORDS, *known.CUDA_PACKAGES)
        return any(word in self._module.text for word in words) or bool(self._module.project_imports())

    def precedes(self, node: cst.CSTNode, *, stop: cst.CSTNode | None = None) -> bool:
        """Whether a check has certainly returned before the node runs."""
        if not self.may_check:
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
        if block not in self._first_check:
            self._first_check[block] = None  # for recursive functions
            places = (place for place, statement in enumerate(block.body) if self._checks(statement))
            self._first_check[block] = next(places, None)
        first = self._first_check[block]
        return (
            first is not None and below is not block.body[first] and self._module.comes_before(block.body[first], below)
        )

    def constructor_checks(self, function: cst.FunctionDef) -> bool:
        """Whether a function is a method of a class whose constructor requires CUDA."""
        owner = self._module.class_of(function)
        if owner is None or not self.may_check:
            return False
        if any(self._module.qualified(d.decorator) in _STATIC_DECORATORS for d in function.decorators):
            return False
        constructor = own_constructor(owner)
        return constructor is not None and constructor is not function and self.requires_cuda(constructor)

    def at_end_of(self, block: cst.IndentedBlock | cst.Module) -> bool:
        """Whether control reaches the end of a block only where CUDA is available."""
        if not self.may_check:
            return False
        return self._any_implies_cuda(self._module.guards_after(block)) or any(map(self._checks, block.body))

    # -- statements --------------------------------------------------------------------------------

    def _checks(self, statement: cst.CSTNode) -> bool:
        """Whether control passes a statement only where CUDA is available."""
        if isinstance(statement, cst.If):
            checked = self._guards.checks_cuda(statement.test) and self._guards.implies_cuda(statement.test, False)
            return checked and any(self._never_returns(call) for call in _statement_calls(statement.body.body))
        if any(map(self._imports_cuda, _small(statement))):
            return True
        return any(self.outcome_of_call(call) == known.EXITS for call in _statement_calls([statement]))

    def _imports_cuda(self, statement: cst.CSTNode) -> bool:
        """Whether a statement imports a package that needs CUDA: ``from torch2trt import TRTModule``."""
        if isinstance(statement, cst.ImportFrom):
            return not statement.relative and needs_cuda(dotted(statement.module))
        return isinstance(statement, cst.Import) and any(needs_cuda(dotted(alias.name)) for alias in statement.names)

    def _never_returns(self, call: cst.Call) -> bool:
        """Whether a call is ``parser.error(..)``, or calls a function of the file that always raises or exits."""
        made = self._module.definitions(parser) if isinstance(parser := receiver(call), cst.Name) else ()
        if method(call) == "error" and made:
            calls = [b.value for b in made]
            return all(isinstance(c, cst.Call) and self._module.qualified(c.func) in known.PARSERS for c in calls)
        function = self._module.functions.callee(call)
        if function is None:
            return False
        body = self._module.functions.body(function)
        return not body.returns and not body.is_generator and never_falls_through(function.body, self._module.qualified)

    # -- functions ---------------------------------------------------------------------------------

    def outcome_of_call(self, call: cst.Call) -> str | None:
        """What the called function does if CUDA is missing; see :meth:`outcome_of`."""
        function = self._module.functions.callee(call)
        if function is not None:
            return self.outcome_of(function)
        if self._module.qualified(call.func) == _IMPORTING and needs_cuda(literal(positional(call, 0))):
            return known.EXITS
        name = self._module.project_symbol(call.func)
        return self._module.project.cuda_check(name) if name is not None else None

    def outcome_of(self, function: cst.FunctionDef) -> str | None:
        """Whether a function exits without CUDA, or checks for CUDA and may fall back; None if it does neither."""
        if self.requires_cuda(function):
            return known.EXITS
        return known.FALLS_BACK if self._guards.checks_cuda(function.body, follow_names=False) else None

    def requires_cuda(self, function: cst.FunctionDef) -> bool:
        """Whether a function returns only where CUDA is available; otherwise it raises or exits."""
        if function not in self._requires_cuda:
            self._requires_cuda[function] = False
            self._requires_cuda[function] = self._returns_only_with_cuda(function)
        return self._requires_cuda[function]

    def _returns_only_with_cuda(self, function: cst.FunctionDef) -> bool:
        body = self._module.functions.body(function)
        if body.is_generator or function.asynchronous is not None:
            return False
        if not never_falls_through(function.body, self._module.qualified):
            left = self._module.guards_after(function.body)
            if not self._any_implies_cuda(left) and not any(map(self._checks, function.body.body)):
                return False
        elif not body.returns:
            return False  # it never returns
        return all(self.precede_in(function, place) for place in body.returns)

    def precede_in(self, function: cst.FunctionDef, node: cst.CSTNode) -> bool:
        """Whether a function itself makes sure that CUDA is available before control reaches a node in it."""
        guards = self._module.guards(node, stop=function)
        return self._any_implies_cuda(guards) or self.precedes(node, stop=function)

    def _any_implies_cuda(self, guards: Iterator[Guard]) -> bool:
        """Whether one of the guards checks for CUDA itself, and passes only where CUDA is available."""
        tests = ((g.condition, g.holds) for g in guards if g.kind == "test" and g.condition is not None)
        return any(self._guards.checks_cuda(test) and self._guards.implies_cuda(test, holds) for test, holds in tests)


def own_constructor(owner: cst.ClassDef) -> cst.FunctionDef | None:
    """The ``__init__`` that a class itself defines, or None."""
    methods = (statement for statement in owner.body.body if isinstance(statement, cst.FunctionDef))
    return next((method for method in methods if method.name.value == "__init__"), None)


def needs_cuda(package: object) -> bool:
    """Whether a package, or a module in it, cannot be imported without CUDA."""
    return str(package).partition(".")[0] in known.CUDA_PACKAGES


def _small(statement: cst.CSTNode) -> Iterable[cst.CSTNode]:
    return statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)


def _statement_calls(statements: Iterable[cst.CSTNode]) -> Iterator[cst.Call]:
    """The calls that are statements or assigned values."""
    for statement in statements:
        for small in _small(statement):
            value = small.value if isinstance(small, (cst.Expr, cst.Assign, cst.AnnAssign)) else None
            if isinstance(value, cst.Call):
                yield value

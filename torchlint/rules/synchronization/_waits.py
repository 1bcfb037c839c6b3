"""Waits: what makes the host wait for the device shortly before a place, with no work queued in between."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import READING
from torchlint.knowledge import synchronization as known
from torchlint.rules.synchronization._required_reads import RequiredReads

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.step import Step

_SYNCHRONIZE = frozenset({"synchronize"})
_SYNCHRONIZING = frozenset({"torch.cuda.synchronize", "torch.accelerator.synchronize"})
_QUIET_FUNCTIONS = known.CONVERSIONS | known.MATH_FUNCTIONS | known.PRINTING_FUNCTIONS | known.CLOCKS
_QUIET_FUNCTIONS |= {"builtins.len", "builtins.isinstance", "builtins.round"} | _SYNCHRONIZING
_QUIET_METHODS = READING | known.LOG_METHODS | {"append", "format", "detach"}
_ON_HOST = frozenset({Kind.SCALAR, Kind.NDARRAY, Kind.NUMPY_SCALAR, Kind.STRING, Kind.NONE, Kind.LIST, Kind.DICT})
_COMPUTING = (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.BooleanOperation, cst.Subscript)
_REPEATING = (cst.Lambda, *COMPREHENSIONS)  # run later, or several times
_REACH = 20  # statements in one block
_BETWEEN = (cst.Else, cst.SimpleStatementLine)


class Waits:
    """The places in one step where the host waits, and keeps waiting whatever is done about other reads."""

    def __init__(self, module: SourceModule, step: Step) -> None:
        self._module = module
        self._step = step

    @cached_property
    def _nodes(self) -> set[cst.CSTNode]:
        """What waits: reads that the host needs, conditions, and ``torch.cuda.synchronize``."""
        place, required = self._step.place, self._module.shared(RequiredReads)
        reads = (read.node for read in self._step.reads)
        needed = (n for n in reads if required.is_required(n, place) or required.checks_finiteness(n, place))
        calls = self._module.within(place, cst.Call, _SYNCHRONIZE)
        synchronizing = (call for call in calls if self._module.qualified(call.func) in _SYNCHRONIZING)
        return {*needed, *(condition.node for condition in self._step.conditions), *synchronizing}

    def before(self, node: cst.CSTNode, tensor: cst.CSTNode) -> cst.CSTNode | None:
        """The last wait that certainly precedes a read or condition, if no work for the device comes after it.

        ``tensor`` is what is read there, for which no work may be queued either.
        """
        if not self._is_quiet(tensor) or not self._nodes:
            return None
        statement = self._module.statement_of(node)
        if any(isinstance(around, _REPEATING) for around in self._between(node, statement)):
            return None
        before = self._module.comes_before
        inside = {*descendants(node), *self._module.ancestors(node)}
        if any(self._queues(n) for n in self._evaluated(statement) if n not in inside and before(n, node)):
            return None
        return self._above(statement)

    def _above(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """The last wait above a statement, without work in between."""
        below = statement
        while (around := self._module.parent(below)) is not None and below is not self._step.place:
            if isinstance(around, cst.IndentedBlock):
                block = list(around.body)
                place = block.index(below)  # type: ignore[arg-type]
                for earlier in reversed(block[max(place - _REACH, 0) : place]):
                    wait = self._wait_in(earlier)
                    if wait is not None or not self._is_quiet(earlier):
                        return wait
                if place > _REACH:
                    return None
            elif isinstance(around, cst.If) and below is not around.test:
                wait = self._wait_in_expression(around.test)
                if wait is not None or not self._is_quiet(around.test):
                    return wait
            elif not isinstance(around, _BETWEEN) or (isinstance(around, cst.SimpleStatementLine) and around.body[1:]):
                return None
            below = around
        return None

    def _wait_in(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """The wait in a statement after which it queues nothing, or None."""
        if isinstance(statement, cst.If):
            rest = (statement.body, *([statement.orelse] if statement.orelse is not None else []))
            return self._wait_in_expression(statement.test) if all(map(self._is_passed, rest)) else None
        return self._wait_in_expression(statement) if isinstance(statement, cst.SimpleStatementLine) else None

    def _wait_in_expression(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The wait that is certainly evaluated in an expression or simple statement, which queues nothing else."""
        found = next((part for part in descendants(node) if part in self._nodes), None)
        if found is None or any(_may_skip(around) for around in self._between(found, node)):
            return None
        inside = set(descendants(found))
        return found if not any(self._queues(part) for part in descendants(node) if part not in inside) else None

    def _between(self, node: cst.CSTNode, top: cst.CSTNode) -> Iterator[cst.CSTNode]:
        while node is not top:
            above = self._module.parent(node)
            if above is None:
                return
            yield above
            node = above

    def _is_passed(self, branch: cst.CSTNode) -> bool:
        """Whether what comes after a branch never comes after work that the branch queues."""
        if isinstance(branch, cst.IndentedBlock) and branch.body:
            last = branch.body[-1]
            leaving = last.body[-1:] if isinstance(last, cst.SimpleStatementLine) else ()
            if any(isinstance(one, (cst.Return, cst.Raise, cst.Continue, cst.Break)) for one in leaving):
                return True
        return self._is_quiet(branch)

    def _is_quiet(self, node: cst.CSTNode) -> bool:
        return not any(map(self._queues, descendants(node)))

    def _evaluated(self, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The parts of a simple statement, or of the test of a compound one."""
        if isinstance(statement, (cst.If, cst.While)):
            return iter(descendants(statement.test))
        return iter(descendants(statement))

    def _queues(self, node: cst.CSTNode) -> bool:
        """Whether a node by itself may queue work for the device; calls of unknown functions may."""
        if isinstance(node, cst.Call):
            return not self._is_quiet_call(node)
        if isinstance(node, cst.AugAssign):
            return not self._is_on_host(node.target)
        if isinstance(node, (cst.For, cst.While, cst.With, cst.FunctionDef, cst.ClassDef, cst.Await, cst.Yield)):
            return True
        return isinstance(node, _COMPUTING) and not self._is_on_host(node)

    def _is_quiet_call(self, call: cst.Call) -> bool:
        name = self._module.qualified(call.func)
        if name is not None:
            return name in _QUIET_FUNCTIONS
        verb = method(call)
        return verb in _QUIET_METHODS or (verb in known.LOG_LEVELS and receiver(call) is not None)

    def _is_on_host(self, node: cst.CSTNode) -> bool:
        """Whether a value is certainly none that the device computes, by what it is or what it is made of."""
        if self._module.value(node).kind in _ON_HOST or isinstance(node, (cst.Integer, cst.Float)):
            return True
        if isinstance(node, cst.UnaryOperation):
            return self._is_on_host(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._is_on_host(node.left) and self._is_on_host(node.right)
        if isinstance(node, cst.BooleanOperation):
            return self._is_on_host(node.left) and self._is_on_host(node.right)
        if isinstance(node, cst.Comparison):
            return all(map(self._is_on_host, (node.left, *(one.comparator for one in node.comparisons))))
        return False


def _may_skip(node: cst.CSTNode) -> bool:
    """Whether parts of an expression may not be evaluated."""
    return isinstance(node, (cst.BooleanOperation, cst.IfExp, *_REPEATING))


def in_words(module: SourceModule, wait: cst.CSTNode) -> str:
    """What a message says about a place behind a wait."""
    return f"the host already waits on {module.line_in_words(wait)}, so this costs little"

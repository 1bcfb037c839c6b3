"""CUDA alternatives: branches that use CUDA beside one that stays on the CPU, whatever the condition is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.flow import never_falls_through
from torchlint.analysis.syntax.calls import chain, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.analysis.things.device_choices import DeviceChoices, is_main_test

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class CudaAlternatives:
    """Decides whether the program can go another way than through a place in one module that needs CUDA."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._choices = module.shared(DeviceChoices)

    def has(self, node: cst.CSTNode) -> bool:
        """Whether a condition chooses between CUDA at this place and the CPU, for the same target."""
        below = node
        for around in self._module.ancestors(node):
            if isinstance(around, cst.FunctionDef):
                return False
            if isinstance(around, (cst.If, cst.IfExp)) and below is not around.test:
                is_reversed = self._guards.implies_cuda(around.test, below is not around.body)
                if not is_reversed and self._other_way(around, below, node):
                    return True
            below = around
        return False

    def _other_way(self, choice: cst.If | cst.IfExp, branch: cst.CSTNode, node: cst.CSTNode) -> bool:
        if isinstance(choice, cst.If):
            return self._other_branch_stays(choice, node)
        sides = (choice.body, choice.orelse)
        cuda, other = sides if branch is choice.body else reversed(sides)
        return self._choices.stays_on_host(other, cuda)

    def _other_branch_stays(self, choice: cst.If, node: cst.CSTNode) -> bool:
        """Whether another branch sets what gets CUDA in this one to something on the CPU, or leaves it there."""
        statement = self._module.statement_of(node)
        target, value = _target(statement)
        if target is None or value is None or not self._decides(node, value):
            return False
        if is_main_test(choice.test) or any(dotted(part) == target for part in descendants(choice.test)):
            return False  # it asks who runs the file, or about what is moved
        others = [suite for suite in _branches(choice) if all(part is not node for part in descendants(suite))]
        assigned = [other for suite in others for other in _assigned(suite, target)]
        if any(map(self._choices.names_cuda, assigned)):
            return False
        if assigned:
            return any(self._choices.stays_on_host(other, value) for other in assigned)
        goes_on = not _is_exhaustive(choice) or not all(map(self._leaves, others))
        return goes_on and self._moves_in_place(statement, value, target)

    def _decides(self, node: cst.CSTNode, value: cst.BaseExpression) -> bool:
        """Whether a request is the value of a statement, or its last argument or move: ``net(x).cuda()``."""
        links = chain(value)
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        return any(link is node or link is call for link in links)

    def _leaves(self, suite: cst.BaseSuite) -> bool:
        return never_falls_through(suite, self._module.qualified)

    def _moves_in_place(self, statement: cst.CSTNode, value: cst.BaseExpression, target: str) -> bool:
        """Whether a statement moves what is there: ``x = x.cuda()``, or ``net.cuda()`` among such calls only."""
        if not self._choices.names_cuda(value):
            return False
        if isinstance(statement, cst.Expr):
            line = self._module.parent(statement)
            block = self._module.parent(line) if line is not None else None
            return isinstance(block, cst.IndentedBlock) and all(map(self._only_moves, block.body))
        return any(dotted(part) == target for part in descendants(value))

    def _only_moves(self, statement: cst.CSTNode) -> bool:
        small = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
        return all(isinstance(part, cst.Expr) and self._choices.names_cuda(part.value) for part in small)


def _target(statement: cst.CSTNode) -> tuple[str | None, cst.BaseExpression | None]:
    """The variable or attribute that a statement assigns or moves, and the value or the move."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        return dotted(statement.targets[0].target), statement.value
    if isinstance(statement, cst.AnnAssign):
        return dotted(statement.target), statement.value
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        return dotted(receiver(statement.value)), statement.value
    return None, None


def _assigned(suite: cst.CSTNode, target: str) -> Iterator[cst.BaseExpression]:
    """The values that a branch assigns to a target, and the moves of it."""
    for part in descendants(suite):
        if isinstance(part, (cst.Assign, cst.AnnAssign, cst.Expr)):
            name, value = _target(part)
            if name == target and value is not None:
                yield value


def _branches(choice: cst.If) -> Iterator[cst.BaseSuite]:
    """The blocks of an ``if`` statement with its ``elif`` and ``else``."""
    current: cst.If | cst.Else | None = choice
    while isinstance(current, cst.If):
        yield current.body
        current = current.orelse
    if isinstance(current, cst.Else):
        yield current.body


def _is_exhaustive(choice: cst.If) -> bool:
    """Whether an ``if`` statement has an ``else``."""
    current: cst.If | cst.Else | None = choice
    while isinstance(current, cst.If):
        current = current.orelse
    return current is not None

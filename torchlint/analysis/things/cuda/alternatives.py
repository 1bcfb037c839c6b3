"""CUDA alternatives: branches that use CUDA beside one that stays on the CPU, whatever the condition is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import chain, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.device_choices import DeviceChoices, is_main_test
from torchlint.analysis.things.cuda.guards import CudaGuards

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class _Given(NamedTuple):
    """A value that a branch assigns to a target, and whether it is CUDA."""

    branch: cst.BaseSuite
    value: cst.BaseExpression
    is_cuda: bool


class CudaAlternatives:
    """Decides whether the program can go another way than through a place in one module that needs CUDA."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._choices = module.shared(DeviceChoices)
        self._chains: dict[cst.If, cst.If] = {}
        self._values: dict[cst.If, dict[str, list[_Given]]] = {}
        self._found: dict[cst.If, list[cst.BaseSuite]] = {}

    def has(self, node: cst.CSTNode) -> bool:
        """Whether a condition chooses between CUDA at this place and the CPU, for the same target."""
        below, around = node, self._module.parent(node)
        while around is not None and not isinstance(around, cst.FunctionDef):
            if isinstance(around, (cst.If, cst.IfExp)) and below is not around.test:
                is_reversed = self._guards.implies_cuda(around.test, below is not around.body)
                if not is_reversed and self._other_way(around, below, node):
                    return True
                around = self._first_of(around) if isinstance(around, cst.If) else around
            below, around = around, self._module.parent(around)
        return False

    def _first_of(self, choice: cst.If) -> cst.If:
        """The ``if`` that an ``elif`` belongs to. Cached, so that long chains stay linear."""
        passed: list[cst.If] = []
        current = choice
        while current not in self._chains:
            passed.append(current)
            above = self._module.parent(current)
            if not isinstance(above, cst.If) or above.orelse is not current:
                break
            current = above
        first = self._chains.get(current, current)
        self._chains.update(dict.fromkeys(passed, first))
        return first

    def _other_way(self, choice: cst.If | cst.IfExp, branch: cst.CSTNode, node: cst.CSTNode) -> bool:
        if isinstance(choice, cst.If):
            own = branch.body if isinstance(branch, cst.Else) else branch
            return self._other_branch_stays(choice, own, node)
        sides = (choice.body, choice.orelse)
        cuda, other = sides if branch is choice.body else reversed(sides)
        return self._choices.stays_on_host(other, cuda)

    def _other_branch_stays(self, choice: cst.If, own: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Whether another branch sets what gets CUDA in this one to something on the CPU, or leaves it there."""
        statement = self._module.statement_of(node)
        target, value = _target(statement)
        if target is None or value is None or not self._decides(node, value):
            return False
        if is_main_test(choice.test) or any(dotted(part) == target for part in descendants(choice.test)):
            return False  # it asks who runs the file, or about what is moved
        first = self._first_of(choice)
        given = [one for one in self._given(first).get(target, ()) if one.branch is not own]
        if any(one.is_cuda for one in given):
            return False
        if given:
            return any(self._choices.stays_on_host(one.value, value) for one in given)
        return self._goes_on(first, own) and self._moves_in_place(statement, value, target)

    def _given(self, first: cst.If) -> dict[str, list[_Given]]:
        """What the branches of an ``if`` statement assign or move, by target."""
        if first not in self._values:
            found = self._values.setdefault(first, {})
            for branch in _branches(first):
                for target, value in _assigned(branch):
                    found.setdefault(target, []).append(_Given(branch, value, self._choices.names_cuda(value)))
        return self._values[first]

    def _goes_on(self, first: cst.If, own: cst.CSTNode) -> bool:
        """Whether control may pass an ``if`` statement by another branch, or by none."""
        if first not in self._found:
            self._found[first] = [suite for suite in _branches(first) if not self._choices.leaves(suite)]
        return not _is_exhaustive(first) or any(suite is not own for suite in self._found[first])

    def _decides(self, node: cst.CSTNode, value: cst.BaseExpression) -> bool:
        """Whether a request is the value of a statement, or its last argument or move: ``net(x).cuda()``."""
        links = chain(value)
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        return any(link is node or link is call for link in links)

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


def _assigned(branch: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """What a branch assigns, and what it moves, with the values."""
    for part in descendants(branch):
        if isinstance(part, (cst.Assign, cst.AnnAssign, cst.Expr)):
            target, value = _target(part)
            if target is not None and value is not None:
                yield target, value


def _branches(choice: cst.If) -> Iterator[cst.BaseSuite]:
    """The blocks of an ``if`` statement with its ``elif`` and ``else``."""
    return (link.body for link in _links(choice))


def _is_exhaustive(choice: cst.If) -> bool:
    """Whether an ``if`` statement has an ``else``."""
    return any(isinstance(link, cst.Else) for link in _links(choice))


def _links(choice: cst.If) -> Iterator[cst.If | cst.Else]:
    """An ``if`` statement, each ``elif``, and the ``else``."""
    current: cst.If | cst.Else | None = choice
    while current is not None:
        yield current
        current = current.orelse if isinstance(current, cst.If) else None

"""TL204: asynchronous copies to the host, and what reads them before the host waits for the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.repetition import COMPREHENSIONS
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, literal, method
from torchlint.analysis.syntax.walk import children
from torchlint.analysis.things.move import Move, Moves
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.sources import sources
from torchlint.catalogue.views import FACTORIES
from torchlint.knowledge import transfers as known
from torchlint.rules.transfers._pending import Fate, Fates

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_OWN_TIME = (cst.FunctionDef, cst.Lambda, cst.ClassDef)  # what is in them runs at another time
_LEAVING = (cst.Return, cst.Raise, cst.Break, cst.Continue)
_TESTED = (cst.If, cst.While, cst.IfExp, cst.Assert)


class _State(NamedTuple):
    """The variables that share memory with the copy, and whether each is a container; the expression that will read."""

    names: dict[str, bool]
    read: cst.CSTNode | None = None


class Downloads:
    """The asynchronous copies to the host of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)
        self._fates = module.shared(Fates)

    def is_download(self, move: Move) -> bool:
        """Whether a move copies a tensor that may be on a device to pinned memory of the host, without waiting."""
        if not move.asynchronous or self._module.value(move.moved).kind is Kind.MODULE:
            return False
        if move.method != "copy_":
            return move.to_host and self._module.value(move.moved).device is not Device.CPU
        return self._module.value(move.moved).accelerated and self._is_pinned(_root(move.target))

    def _is_pinned(self, buffer: cst.BaseExpression | None) -> bool:
        """Whether a buffer is certainly in pinned memory."""
        made = sources(self._module.evaluator, buffer) if buffer is not None else []
        return bool(made) and all(
            isinstance(call, cst.Call)
            and (literal(keyword(call, "pin_memory")) is True or method(call) == "pin_memory")
            for call in made
        )

    def first_read(self, move: Move) -> cst.CSTNode | None:
        """The expression that reads the copy, with nothing in between that may wait for the device; or None."""
        names: dict[str, bool] = {}
        if move.method == "copy_":
            buffer = dotted(_root(move.target))
            fate = Fate(name=buffer, lost=buffer is None)
        else:
            fate = self._fates.of(move.call)
        if fate.lost or not (fate.read or fate.name):
            return None
        if fate.name:
            names[fate.name] = fate.container
        if fate.read is not None and not self._encloses(fate.read, move.call):
            return fate.read  # a condition
        return self._scan(move.call, _State(names, fate.read))

    def _encloses(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        return outer is not node and any(around is outer for around in self._module.ancestors(node))

    def _scan(self, start: cst.CSTNode, state: _State) -> cst.CSTNode | None:
        """Follow the code after a node, as far as it is certain that nothing waits."""
        for node in self._after(start):
            if node is state.read:
                return node
            if node is None or self._may_wait(node):
                return None
            fate = self._use(node, state.names) if not self._encloses(node, start) else None
            if fate is None:
                continue
            if fate.lost:
                return None
            if fate.name:
                state.names[fate.name] = fate.container
            if fate.read is not None and state.read is None:
                state = state._replace(read=fate.read)
                if not self._encloses(fate.read, node):
                    return fate.read
        return None

    def _use(self, node: cst.CSTNode, names: dict[str, bool]) -> Fate | None:
        """What becomes of the copy at a node, if the node is one of its variables."""
        if isinstance(node, (cst.Assign, cst.AnnAssign)):
            self._forget(node, names)
            return None if names else Fate(lost=True)
        name = dotted(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
        if name is None or name not in names:
            return None
        parent = self._module.parent(node)
        if isinstance(parent, (cst.AssignTarget, cst.Arg, cst.Attribute)) and node is not getattr(
            parent, "value", None
        ):
            return None
        if isinstance(parent, cst.AugAssign) and node is parent.target:
            return None if names[name] else Fate(read=parent)
        return self._fates.of(node, container=names[name])

    def _forget(self, statement: cst.Assign | cst.AnnAssign, names: dict[str, bool]) -> None:
        """Forget the variables that are assigned something else."""
        targets = (
            [each.target for each in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        )
        for target in targets:
            name = dotted(target)
            value = statement.value
            if name in names and value is not None and not self._mentions(value, names):
                del names[name]

    def _mentions(self, node: cst.CSTNode, names: dict[str, bool]) -> bool:
        used = (*self._module.within(node, cst.Name), *self._module.within(node, cst.Attribute))
        return any(dotted(name) in names for name in used)

    # -- the order of evaluation -------------------------------------------------------------------

    def _after(self, node: cst.CSTNode) -> Iterator[cst.CSTNode | None]:
        """The nodes that are evaluated after one, in this order; None where what comes next is not certain."""
        while (parent := self._module.parent(node)) is not None:
            if isinstance(parent, _OWN_TIME):
                return
            if isinstance(node, cst.BaseSuite):
                yield from self._leaving(parent)
            else:
                below = children(parent)
                later = below[below.index(node) + 1 :]
                for each in later:
                    yield from self._evaluated(each)
                    if isinstance(each, cst.SimpleStatementLine) and isinstance(each.body[-1], _LEAVING):
                        return
                if isinstance(parent, _LEAVING):
                    return
                yield parent
            node = parent

    def _leaving(self, compound: cst.CSTNode) -> Iterator[cst.CSTNode | None]:
        """What is evaluated when the body of a compound statement ends."""
        if isinstance(compound, cst.While):
            yield from self._evaluated(compound.test)
        elif isinstance(compound, cst.With):
            calls = [item.item.func if isinstance(item.item, cst.Call) else item.item for item in compound.items]
            if not all(self._module.qualified(call) in known.PASSIVE_CONTEXTS for call in calls):
                yield None
        elif not isinstance(compound, (cst.If, cst.Else, cst.For)):
            yield None

    def _evaluated(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """A node and those below it, in the order in which they are evaluated."""
        if not isinstance(node, _OWN_TIME):
            below = children(node)
            for child in reversed(below) if isinstance(node, COMPREHENSIONS) else below:
                yield from self._evaluated(child)
        yield node

    # -- waiting -----------------------------------------------------------------------------------

    def _may_wait(self, node: cst.CSTNode) -> bool:
        """Whether evaluating a node may wait for the device."""
        if isinstance(node, cst.Call) and self._call_may_wait(node):
            return True
        parent = self._module.parent(node)
        if isinstance(node, cst.FormattedStringExpression):
            return self._on_device(node.expression)
        if isinstance(parent, _TESTED) and node is parent.test:
            return self._on_device(node)
        indexes = isinstance(node, cst.Subscript) and self._on_device(node.value)
        return indexes and any(self._on_device(part) for part in self._module.within(node.slice[0], cst.Name))  # type: ignore[attr-defined]

    def _on_device(self, node: cst.CSTNode) -> bool:
        return self._module.value(node).accelerated

    def _call_may_wait(self, call: cst.Call) -> bool:
        move = self._moves.at(call)
        if move is not None:
            return not move.asynchronous and self._module.value(move.target).kind is not Kind.DTYPE
        name = self._module.qualified(call.func)
        if name is None:
            return method(call) not in known.PASSIVE_METHODS
        if name in known.READING_BUILTINS:
            return any(self._is_tensor_of_device(arg.value) for arg in call.args)
        if name in FACTORIES:
            return self._on_device(call)
        passive = name in known.PASSIVE_BUILTINS or name in known.PASSIVE_FUNCTIONS | known.VIEW_FUNCTIONS
        return not passive and not name.startswith(known.PASSIVE_MODULES)

    def _is_tensor_of_device(self, node: cst.CSTNode) -> bool:
        """Whether an expression may be a tensor on the device."""
        value = self._module.value(node)
        return value.accelerated or (value.kind is Kind.UNKNOWN and value.device is not Device.CPU)


def _root(node: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """The whole buffer of ``buffer[:n]``."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node

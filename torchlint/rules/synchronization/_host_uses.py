"""Host uses: the values of reads that decide at once, on the host, how long something is or what is done next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import SIZE_TAKERS
from torchlint.knowledge import synchronization as known
from torchlint.rules.synchronization._destinations import uses_of

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.read import Read

HostUse = Literal["size", "test"]
_CONVERSIONS = known.SIZE_CONVERSIONS | {"abs", "float", "sum", "ceil", "floor", "item", "tolist"}
_PARTS = (cst.Arg, cst.BinaryOperation, cst.UnaryOperation, cst.Tuple, cst.List, cst.Element, cst.Comparison)
_REPEATED = (cst.List, cst.Tuple, cst.SimpleString)
_CHOOSING = (cst.If, cst.While, cst.IfExp, cst.Assert)


def host_use(module: SourceModule, read: Read, place: cst.CSTNode) -> HostUse | None:
    """What the value of a read decides in the same step: a size, or else a condition."""
    found = {_use(module, node) for node in (read.node, *_variables(module, read.node, place))}
    return "size" if "size" in found else "test" if "test" in found else None


def _variables(module: SourceModule, node: cst.CSTNode, place: cst.CSTNode) -> list[cst.Name]:
    """The uses in the same step of the variable that an expression is assigned to."""
    for around in module.ancestors(node):
        if isinstance(around, cst.Assign):
            uses = uses_of(module, around.targets[0].target)
            return [use for use in uses if place in module.ancestors(use)]
        if not isinstance(around, (*_PARTS, cst.Call)) or _leaves(around):
            return []
    return []


def _leaves(node: cst.CSTNode) -> bool:
    """Whether a call gives something else than the number that it gets."""
    return isinstance(node, cst.Call) and _name(node) not in _CONVERSIONS


def _use(module: SourceModule, node: cst.CSTNode) -> HostUse | None:
    """What an expression decides: the length of a list, a range, a slice, an argument that is a size, or a branch."""
    below = node
    for around in module.ancestors(node):
        if isinstance(around, cst.Slice):
            return "size"
        if isinstance(around, _CHOOSING):
            return "test" if around.test is below else None
        if isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Multiply):
            other = around.right if around.left is below else around.left
            if isinstance(other, _REPEATED) or module.value(other).kind is Kind.LIST:
                return "size"
        if isinstance(around, cst.Call):
            if _name(around) in SIZE_TAKERS:
                return "size" if below is not around.func else None
            if _leaves(around):
                return None
        elif not isinstance(around, (*_PARTS, cst.Attribute, cst.BooleanOperation)):
            return None
        below = around
    return None


def _name(call: cst.Call) -> str:
    return (dotted(call.func) or method(call) or "").rpartition(".")[2]

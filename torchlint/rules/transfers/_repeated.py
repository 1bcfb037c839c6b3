"""TL205: moves of a tensor that stays on the host, and is the same in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.guards import Guard, implied
from torchlint.analysis.syntax.calls import literal, method, positional, receiver
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.move import VARIABLE_WRAPPERS, Move
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.views import SHARING
from torchlint.model import Heat
from torchlint.rules.transfers._unchanged import Unchanged

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_WRAPPERS = VARIABLE_WRAPPERS | {"torch.from_numpy"}
_DEPTH = 8


class Repeated(NamedTuple):
    """A move of a tensor that is the same in every step.

    ``tensor`` is the variable or attribute that holds it, and ``origin`` the code that assigns it.
    """

    move: Move
    tensor: cst.Name | cst.Attribute
    origin: cst.CSTNode


class RepeatedMoves:
    """Finds such moves in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._unchanged = module.shared(Unchanged)

    def of(self, move: Move) -> Repeated | None:
        """The repeated move that a call makes, or None."""
        module = self._module
        if move.method not in ("to", "cuda", "type_as") or not self._lies_on_host(move.moved):
            return None
        if module.heat(move.call).rank < Heat.STEP.rank or not self._reaches_accelerator(move):
            return None
        if module.sets_default_device or module.shared(Compiled).covers(move.call):
            return None
        place = module.heat_analysis.enclosing_step(move.call)
        tensor = self._held(move.moved)
        origin = self._unchanged.origin(tensor, place) if tensor is not None else None
        if tensor is None or origin is None or self._is_kept(move.call, place):
            return None
        return Repeated(move, tensor, origin)

    def _lies_on_host(self, moved: cst.BaseExpression) -> bool:
        """Whether what is moved is a tensor on the CPU; TL104 reports generated content, TL202 batches."""
        value = self._module.value(moved)
        return value.kind is Kind.TENSOR and value.device is Device.CPU and not (value.generated or value.batch)

    def _reaches_accelerator(self, move: Move) -> bool:
        like = self._module.value(move.target) if move.method == "type_as" else None
        return like.accelerated and like.device.may_be_cuda if like is not None else move.to_accelerator

    def _held(self, node: cst.BaseExpression) -> cst.Name | cst.Attribute | None:
        """The variable or attribute that holds a tensor of which an expression is a view, or a fixed part."""
        for _ in range(_DEPTH):
            if isinstance(node, (cst.Name, cst.Attribute)):
                return node
            inner = self._inner(node)
            if inner is None:
                return None
            node = inner
        return None

    def _inner(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        if isinstance(node, cst.Subscript):
            return node.value if all(_is_fixed(element.slice) for element in node.slice) else None
        if not isinstance(node, cst.Call) or any(_may_vary(arg.value) for arg in node.args[1:]):
            return None
        if self._module.qualified(node.func) in _WRAPPERS:
            return positional(node, 0)
        first = positional(node, 0)
        fixed = first is None or not _may_vary(first) or self._module.value(first).kind is Kind.DTYPE
        return receiver(node) if fixed and method(node) in SHARING | {"numpy"} else None

    def _is_kept(self, call: cst.Call, place: cst.CSTNode) -> bool:
        """Whether the copy is made once: ``if self.moved is None``, ``if device not in moved``, ``@lru_cache``."""
        function = self._module.function_of(call)
        names = [dotted(getattr(d.decorator, "func", d.decorator)) for d in function.decorators] if function else []
        if any("cache" in (name or "") for name in names):
            return True
        return any(map(_asks_for_absence, self._module.guards(call, stop=place)))


def _asks_for_absence(guard: Guard) -> bool:
    if guard.kind == "handler" or guard.condition is None:
        return guard.kind == "handler"
    return implied(guard.condition, guard.holds, _is_absent)


def _is_absent(test: cst.BaseExpression, holds: bool) -> bool:
    """``self.moved is None``, ``device not in moved``; another value of ``holds`` negates them."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    compared = test.comparisons[0]
    if literal(compared.comparator) is None:
        return isinstance(compared.operator, (cst.Is, cst.Equal) if holds else (cst.IsNot, cst.NotEqual))
    return isinstance(compared.operator, cst.NotIn if holds else cst.In)


def _may_vary(node: cst.BaseExpression) -> bool:
    return literal(node) is ...


def _is_fixed(part: cst.BaseSlice) -> bool:
    """``0``, ``None`` or ``:10``: the same part each time."""
    if isinstance(part, cst.Slice):
        return not any(bound is not None and _may_vary(bound) for bound in (part.lower, part.upper, part.step))
    return isinstance(part, cst.Index) and (isinstance(part.value, cst.Ellipsis) or not _may_vary(part.value))

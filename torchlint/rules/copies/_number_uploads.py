"""TL105: tensors of Python numbers that are created on the host and copied to an accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, positional
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.move import FirstMove, Moves, names_accelerator
from torchlint.catalogue.views import CONSTRUCTORS
from torchlint.knowledge.tensors import LEGACY
from torchlint.rules.copies._factories import Factories
from torchlint.rules.copies._numbers import Numbers

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# One number, a list that is the same in every step, or any other list of numbers.
Content = Literal["number", "constants", "numbers"]
_FEW = 64


class NumberUpload(NamedTuple):
    """A tensor of Python numbers on its way to an accelerator.

    ``call`` creates the tensor, and ``move`` copies it, unless the call itself does. ``name`` is the function that is
    called, or ``new_tensor``. ``number`` is the only number, with the number of brackets around it in ``rank``.
    """

    call: cst.Call
    name: str
    content: Content
    move: FirstMove | None
    number: cst.BaseExpression | None
    rank: int

    @property
    def place(self) -> cst.Call:
        """The call that copies the tensor."""
        return self.call if self.move is None else self.move.call


class NumberUploads:
    """Finds them in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._numbers = module.shared(Numbers)

    def of(self, call: cst.Call) -> NumberUpload | None:
        """The tensor of numbers that a constructor creates for an accelerator, or None."""
        name = self._module.qualified(call.func)
        data = self._data(call, name)
        if data is None or is_opaque(call) or literal(keyword(call, "pin_memory")) is True:
            return None
        number, rank = _only(data)
        if number is not None and self._numbers.is_number(number):
            if name in LEGACY and not rank:
                return None  # a size
            content: Content = "number"
        elif not _is_long(data) and self._numbers.is_numbers(data):
            content, number = "constants" if self._numbers.is_constant(data) else "numbers", None
        else:
            return None
        sent, move = self._destination(call, name)
        if not sent or self._is_silent(call):
            return None
        return NumberUpload(call, name or "new_tensor", content, move, number, rank)

    def _data(self, call: cst.Call, name: str | None) -> cst.BaseExpression | None:
        if name is None:
            return argument(call, "data", 0) if method(call) == "new_tensor" else None
        if name in CONSTRUCTORS and name != "torch.from_numpy":
            return argument(call, "obj" if name == "torch.asarray" else "data", 0)
        first = positional(call, 0) if name in LEGACY and len(call.args) == 1 else None
        return None if first is not None and _is_shape(first) else first

    def _destination(self, call: cst.Call, name: str | None) -> tuple[bool, FirstMove | None]:
        """Whether the tensor is copied to an accelerator while the host waits, and the move that does so."""
        device = keyword(call, "device")
        if device is not None:
            return names_accelerator(self._module, device), None
        if name is None:
            assert isinstance(call.func, cst.Attribute)
            like = self._module.value(call.func.value)
            return like.accelerated and like.device.may_be_cuda, None
        if LEGACY.get(name) == "cuda":
            return True, None
        moves, factories = self._module.shared(Moves), self._module.shared(Factories)
        first = moves.first_move_of(call)
        move = moves.at(first.call) if first is not None else None
        waits = move is not None and move.to_accelerator and move.blocking
        return waits and factories.on_cpu(call, name), first

    def _is_silent(self, call: cst.Call) -> bool:
        """Whether another rule reports the content, or a compiler removes the copy."""
        generated = self._module.shared(Factories).generated(call) is not None
        return generated or self._module.shared(Compiled).covers(call)


def _is_shape(node: cst.BaseExpression) -> bool:
    """``x.shape`` or ``x.size()``: the size of the new tensor, not its content."""
    return (isinstance(node, cst.Attribute) and node.attr.value == "shape") or method(node) == "size"


def _only(data: cst.BaseExpression) -> tuple[cst.BaseExpression | None, int]:
    """The only number of ``v``, ``[v]`` or ``[[v]]``, and the number of brackets; None if there are several."""
    rank = 0
    while isinstance(data, (cst.List, cst.Tuple)):
        if len(data.elements) != 1 or isinstance(data.elements[0], cst.StarredElement):
            return None, rank
        data, rank = data.elements[0].value, rank + 1
    return data, rank


def _is_long(data: cst.BaseExpression) -> bool:
    """Whether a display has so many numbers that they are data."""
    return isinstance(data, (cst.List, cst.Tuple)) and len(data.elements) > _FEW

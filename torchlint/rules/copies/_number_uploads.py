"""TL105: tensors of one Python number, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, positional
from torchlint.analysis.things.move import FirstMove, Moves
from torchlint.catalogue.views import CONSTRUCTORS
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class NumberUpload(NamedTuple):
    """A tensor of one Python number on its way to an accelerator.

    ``call`` creates the tensor, and ``move`` copies it, unless the call itself does. ``name`` is the function that is
    called, or ``new_tensor``. ``rank`` is the number of brackets around the ``number``.
    """

    call: cst.Call
    name: str
    move: FirstMove | None
    number: cst.BaseExpression
    rank: int

    @property
    def place(self) -> cst.Call:
        """The call that copies the tensor."""
        return self.call if self.move is None else self.move.call


def number_upload(module: SourceModule, call: cst.Call) -> NumberUpload | None:
    """The tensor of one number that a call of a constructor seems to create; None for others."""
    name = module.qualified(call.func)
    data = _data(call, name)
    if data is None or is_opaque(call) or literal(keyword(call, "pin_memory")) is True:
        return None
    number, rank = _only(data)
    if number is None or (name in LEGACY and not rank):
        return None  # several, or a size
    there = keyword(call, "device") is not None or name is None or LEGACY.get(name) == "cuda"
    move = None if there else module.shared(Moves).first_move_of(call)
    return NumberUpload(call, name or "new_tensor", move, number, rank)


def _data(call: cst.Call, name: str | None) -> cst.BaseExpression | None:
    if name is None:
        return argument(call, "data", 0) if method(call) == "new_tensor" else None
    if name in CONSTRUCTORS and name != "torch.from_numpy":
        return argument(call, "obj" if name == "torch.asarray" else "data", 0)
    return positional(call, 0) if name in LEGACY and len(call.args) == 1 else None


def _only(data: cst.BaseExpression) -> tuple[cst.BaseExpression | None, int]:
    """The only number of ``v``, ``[v]`` or ``[[v]]``, and the number of brackets; None if there are several."""
    rank = 0
    while isinstance(data, (cst.List, cst.Tuple)):
        if len(data.elements) != 1 or isinstance(data.elements[0], cst.StarredElement):
            return None, rank
        data, rank = data.elements[0].value, rank + 1
    return data, rank

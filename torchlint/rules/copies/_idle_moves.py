"""Moves that cost nothing, or whose tensor is wanted on the host anyway: nothing is gained by making it elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, literal, method
from torchlint.analysis.values.lattice import Device
from torchlint.knowledge.synchronisation import READING_METHODS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_SIZED = frozenset(f"torch.{name}" for name in "zeros ones empty rand randn randperm arange eye".split())


class IdleMoves:
    """Answers for one module whether it pays to make a tensor where a move takes it."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def gains_nothing(self, made: cst.Call, name: str, move: cst.Call) -> bool:
        """There is nothing to copy, the host reads the tensor at once, or the move may only convert the dtype."""
        return _is_empty(made, name) or self._is_read(move) or self._may_only_convert(move)

    def _is_read(self, move: cst.Call) -> bool:
        """``.to(device).cpu()``, ``for i in torch.randperm(n).to(device)``: the source must be on the host."""
        parent = self._module.parent(move)
        if isinstance(parent, (cst.For, cst.CompFor)):
            return parent.iter is move
        call = self._module.parent(parent) if isinstance(parent, cst.Attribute) and parent.value is move else None
        return isinstance(call, cst.Call) and call.func is parent and method(call) in READING_METHODS

    def _may_only_convert(self, move: cst.Call) -> bool:
        """``.type_as(x)``, where nothing in sight says that ``x`` is on an accelerator."""
        if method(move) != "type_as":
            return False
        other = self._module.value(argument(move, "other", 0))
        return other.device is Device.UNKNOWN and not self._module.every_step(move)


def _is_empty(made: cst.Call, name: str) -> bool:
    """``torch.empty(0, 4)``: tensors without elements are not copied."""
    sizes = [arg.value for arg in made.args if arg.keyword is None]
    if sizes and isinstance(sizes[0], (cst.Tuple, cst.List)):
        sizes = [element.value for element in sizes[0].elements]
    elif name not in _SIZED or (name == "torch.arange" and len(sizes) > 1):
        return False
    return any(literal(size) == 0 and literal(size) is not False for size in sizes)

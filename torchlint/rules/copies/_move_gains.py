"""Move gains: whether creating a tensor directly on the device is better than moving it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.contradictions import Happening
from torchlint.analysis.syntax.calls import argument, literal, method
from torchlint.analysis.values.lattice import Device
from torchlint.catalogue.views import READING

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_SIZED = frozenset(f"torch.{name}" for name in "zeros ones empty rand randn randperm arange eye".split())


class MoveGains:
    """Decides for one module which moves are worth replacing."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def gains_nothing(self, made: cst.Call, name: str, move: cst.Call) -> bool:
        """Whether a move copies nothing, its result is read on the host at once, or it may only convert the dtype."""
        return _is_empty(made, name) or self._is_read(move) or self._may_only_convert(move)

    def _is_read(self, move: cst.Call) -> bool:
        """Whether the host reads the moved tensor at once: ``.to(d).cpu()``, ``for i in torch.randperm(n).to(d)``."""
        parent = self._module.parent(move)
        if isinstance(parent, (cst.For, cst.CompFor)):
            return parent.iter is move
        call = self._module.parent(parent) if isinstance(parent, cst.Attribute) and parent.value is move else None
        return isinstance(call, cst.Call) and call.func is parent and method(call) in READING

    def _may_only_convert(self, move: cst.Call) -> bool:
        """Whether a move is ``.type_as(x)``, and ``x`` is not known to be on an accelerator."""
        if method(move) != "type_as":
            return False
        other = self._module.value(argument(move, "other", 0))
        return other.device is Device.UNKNOWN and not self._module.shared(Happening).copies(move)


def _is_empty(made: cst.Call, name: str) -> bool:
    """Whether a tensor has no elements, as in ``torch.empty(0, 4)``, so that nothing is copied."""
    sizes = [arg.value for arg in made.args if arg.keyword is None]
    if sizes and isinstance(sizes[0], (cst.Tuple, cst.List)):
        sizes = [element.value for element in sizes[0].elements]
    elif name not in _SIZED or (name == "torch.arange" and len(sizes) > 1):
        return False
    return any(literal(size) == 0 and literal(size) is not False for size in sizes)

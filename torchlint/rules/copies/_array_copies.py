"""Copies: tensors made from ndarrays, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, may_call, method, positional
from torchlint.analysis.things.lifetime import Lifetimes
from torchlint.analysis.things.move import FirstMove, Moves
from torchlint.analysis.values.dtypes import dtype_of
from torchlint.analysis.values.lattice import Kind, Value
from torchlint.rules.copies._factories import Factories

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LEGACY = {"torch.Tensor": "float32", "torch.FloatTensor": "float32"}
_LAST = frozenset({"tensor", "Tensor", "FloatTensor"})
_NO_ARRAYS = (cst.List, cst.Tuple, cst.ListComp, cst.GeneratorExp, cst.Integer, cst.Float)
_KEEPERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})


class ArrayCopy(NamedTuple):
    """A tensor made by copying an ndarray that need not have been copied.

    ``move`` takes it to a device then, ``converts`` says whether a dtype is asked for, and
    ``certain`` is false where only the array's dtype decides whether there is anything to gain.
    """

    call: cst.Call
    data: cst.BaseExpression
    array: Value
    move: FirstMove | None
    converts: bool
    certain: bool

    @property
    def moved(self) -> cst.Call | None:
        """The call that takes the tensor to a device."""
        return self.move.call if self.move is not None else None


class Copies:
    """Finds needless copies in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, call: cst.Call) -> ArrayCopy | None:
        """The needless copy that a call makes, if it is proved to be one."""
        name = self._module.qualified(call.func) if may_call(call, _LAST) else None
        if name == "torch.tensor":
            data, wanted = argument(call, "data", 0), keyword(call, "dtype")
            if any(keyword(call, word) is not None for word in ("device", "requires_grad", "pin_memory")):
                return None  # these ask for a new tensor, or are the better form already
        elif name in _LEGACY and len(call.args) == 1:
            data, wanted = positional(call, 0), None
        else:
            return None
        if data is None or isinstance(data, _NO_ARRAYS) or is_opaque(call) or self._is_kept(call):
            return None
        array = self._module.value(data)
        if array.kind is not Kind.NDARRAY or array.unshareable:
            return None
        if self._module.shared(Factories).regular(call) is not None:
            return None  # nothing need be converted at all, which TL103 says
        if name in _LEGACY and array.dtype == _LEGACY[name]:
            return None  # the legacy constructors share an array of their own dtype
        target = _LEGACY.get(name) or (dtype_of(self._module.evaluator, wanted) if wanted else None)
        return self._judged(call, data, array, target, bool(wanted) or name in _LEGACY)

    def _judged(
        self, call: cst.Call, data: cst.BaseExpression, array: Value, target: str | None, converts: bool
    ) -> ArrayCopy | None:
        moved = self._module.shared(Moves).first_move_of(call)
        if moved is not None:
            return ArrayCopy(call, data, array, moved, converts, certain=True)
        same = target is not None and array.dtype == target
        differs = target is not None and array.dtype is not None and not same
        if converts and (differs or (array.dtype is None and self._module.qualified(call.func) in _LEGACY)):
            return None  # the conversion copies anyway
        if Lifetimes(self._module).reused(data) is not None:
            return None  # the copy protects somebody
        return ArrayCopy(call, data, array, None, converts, certain=not converts or same)

    def _is_kept(self, call: cst.Call) -> bool:
        """The tensor becomes a parameter or buffer, which must not share a caller's array."""
        outer = self._enclosing_call(call)
        if outer is None:
            return False
        return self._module.qualified(outer.func) in _KEEPERS or method(outer) == "register_buffer"

    def _enclosing_call(self, node: cst.CSTNode) -> cst.Call | None:
        parent = self._module.parent(node)
        outer = self._module.parent(parent) if isinstance(parent, cst.Arg) else None
        return outer if isinstance(outer, cst.Call) else None


def is_blocking(move: cst.Call) -> bool:
    """The move waits; an asynchronous one must not become ``device=``, which always waits."""
    return keyword(move, "non_blocking") is None or literal(keyword(move, "non_blocking")) is False

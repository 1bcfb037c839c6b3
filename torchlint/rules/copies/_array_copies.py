"""TL101: tensors created by copying an ndarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, may_call, method
from torchlint.analysis.things.lifetime import Lifetimes
from torchlint.analysis.things.move import FirstMove, Moves
from torchlint.analysis.values.lattice import Kind, Value
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.rules.copies._factories import Factories

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CONSTRUCTOR_NAMES = frozenset({"tensor"})
_NOT_ARRAYS = (cst.List, cst.Tuple, cst.ListComp, cst.GeneratorExp, cst.Integer, cst.Float)
_PARAMETER_CLASSES = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})


class ArrayCopy(NamedTuple):
    """A tensor created by a needless copy of an ndarray.

    ``move`` is its first move to a device. ``converts`` is true if a dtype is given. ``certain`` is false if the dtype
    of the array decides whether the copy is needless.
    """

    call: cst.Call
    data: cst.BaseExpression
    array: Value
    move: FirstMove | None
    converts: bool
    certain: bool

    @property
    def moved(self) -> cst.Call | None:
        """The call that moves the tensor to a device, or None."""
        return self.move.call if self.move is not None else None


class ArrayCopies:
    """Finds the needless copies of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, call: cst.Call) -> ArrayCopy | None:
        """The needless copy that a call makes, or None."""
        # `torch.Tensor(a)` shares the memory of an array of its own dtype, and any other array must be converted.
        if not may_call(call, _CONSTRUCTOR_NAMES) or self._module.qualified(call.func) != "torch.tensor":
            return None
        data, wanted = argument(call, "data", 0), keyword(call, "dtype")
        if any(keyword(call, word) is not None for word in ("device", "requires_grad", "pin_memory")):
            return None  # with these, the call must create a new tensor, or is efficient already
        if data is None or isinstance(data, _NOT_ARRAYS) or is_opaque(call) or self._is_registered(call):
            return None
        array = self._module.value(data)
        if array.kind is not Kind.NDARRAY or array.unshareable:
            return None
        if self._module.shared(Factories).generated(call) is not None:
            return None  # TL103 reports the conversion
        target = dtype_of(self._module.evaluator, wanted) if wanted else None
        return self._classify(call, data, array, target, bool(wanted))

    def _classify(
        self, call: cst.Call, data: cst.BaseExpression, array: Value, target: str | None, converts: bool
    ) -> ArrayCopy | None:
        same = target is not None and array.dtype == target
        if target is not None and array.dtype is not None and not same:
            return None  # the conversion copies anyway, and runs on the host with `device=` as well
        moved = self._module.shared(Moves).first_move_of(call)
        if moved is None and Lifetimes(self._module).reused(data) is not None:
            return None  # the copy is needed
        return ArrayCopy(call, data, array, moved, converts, certain=not converts or same)

    def _is_registered(self, call: cst.Call) -> bool:
        """Whether the tensor becomes a parameter or buffer, which should not share the memory of an array."""
        outer = self._module.call_with_argument(call)
        if outer is None:
            return False
        return self._module.qualified(outer.func) in _PARAMETER_CLASSES or method(outer) == "register_buffer"


def is_blocking(move: cst.Call) -> bool:
    """Whether a move blocks; an asynchronous move should not be replaced by ``device=``, which always blocks."""
    return keyword(move, "non_blocking") is None or literal(keyword(move, "non_blocking")) is False

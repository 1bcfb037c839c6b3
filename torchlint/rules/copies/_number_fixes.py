"""Fixes of TL105: numbers that the device fills in itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.things.defaults import Defaults
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.proof import Proof, fix
from torchlint.edit.targets import Target, Targets
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Fix
from torchlint.rules.copies._factories import makers
from torchlint.rules.copies._number_uploads import NumberUpload, number_upload

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_KEPT = {
    "torch.tensor": ("dtype", "device", "requires_grad"),
    "torch.as_tensor": ("dtype", "device"),
    "torch.asarray": ("dtype", "device", "requires_grad"),
    "new_tensor": ("dtype", "device", "requires_grad"),
}
_DATA = ("data", "obj")
# Methods that only change the shape, on any device in the same way.
_FORMS = frozenset("unsqueeze squeeze view reshape detach".split())
# Dtypes that hold every number that is proved, after rounding.
_ROUNDING = frozenset({"float32", "float64"})
_NUMBER = (
    "`torch.full` raises an error for numbers out of the dtype's range, where a conversion may wrap or give infinity, "
    "and ignores the dtype of a NumPy number"
)
_OWN_METHODS = "an object that is not a plain tensor may have no `new_full`, or one of its own"


@or_none
def fill_on_device(module: SourceModule, copy: cst.BaseExpression) -> Fix:
    """Replace ``torch.tensor(0.0, device=device)`` by ``torch.full((), 0.0, device=device)``, where that is copied."""
    found = next((found for call in makers(module, copy) if (found := number_upload(module, call)) is not None), None)
    if found is None or found.place is not copy:
        raise Unfixable
    return _Rewrite(module, found).fix()


class _Rewrite:
    """The replacement of one constructor."""

    def __init__(self, module: SourceModule, found: NumberUpload) -> None:
        self._module, self._found, self._number = module, found, found.number
        self._editor, self._proof = module.shared(Editor), module.shared(Proof)
        self._defaults = module.shared(Defaults)
        self._kept = {arg.keyword.value: arg.value for arg in found.call.args if arg.keyword is not None}

    def fix(self) -> Fix:
        call, move, targets = self._found.call, self._found.move, self._module.shared(Targets)
        target = targets.of_first(move) if move is not None else None
        if move is not None and not _FORMS.issuperset(move.methods):
            raise Unfixable
        kept = self._legacy_dtype() if self._found.name in LEGACY else self._other_arguments()
        arguments = ", ".join([self._shape(), self._text(), *kept, *self._device(target)])
        edits = [self._editor.replace_inside(call, f"{self._factory()}({arguments})")]
        if move is not None:
            edits.append(targets.remove_move(call, move))
        return fix("fill it in on the device", edits, self._caveats(target))

    def _shape(self) -> str:
        ones = ", ".join("1" * self._found.rank)
        return f"({ones},)" if self._found.rank == 1 else f"({ones})"

    def _text(self) -> str:
        """The number; as a float if only its type tells that the default dtype is wanted."""
        constant = literal(self._number)
        if self._found.name == "torch.Tensor" and isinstance(constant, int):
            return repr(float(constant))
        return self._editor.argument(self._number)

    def _factory(self) -> str:
        call = self._found.call
        if self._found.name != "new_tensor":
            return self._module.shared(Speller).sibling(call, "torch.full").text
        assert isinstance(call.func, cst.Attribute)
        return f"{self._editor.source(call.func.value)}.new_full"

    # -- arguments ---------------------------------------------------------------------------------

    def _other_arguments(self) -> list[str]:
        """The keyword arguments that the factory has as well."""
        given = {name: value for name, value in self._kept.items() if name not in _DATA}
        positions = len(self._found.call.args) - len(self._kept)
        if not set(given) <= set(_KEPT[self._found.name]) or positions + any(n in self._kept for n in _DATA) != 1:
            raise Unfixable
        if self._found.move is not None and not set(given) <= {"dtype"}:
            raise Unfixable  # the moved tensor is no leaf
        return [f"{name}={self._editor.argument(value)}" for name, value in given.items()]

    def _legacy_dtype(self) -> list[str]:
        """The dtype of a legacy constructor, unless ``torch.full`` infers it."""
        default, constant = self._found.name == "torch.Tensor", literal(self._number)
        dtype = LEGACY_DTYPES[self._found.name]
        plain = isinstance(constant, (int, float)) and self._proof.is_number(self._number)
        if self._kept or (default and (self._defaults.sets_tensor_type or isinstance(constant, bool) or not plain)):
            raise Unfixable
        inferred = {bool: "bool", int: "int64", float: "float32"}.get(type(constant))
        own = inferred == dtype and not (inferred == "float32" and self._defaults.dtype_may_differ(self._found.call))
        if own or default:
            return []
        return [f"dtype={self._module.shared(Speller).sibling(self._found.call, f'torch.{dtype}').text}"]

    def _device(self, target: Target | None) -> list[str]:
        """The device, if the call does not name it already."""
        if target is not None and target.dtype is not None:
            raise Unfixable  # two conversions
        if target is not None:
            return [f"device={target.device}"]
        if LEGACY.get(self._found.name) == "cuda":
            return [f"device={self._module.shared(Targets).quoted('cuda', self._found.call)}"]
        return []

    # -- safety ------------------------------------------------------------------------------------

    def _caveats(self, target: Target | None) -> list[str]:
        caveats = [] if self._is_converted_alike() else [_NUMBER]
        if self._found.name == "new_tensor":
            caveats.append(_OWN_METHODS)
        return [*caveats, *(target.caveats if target is not None else self._proof.around(self._found.call))]

    def _is_converted_alike(self) -> bool:
        """Whether filling gives the same as a conversion, with whatever dtype the tensor has."""
        if self._proof.is_small(self._number):
            return True
        asked = self._kept.get("dtype")
        inferred = asked is None or literal(asked) is None
        dtype = LEGACY_DTYPES.get(self._found.name) or self._proof.dtype(asked)
        if inferred and self._found.name not in LEGACY:
            return self._proof.is_number(self._number)
        whole = self._proof.is_whole(self._number)
        return (whole and dtype == "int64") or (dtype in _ROUNDING and self._proof.is_number(self._number))

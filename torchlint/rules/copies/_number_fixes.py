"""Fixes of TL105: numbers that the device fills in itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.values.dtypes import dtype_of
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import ON_META, REORDERED, Targets
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._number_uploads import NumberUpload
from torchlint.rules.copies._numbers import Numbers

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
_RANGE = "`torch.full` raises an error for numbers out of the dtype's range, where a conversion gives infinity"
_UNSIGNED = "if the dtype is `uint64`, negative numbers and floats no longer raise an error"
_NUMPY = "a NumPy number has a dtype of its own, which `torch.full` ignores"
_OWN_METHODS = "an object that is not a plain tensor may have no `new_full`, or one of its own"
_EXACT = 2**24  # every default dtype rounds integers up to this one alike, given as a float


@or_none
def fill_on_device(module: SourceModule, found: NumberUpload) -> Fix | None:
    """Replace ``torch.tensor(0.0, device=device)`` by ``torch.full((), 0.0, device=device)``."""
    return _Rewrite(module, found).fix() if found.number is not None else None


class _Rewrite:
    """The replacement of one constructor."""

    def __init__(self, module: SourceModule, found: NumberUpload) -> None:
        assert found.number is not None
        self._module, self._found, self._number = module, found, found.number
        self._editor, self._targets = module.shared(Editor), module.shared(Targets)
        self._defaults = module.shared(Defaults)
        self._kept = {arg.keyword.value: arg.value for arg in found.call.args if arg.keyword is not None}

    def fix(self) -> Fix:
        call, move = self._found.call, self._found.move
        kept = self._legacy_dtype() if self._found.name in LEGACY else self._other_arguments()
        arguments = ", ".join([self._shape(), self._text(), *kept, *self._device()])
        edits: list[Edit] = [self._editor.replace_inside(call, f"{self._factory()}({arguments})")]
        if move is not None:
            if not _FORMS.issuperset(move.methods):
                raise Unfixable
            edits += self._targets.remove_move(call, move)
        caveat = "; ".join(self._caveats()) or None
        return Fix("fill it in on the device", Safety.UNSAFE if caveat else Safety.SAFE, tuple(edits), caveat)

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
        name = self._found.name.rpartition(".")[2].removesuffix("Tensor")
        constant, dtype = literal(self._number), LEGACY_DTYPES[name]
        if self._kept:
            raise Unfixable
        if not name:
            self._check_default_dtype(constant)
            return []
        inferred = {bool: "bool", int: "int64", float: "float32"}.get(type(constant))
        if inferred == dtype and not (inferred == "float32" and self._defaults.dtype_may_differ(self._found.call)):
            return []
        return [f"dtype={self._module.shared(Speller).sibling(self._found.call, f'torch.{dtype}').text}"]

    def _check_default_dtype(self, constant: object) -> None:
        """Check that ``torch.full`` creates what ``torch.Tensor`` does. Raises :class:`Unfixable`."""
        if self._defaults.sets_tensor_type or isinstance(constant, bool):
            raise Unfixable
        if not isinstance(constant, (int, float)) or (isinstance(constant, int) and abs(constant) > _EXACT):
            raise Unfixable

    def _device(self) -> list[str]:
        """The device, if the call does not name it already."""
        found = self._found
        if found.move is not None:
            target = self._targets.of(found.move.call)
            if target.dtype is not None:
                raise Unfixable  # two conversions
            return [f"device={target.device}"]
        if LEGACY.get(found.name) == "cuda":
            return [f"device={self._targets.quoted('cuda', found.call)}"]
        return []

    # -- safety ------------------------------------------------------------------------------------

    def _caveats(self) -> list[str]:
        numbers = self._module.shared(Numbers)
        plain = numbers.plain(self._number)
        caveats = [] if plain is not None else [_RANGE, _NUMPY]
        if plain != "any" and self._may_be_unsigned():
            caveats.append(_UNSIGNED)
        if self._found.move is not None and self._targets.reorders(self._found.move.call):
            caveats.append(REORDERED)
        if self._found.move is not None and self._defaults.may_use_meta_device:
            caveats.append(ON_META)
        if self._found.name == "new_tensor" and not self._module.is_plain_tensor(receiver(self._found.call)):
            caveats.append(_OWN_METHODS)
        return caveats

    def _may_be_unsigned(self) -> bool:
        """Whether the dtype is, or may be, ``torch.uint64``."""
        asked = keyword(self._found.call, "dtype")
        if asked is None or literal(asked) is None:
            return self._found.name == "new_tensor"
        return dtype_of(self._module.evaluator, asked) in (None, "uint64")

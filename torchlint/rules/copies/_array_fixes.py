"""Fixes of TL101, TL102 and TL106: tensors that share, transfer or convert an array, and arrays that are combined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, method
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import CASTS, FORMS, SHAPES
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.proof import Proof, fix
from torchlint.edit.targets import Targets
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._array_copies import ArrayCopy, is_blocking
from torchlint.rules.copies._array_lists import ArrayList

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_SHARES = "the tensor and the array share memory afterwards, and if the array is read-only, torch warns"
_LEGACY = "an array that the legacy constructor rejects, or interprets as a size, is converted"
_ROUNDED = "numbers are rounded to float32, and what is computed with them gets another dtype"
_CAST = (
    "the conversion runs on the device, which may lack the array's dtype or convert out-of-range numbers differently"
)
_LIST = (
    "an empty list fails or gets another dtype, as may arrays of different dtypes; all shapes must be equal; "
    "zero-dimensional arrays no longer raise an error, and arrays without elements may give another shape"
)


@or_none
def without_copy(module: SourceModule, copy: ArrayCopy) -> Fix:
    """Create the tensor with ``device=``, or replace ``torch.tensor(a)`` by ``torch.as_tensor(a)``."""
    if copy.moved is not None and copy.move is not None and is_blocking(copy.moved):
        return _create_on_device(module, copy)
    return _share_memory(module, copy)


@or_none
def as_float32(module: SourceModule, call: cst.Call) -> Fix:
    """Convert to float32 on the host, or let the constructor do so."""
    editor = module.shared(Editor)
    if module.qualified(call.func) == "torch.from_numpy":
        return Fix("convert it to float32", Safety.UNSAFE, editor.append(call, ".float()"), _ROUNDED)
    dtype = module.shared(Speller).spell("torch.float32", call, importing=True)
    edits = (*dtype.edits, *editor.set_argument(call, "dtype", dtype.text))
    return Fix("convert it to float32", Safety.UNSAFE, edits, _ROUNDED)


# -- direct transfer -------------------------------------------------------------------------------


def _create_on_device(module: SourceModule, copy: ArrayCopy) -> Fix:
    """Pass ``device=`` to the constructor, and ``dtype=`` for the first cast before the move."""
    assert copy.move is not None
    targets, editor = module.shared(Targets), module.shared(Editor)
    target, methods = targets.of_first(copy.move), list(copy.move.methods)
    cast = None if keyword(copy.call, "dtype") is not None else next(iter(targets.casts(copy.call, copy.move)), None)
    if cast is not None:
        methods.remove(str(method(cast)))
    if any(link not in FORMS or link in ("type", "requires_grad_") for link in methods):
        raise Unfixable
    if target.dtype is not None and (keyword(copy.call, "dtype") is not None or methods or cast is not None):
        raise Unfixable  # two conversions in a row
    dtype, removal = target.dtype, [targets.remove_move(copy.call, copy.move)]
    if cast is not None:
        dtype = module.shared(Speller).sibling(copy.call, f"torch.{CASTS[str(method(cast))]}").text
        removal.append(editor.remove_call(cast))
    written = f"dtype={dtype}, " if dtype is not None else ""
    added = editor.add_argument(copy.call, f"{written}device={target.device}")
    same = dtype is None and keyword(copy.call, "dtype") is None and SHAPES.issuperset(methods)
    caveats = [*([] if same else [_CAST]), *target.caveats]
    return fix(f"transfer it directly, with `{target.words}`", (*added, *removal), caveats)


# -- shared memory ---------------------------------------------------------------------------------


def _share_memory(module: SourceModule, copy: ArrayCopy) -> Fix:
    """Replace ``torch.tensor(a)`` by ``torch.as_tensor(a)``."""
    spelling = module.shared(Speller).sibling(copy.call, "torch.as_tensor")
    edit = module.shared(Editor).replace(copy.call.func, spelling.text)
    proof = module.shared(Proof)
    shared = [] if _is_new(module, copy.data) else [_SHARES]
    caveats = [*shared, *proof.with_new_memory(), *proof.around(copy.call)]
    return fix("share the array's memory, with `torch.as_tensor`", (edit, *spelling.edits), caveats)


def _is_new(module: SourceModule, data: cst.BaseExpression) -> bool:
    """Whether the expression itself is a call of a NumPy function that always allocates its result."""
    value = module.value(data)
    if not isinstance(data, cst.Call) or value.kind is not Kind.NDARRAY or not value.fresh or value.origin is not data:
        return False
    name = module.qualified(data.func) or ""
    allocates = name.startswith("numpy.") and not is_opaque(data) and keyword(data, "out") is None
    return allocates and (name != "numpy.array" or _is_display(data))


def _is_display(call: cst.Call) -> bool:
    """Whether ``np.array`` gets a list or tuple that is written there; ``__array__`` of others may share memory."""
    dtypes = all(arg.keyword is not None and arg.keyword.value == "dtype" for arg in call.args[1:])
    return bool(call.args) and dtypes and isinstance(call.args[0].value, (cst.List, cst.Tuple, cst.ListComp))


# -- lists of arrays -------------------------------------------------------------------------------


@or_none
def stacked_first(module: SourceModule, found: ArrayList) -> Fix:
    """Replace ``torch.tensor(arrays)`` by ``torch.tensor(np.array(arrays))``."""
    editor, speller = module.shared(Editor), module.shared(Speller)
    if any(arg.keyword is not None and arg.keyword.value not in _KEYWORDS for arg in found.call.args):
        raise Unfixable
    array = speller.spell("numpy.array", found.call)
    edits: tuple[Edit, ...] = editor.wrap(found.data, f"{array.text}(", ")")
    if isinstance(found.data, cst.GeneratorExp):
        raise Unfixable
    caveat = _LIST
    if str(module.qualified(found.call.func)) in LEGACY:
        caveat = f"{_LIST}; {_LEGACY}"
        edits = (editor.replace_inside(found.call, _legacy_list(module, found, array.text)),)
    return Fix(f"combine the arrays first, with `{array.text}`", Safety.UNSAFE, edits, caveat)


_KEYWORDS = frozenset({"data", "obj", "dtype", "device", "requires_grad", "pin_memory"})


def _legacy_list(module: SourceModule, found: ArrayList, array: str) -> str:
    """``torch.FloatTensor(arrays)`` as ``torch.as_tensor(np.array(arrays), dtype=torch.float32)``."""
    speller, editor = module.shared(Speller), module.shared(Editor)
    name = str(module.qualified(found.call.func))
    if LEGACY[name] == "cuda":
        raise Unfixable
    made = speller.sibling(found.call, "torch.as_tensor").text
    named = speller.sibling(found.call, f"torch.{LEGACY_DTYPES[name]}").text
    return f"{made}({array}({editor.argument(found.data)}), dtype={named})"

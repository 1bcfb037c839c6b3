"""Fixes of TL101, TL102 and TL106: tensors that share, transfer or convert an array, and arrays that are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import argument, keyword, method, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.things.lifetime import reads_no_elements
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import EXPANDED, ON_META, Targets
from torchlint.knowledge.arrays import ARRAYS
from torchlint.knowledge.factories import FORM_METHODS
from torchlint.knowledge.tensors import CASTS, LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._array_copies import ArrayCopy, is_blocking
from torchlint.rules.copies._array_lists import ArrayList
from torchlint.rules.copies._array_shapes import ArrayShapes

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Packages whose functions were tested for whether they allocate memory.
_VERIFIED_PACKAGES = frozenset({"numpy", "cv2", "scipy", "librosa"})
_COPIED_KINDS = frozenset({Kind.LIST, Kind.TUPLE, Kind.NDARRAY, Kind.SCALAR, Kind.NUMPY_SCALAR, Kind.IMAGE})
# Dtypes to which some numbers cannot be converted.
_INTEGER_DTYPES = frozenset({"int64", "int32", "int16", "int8", "uint8"})
_SHARES = "the tensor and the array share memory afterwards: writing to one changes the other"
_READONLY = "the array may be read-only: torch then warns, and the tensor must not be written to"
_RESIZED = "a tensor that shares an array's memory cannot be resized"
_LEGACY = "an array that the legacy constructor rejects, or interprets as a size, is converted"
_ROUNDED = "numbers are rounded to float32, and what is computed with them gets another dtype"
_CAST = (
    "the conversion runs on the device, which may lack the array's dtype or convert out-of-range numbers differently"
)
_SCALAR = "an operation on arrays without dimensions returns a number, which is converted in another way"
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
    assert copy.move is not None
    targets, editor = module.shared(Targets), module.shared(Editor)
    target = targets.of(copy.move.call)
    cast = _foldable_cast(module, copy)
    methods = list(copy.move.methods)
    if cast is not None:
        methods.remove(str(method(cast)))
    caveats = [*_cast_caveats(methods), *([EXPANDED] if targets.expands(copy.move) else [])]
    caveats += [ON_META] if module.shared(Defaults).may_use_meta_device else []
    title = f"transfer it directly, with `{target.words}`"
    removal = targets.remove_move(copy.call, copy.move)
    if target.dtype is not None and (keyword(copy.call, "dtype") is not None or methods or cast is not None):
        raise Unfixable  # two conversions in a row
    dtype = target.dtype
    if dtype is not None and not _is_array(module, copy.data):
        caveats.append(_SCALAR)
    if cast is not None:
        dtype = module.shared(Speller).sibling(copy.call, f"torch.{CASTS[str(method(cast))]}").text
        removal = (editor.remove_call(cast), *removal)
    written = f"dtype={dtype}, " if dtype is not None else ""
    added = editor.add_argument(copy.call, f"{written}device={target.device}")
    caveat = "; ".join(caveats) or None
    return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, (*added, *removal), caveat)


def _foldable_cast(module: SourceModule, copy: ArrayCopy) -> cst.Call | None:
    """The first cast before the move, as in ``torch.tensor(a).float().to(d)``, if the constructor can do it."""
    assert copy.move is not None
    if keyword(copy.call, "dtype") is not None:
        return None
    cast = next(iter(module.shared(Targets).casts(copy.call, copy.move)), None)
    if cast is not None and CASTS[str(method(cast))] in _INTEGER_DTYPES and not _is_array(module, copy.data):
        return None
    return cast


def _is_array(module: SourceModule, data: cst.BaseExpression) -> bool:
    """Whether a value is an array, and no NumPy scalar: operations on arrays without dimensions return scalars."""
    value = module.value(data)
    made = value.origin
    if not isinstance(made, cst.Call):
        computed = isinstance(made, (cst.BinaryOperation, cst.UnaryOperation, cst.Subscript))
        return bool(value.rank) or (value.source == "its annotation" and not computed)
    name = module.qualified(made.func)
    if name is not None:
        return bool(value.rank) or name in ARRAYS
    source = receiver(made)
    return source is not None and method(made) in ("copy", "astype", "reshape", "flatten") and _is_array(module, source)


def _cast_caveats(methods: Sequence[str]) -> list[str]:
    """The caveats of conversions that are now done on the device. Raises :class:`Unfixable`."""
    if any(link not in FORM_METHODS or link in ("type", "requires_grad_") for link in methods):
        raise Unfixable
    return [_CAST] if any(link in CASTS for link in methods) else []


# -- shared memory ---------------------------------------------------------------------------------


def _share_memory(module: SourceModule, copy: ArrayCopy) -> Fix:
    spelling = module.shared(Speller).sibling(copy.call, "torch.as_tensor")
    edit = module.shared(Editor).replace(copy.call.func, spelling.text)
    caveats = []
    if not _is_unaliased(module, copy.data):
        caveats.append(_SHARES)
    if copy.array.readonly:
        caveats.append(_READONLY)
    if "resize_" in module.text:
        caveats.append(_RESIZED)
    caveat = "; ".join(caveats) or None
    title = "share the array's memory, with `torch.as_tensor`"
    return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, (edit, *spelling.edits), caveat)


def _is_unaliased(module: SourceModule, data: cst.BaseExpression) -> bool:
    """Whether nothing else refers to the memory of an array, which has just been allocated for the tensor."""
    if not isinstance(data, cst.Name):
        return _allocates(module, data)
    bindings = module.definitions(data)
    return bool(bindings) and all(_is_only_use(module, binding, data) for binding in bindings)


def _allocates(module: SourceModule, node: cst.BaseExpression) -> bool:
    """Whether an expression certainly allocates new memory."""
    value = module.value(node)
    if value.kind is not Kind.NDARRAY or not value.fresh or value.origin is not node:
        return False
    if isinstance(node, cst.Call):
        name = module.qualified(node.func)
        if name is None:
            return module.value(receiver(node)).kind in (Kind.GENERATOR, Kind.NDARRAY)
        return name.partition(".")[0] in _VERIFIED_PACKAGES and (name != "numpy.array" or _array_copies(module, node))
    return isinstance(node, (cst.BinaryOperation, cst.UnaryOperation))


def _array_copies(module: SourceModule, call: cst.Call) -> bool:
    """Whether ``np.array`` certainly copies its argument; ``__array__`` of other classes may return shared memory."""
    data = argument(call, "object", 0)
    return data is not None and module.value(data).kind in _COPIED_KINDS


def _is_only_use(module: SourceModule, binding: Binding, data: cst.Name) -> bool:
    """Whether a local variable is bound to new memory before each read, and has no other use that reads elements."""
    if binding.kind != "assign" or binding.path or binding.value is None or not _allocates(module, binding.value):
        return False
    function = module.function_of(data)
    if function is None or module.function_of(binding.node) is not function:
        return False
    if not isinstance(binding.statement, cst.Assign) or len(binding.statement.targets) != 1:
        return False
    uses = [use for use in module.uses(binding) if use is not data]
    return all(reads_no_elements(module, use) for use in uses) and not _may_repeat(module, binding.node, data)


def _may_repeat(module: SourceModule, made: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a loop or comprehension repeats the place without creating the array again."""
    around_made = set(module.ancestors(made))
    loops = (cst.For, cst.While, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
    return any(isinstance(around, loops) and around not in around_made for around in module.ancestors(place))


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
    name = str(module.qualified(found.call.func))
    caveat: str | None = None if _gives_same_tensor(module, found) else _LIST
    if name in LEGACY:
        caveat = f"{_LIST}; {_LEGACY}"
        edits = (editor.replace_inside(found.call, _legacy_list(module, found, array.text)),)
    title = f"combine the arrays first, with `{array.text}`"
    return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, edits, caveat)


_KEYWORDS = frozenset({"data", "obj", "dtype", "device", "requires_grad", "pin_memory"})


def _legacy_list(module: SourceModule, found: ArrayList, array: str) -> str:
    """``torch.FloatTensor(arrays)`` as ``torch.as_tensor(np.array(arrays), dtype=torch.float32)``."""
    speller, editor = module.shared(Speller), module.shared(Editor)
    name = str(module.qualified(found.call.func))
    if LEGACY[name] == "cuda":
        raise Unfixable
    dtype = LEGACY_DTYPES[name.rpartition(".")[2].removesuffix("Tensor")]
    made = speller.sibling(found.call, "torch.as_tensor").text
    named = speller.sibling(found.call, f"torch.{dtype}").text
    return f"{made}({array}({editor.argument(found.data)}), dtype={named})"


def _gives_same_tensor(module: SourceModule, found: ArrayList) -> bool:
    """Whether the list is not empty, and its arrays have the same dtype and shape."""
    shapes = module.shared(ArrayShapes)
    if not shapes.has_equal_shapes(found.data):
        return False
    if found.element.dtype is None:
        return False
    dtype = keyword(found.call, "dtype")
    if dtype is None:
        return True
    asked = module.value(dtype).literal
    return asked == found.element.dtype or (asked in ("float32", "float64") and "complex" not in found.element.dtype)

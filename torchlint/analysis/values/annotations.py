"""Abstract values from type annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.values.lattice import NONE, UNKNOWN, Kind, Value, join
from torchlint.knowledge.arrays import ARRAY_ANNOTATIONS, DTYPE_NAMES

if TYPE_CHECKING:
    from torchlint.analysis.code import Code


def annotated(code: Code, annotation: cst.Annotation | None) -> Value:
    """The value that an annotation declares."""
    return annotation_value(code, annotation.annotation) if annotation is not None else UNKNOWN


def annotation_value(code: Code, annotation: cst.BaseExpression) -> Value:
    """The value that an annotation declares: arrays, tensors, numbers, devices, and ``Optional`` of them."""
    if isinstance(annotation, cst.SimpleString):
        return _quoted(code, str(literal(annotation)), annotation)
    if isinstance(annotation, cst.Subscript):
        return _subscripted(code, annotation)
    if isinstance(annotation, cst.BinaryOperation):
        return join((annotation_value(code, annotation.left), annotation_value(code, annotation.right)))
    if isinstance(annotation, cst.Name) and annotation.value == "None":
        return NONE
    qualified = code.qualified(annotation)
    return _by_name(qualified, annotation) if qualified else UNKNOWN


def _quoted(code: Code, text: str, annotation: cst.BaseExpression) -> Value:
    """An annotation in quotes, resolved with the names of the module."""
    parts = [part.strip() for part in text.split("|") if part.strip() != "None"]
    if len(parts) != 1 or not parts[0].replace(".", "").isidentifier():
        return UNKNOWN
    root, _, rest = parts[0].partition(".")
    bindings = code.names.module.bindings.get(root, [])
    meanings = {b.qualified for b in bindings}
    if len(meanings) != 1 or None in meanings:
        return UNKNOWN
    base = str(meanings.pop())
    return _by_name(f"{base}.{rest}" if rest else base, annotation)


def _subscripted(code: Code, annotation: cst.Subscript) -> Value:
    name = code.qualified(annotation.value)
    inner = annotation.slice[0].slice
    if name in ARRAY_ANNOTATIONS:
        array = _by_name(str(name), annotation)
        return array._replace(dtype=_scalar_type(code, inner) if name == "numpy.typing.NDArray" else None)
    if name == "typing.Optional" and isinstance(inner, cst.Index):
        return annotation_value(code, inner.value)
    if name in ("builtins.tuple", "typing.Tuple"):
        members = [s.slice.value for s in annotation.slice if isinstance(s.slice, cst.Index)]
        if not any(isinstance(m, cst.Ellipsis) for m in members):
            return Value(Kind.TUPLE, elements=tuple(annotation_value(code, m) for m in members))
    if name in ("builtins.list", "typing.List", "typing.Sequence", "collections.abc.Sequence") and isinstance(
        inner, cst.Index
    ):
        element = annotation_value(code, inner.value)
        return Value(Kind.LIST, element=element if element.known else None)
    return UNKNOWN


def _scalar_type(code: Code, inner: cst.BaseSlice) -> str | None:
    """The dtype of ``NDArray[np.float32]``."""
    name = code.qualified(inner.value) if isinstance(inner, cst.Index) else None
    return DTYPE_NAMES.get(name) if name else None


_ANNOTATED = {
    "torch.Tensor": Kind.TENSOR,
    "torch.FloatTensor": Kind.TENSOR,
    "torch.LongTensor": Kind.TENSOR,
    "builtins.int": Kind.SCALAR,
    "builtins.float": Kind.SCALAR,
    "builtins.bool": Kind.SCALAR,
    "builtins.str": Kind.STRING,
    "torch.device": Kind.DEVICE,
    "torch.nn.Module": Kind.MODULE,
    "torch.utils.data.DataLoader": Kind.LOADER,
    "pandas.DataFrame": Kind.FRAME,
    "pandas.Series": Kind.SERIES,
    "PIL.Image.Image": Kind.IMAGE,
    "numpy.random.Generator": Kind.GENERATOR,
}


def _by_name(name: str, annotation: cst.CSTNode) -> Value:
    if name.split("[", maxsplit=1)[0] in ARRAY_ANNOTATIONS:
        return Value(Kind.NDARRAY, origin=annotation, source="its annotation")
    kind = _ANNOTATED.get(name)
    return Value(kind, sure=kind is Kind.TENSOR, origin=annotation, source="its annotation") if kind else UNKNOWN

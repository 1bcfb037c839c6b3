"""Dtypes of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


class Dtype(NamedTuple):
    """The dtype of an argument; ``sure`` means that it is a dtype and never ``None``."""

    sure: bool = False
    name: str | None = None


_UNSURE = Dtype()


def dtype_of(values: Values, node: cst.CSTNode) -> str | None:
    """The dtype that an expression names: ``np.float32``, ``torch.float``, ``"float32"``; None if it is not certain."""
    return requested_dtype(values, node).name


def requested_dtype(values: Values, node: cst.CSTNode | None) -> Dtype:
    """The dtype that an expression evaluates to, through names and conditional expressions.

    A default or the visible calls do not determine a parameter, since other files may pass ``None``.
    """
    todo, seen, found = [node], set[cst.CSTNode | None](), list[Dtype]()
    while todo:
        part = todo.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, cst.IfExp):
            todo += [part.body, part.orelse]
        elif isinstance(part, cst.Name) and values.code.qualified(part) not in known.DTYPE_NAMES:
            todo += [_given(binding) for binding in values.code.definitions(part)] or [None]
        else:
            found.append(_named(values, part))
    return _joined(found)


def _given(binding: Binding) -> cst.CSTNode | None:
    """The expression that a binding assigns; for a parameter, the parameter itself."""
    if binding.kind == "parameter":
        return binding.statement
    return binding.value if binding.kind in ("assign", "walrus") and not binding.path else None


def _named(values: Values, node: cst.CSTNode | None) -> Dtype:
    if isinstance(node, cst.Param):
        return Dtype(sure=_is_annotated(values, node))
    name = known.DTYPE_NAMES.get(values.code.qualified(node) or "") if node is not None else None
    if name is not None:
        return Dtype(sure=True, name=name)
    text = literal(node)
    if isinstance(text, str):
        return Dtype(sure=True, name=text if text in known.DTYPES else None)
    if isinstance(node, cst.Attribute) and node.attr.value == "dtype":
        owner = values.value(node.value)
        return Dtype(sure=owner.kind in (Kind.TENSOR, Kind.NDARRAY), name=owner.dtype)
    return _UNSURE


def _is_annotated(values: Values, param: cst.Param) -> bool:
    """Whether a parameter is annotated as ``torch.dtype`` and does not default to ``None``."""
    if param.annotation is None or param.star:
        return False
    annotation = param.annotation.annotation
    name = values.code.qualified(annotation) or dotted(annotation)
    return name == "torch.dtype" and (param.default is None or literal(param.default) is not None)


def _joined(found: list[Dtype]) -> Dtype:
    if not found or not all(one.sure for one in found):
        return _UNSURE
    return found[0] if len(set(found)) == 1 else Dtype(sure=True)

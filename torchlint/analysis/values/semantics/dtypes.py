"""Dtypes of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import literal
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values


def dtype_of(values: Values, node: cst.CSTNode | None) -> str | None:
    """The dtype that an expression names: ``np.float32``, ``torch.float``, ``"float32"``; None if it is not certain.

    Names and conditional expressions are followed. A default or the visible calls do not determine a parameter, since
    other files may pass ``None``.
    """
    todo, seen, found = [node], set[cst.CSTNode | None](), set[str | None]()
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
            found.add(_named(values, part))
    return found.pop() if len(found) == 1 else None


def _given(binding: Binding) -> cst.CSTNode | None:
    """The expression that a binding assigns, or None."""
    return binding.value if binding.kind in ("assign", "walrus") and not binding.path else None


def _named(values: Values, node: cst.CSTNode | None) -> str | None:
    if node is None:
        return None
    name = known.DTYPE_NAMES.get(values.code.qualified(node) or "")
    text = literal(node)
    if name is None and isinstance(text, str):
        return text if text in known.DTYPES else None
    if isinstance(node, cst.Attribute) and node.attr.value == "dtype":
        return values.value(node.value).dtype
    return name

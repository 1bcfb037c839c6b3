"""Compares light trees with LibCST's trees, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import libcst as cst

from torchlint.analysis.module import SyntaxProblem
from torchlint.analysis.syntax.from_ast.parse import parse
from torchlint.analysis.syntax.tree import LazyBlock
from torchlint.analysis.syntax.walk import fields_of

SCALARS: dict[type[cst.CSTNode], tuple[str, ...]] = {
    **dict.fromkeys((cst.Arg, cst.Param, cst.Index), ("star",)),
    **dict.fromkeys((cst.FunctionDef, cst.For, cst.With, cst.CompFor), ("asynchronous",)),
    **dict.fromkeys((cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation), ("operator",)),
    **dict.fromkeys((cst.ComparisonTarget, cst.AugAssign), ("operator",)),
    cst.ImportFrom: ("relative",),
    cst.FormattedString: ("start", "end"),
    cst.FormattedStringExpression: ("conversion", "equal"),
}


def differences(one: object, other: object, way: str = "module") -> Iterator[str]:
    """Where two trees differ in what carries meaning."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            yield f"{way}: {len(one)} and {len(other)} members"
        for i, (left, right) in enumerate(zip(one, other, strict=False)):
            yield from differences(left, right, f"{way}[{i}]")
    elif isinstance(one, cst.CSTNode) and isinstance(other, cst.CSTNode):
        yield from differences_of_nodes(one, other, way)
    elif isinstance(one, str) and isinstance(other, str):
        if one.replace("\r\n", "\n") != other:
            yield f"{way}: {one!r} and {other!r}"
    elif one != other:
        yield f"{way}: {type(one).__name__} and {type(other).__name__}"


fields = cache(fields_of)


def differences_of_nodes(one: cst.CSTNode, other: cst.CSTNode, way: str) -> Iterator[str]:
    kind = cst.IndentedBlock if isinstance(other, LazyBlock) else type(other)
    if type(one) is not kind:
        yield f"{way}: {type(one).__name__} and {kind.__name__}"
        return
    for name in fields(kind):
        yield from differences(getattr(one, name), getattr(other, name), f"{way}.{name}")
    for name in SCALARS.get(kind, ()):
        left, right = outline(getattr(one, name)), outline(getattr(other, name))
        if left != right:
            yield f"{way}.{name}: {left} and {right}"


def outline(value: object) -> object:
    """What of an operator, a star or the dots of an import carries meaning."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return value if isinstance(value, str) else type(value)


def different_nodes(text: str) -> list[str]:
    """Where the light tree of a text differs from LibCST's; what the light parser refuses, LibCST refuses too."""
    try:
        tree = parse(text).tree
    except SyntaxProblem:
        return [] if is_refused(text) else ["only the light parser refuses it"]
    return list(differences(cst.parse_module(text), tree))


def is_refused(text: str) -> bool:
    try:
        cst.parse_module(text)
    except cst.ParserSyntaxError:
        return True
    return False

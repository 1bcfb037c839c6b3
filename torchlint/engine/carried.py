"""Loops that decode or sample: a round passes a tensor or token to a model, and makes the next one from the result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache

from torchlint.engine.values import Kind, Value

_MODELS = frozenset({Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES, Kind.UNKNOWN})
_FUNCTIONS = frozenset({Kind.FUNCTION, Kind.PARTIAL})
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def carries(loop: ast.AST, value_of: Callable[[str], Value | None]) -> bool:
    """Whether a loop passes a tensor or a number on from round to round, by the values at the end of a round."""
    return any(
        (passed := value_of(name)) is not None
        and (called := value_of(callee)) is not None
        and any(member.kind in _may_take(passed) for member in called.members)
        for name, callee in _passed_on(loop)
    )


def _may_take(value: Value) -> frozenset[Kind]:
    """What may compute the next tensor or token from this one."""
    if value.kind is Kind.NUMBER and value.detail is None:
        return _MODELS
    return _MODELS | _FUNCTIONS if value.kind is Kind.TENSOR else frozenset()


@lru_cache(maxsize=1 << 8)
def _passed_on(loop: ast.AST) -> tuple[tuple[str, str], ...]:
    """The names that a round passes to something before it changes them, each with the name of what it passes it to."""
    found: dict[tuple[str, str], None] = {}
    passed: dict[tuple[str, str], None] = {}
    changed = set(_changed(loop.target)) if isinstance(loop, (ast.For, ast.AsyncFor)) else set[str]()
    whole: dict[str, str] = {}  # what a name is, or is a part of
    for part in _in_order(getattr(loop, "body", [])):
        for call in (each for each in ast.walk(part) if isinstance(each, ast.Call)):
            callee = _root(call.func)
            parts = (each for given in (*call.args, *call.keywords) for each in ast.walk(given))
            names = {whole.get(each.id, each.id) for each in parts if isinstance(each, ast.Name)} - changed
            if callee not in changed:
                passed.update(dict.fromkeys((name, callee) for name in names))
        of = part.value if isinstance(part, ast.Assign) else None
        of = of.value if isinstance(of, ast.Subscript) else of
        for name in _changed(part):
            whole[name] = of.id if isinstance(of, ast.Name) else name
            found.update(dict.fromkeys(pair for pair in passed if pair[0] == name))
            changed.add(name)
    return tuple(found)


def _in_order(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The simple statements of a block and of those inside of it, and the headers of the compound ones."""
    for statement in body:
        inner = [block for field in _BLOCKS if isinstance(block := getattr(statement, field, None), list)]
        if not inner:
            yield statement
            continue
        yield from (part for part in ast.iter_child_nodes(statement) if isinstance(part, (ast.expr, ast.withitem)))
        for block in inner:
            yield from _in_order(block)


def _root(node: ast.expr) -> str:
    """The name that a dotted name begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _changed(part: ast.AST) -> Iterator[str]:
    """The names that a statement binds anew, or stores something in."""
    if isinstance(part, ast.AugAssign):
        return
    for each in ast.walk(part):
        if isinstance(each, (ast.Name, ast.Subscript)) and isinstance(each.ctx, ast.Store):
            name = each.id if isinstance(each, ast.Name) else _root(each.value)
            yield from [name] if name else []

"""Walks over the fields that carry meaning.

LibCST's own ``visit`` also walks whitespace, commas and parentheses and costs as much as the parse.
These walks skip them, and look the fields up once per node class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import libcst as cst

_LAYOUT = (
    "whitespace",
    "lpar",
    "rpar",
    "lbrace",
    "rbrace",
    "lbracket",
    "rbracket",
    "leading_",
    "lines_after",
)
_SKIPPED = frozenset(
    "comma semicolon dot equal colon star arrow header footer newline indent first_line empty_lines comment "
    "trailing_whitespace operator star_ind posonly_ind separator relative start end asynchronous "
    "first_colon second_colon "
    "conversion trailing_comma encoding default_indent default_newline has_trailing_newline".split()
)


_fields: dict[type[cst.CSTNode], tuple[str, ...]] = {}


def fields_of(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The names of the fields of a node class that may hold meaningful nodes."""
    found = _fields.get(kind)
    if found is None:
        found = tuple(f.name for f in dataclasses.fields(kind) if _is_semantic(f.name))
        _fields[kind] = found
    return found


def _is_semantic(name: str) -> bool:
    return name not in _SKIPPED and not name.startswith(_LAYOUT)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The meaningful child nodes, in field order."""
    found: list[cst.CSTNode] = []
    for name in fields_of(node.__class__):
        value: Any = getattr(node, name)
        kind = value.__class__
        if kind in _SEQUENCES:
            found.extend(value)
        elif _is_node(kind):
            found.append(value)
    return found


@cache
def _is_node(kind: type) -> bool:
    """Asked once a class: ``isinstance`` is slow for classes with an abstract base."""
    return issubclass(kind, cst.CSTNode)


_SEQUENCES = frozenset({tuple, list})


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))

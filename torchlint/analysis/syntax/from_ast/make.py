"""Creates LibCST nodes without their constructors, which would validate layout that is not set."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

Node = Any
Maker = Callable[..., Any]
_new = object.__new__


def maker(kind: type[cst.CSTNode], *fields: str) -> Maker:
    """A function that creates nodes of a class from the values of these fields, in this order."""
    setters = [getattr(kind, name).__set__ for name in fields]
    made: Maker = _MAKERS[len(fields)](kind, *setters)
    return made


def operators(kinds: Mapping[type[ast.AST], type[cst.CSTNode]]) -> dict[type[ast.AST], Node]:
    """One shared node for each operator."""
    return {operator: maker(kind)() for operator, kind in kinds.items()}


def _none(kind: type[cst.CSTNode]) -> Maker:
    return lambda: _new(kind)


def _one(kind: type[cst.CSTNode], put: Maker) -> Maker:
    def make(value: Node) -> Node:
        node = _new(kind)
        put(node, value)
        return node

    return make


def _two(kind: type[cst.CSTNode], put: Maker, put_second: Maker) -> Maker:
    def make(first: Node, second: Node) -> Node:
        node = _new(kind)
        put(node, first)
        put_second(node, second)
        return node

    return make


def _three(kind: type[cst.CSTNode], put: Maker, put_second: Maker, put_third: Maker) -> Maker:
    def make(first: Node, second: Node, third: Node) -> Node:
        node = _new(kind)
        put(node, first)
        put_second(node, second)
        put_third(node, third)
        return node

    return make


def _several(kind: type[cst.CSTNode], *setters: Maker) -> Maker:
    def make(*values: Node) -> Node:
        node = _new(kind)
        for put, value in zip(setters, values, strict=True):
            put(node, value)
        return node

    return make


_MAKERS: dict[int, Maker] = {0: _none, 1: _one, 2: _two, 3: _three, 4: _several, 5: _several, 6: _several, 7: _several}

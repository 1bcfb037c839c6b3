"""The functions of a source file, and the lines in them that call something by a name."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

_MODULE = "<module>"
# What stands for a call of these methods in source text.
_LOOPS = ("__iter__", "__next__")
_FORMATS = "__format__"
_OPERATIONS = (
    ast.Assert,
    ast.AugAssign,
    ast.BinOp,
    ast.BoolOp,
    ast.If,
    ast.IfExp,
    ast.Subscript,
    ast.UnaryOp,
    ast.While,
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Function(NamedTuple):
    """A function, or the code of a module; ``first`` is the line of its first decorator."""

    name: str
    first: int
    last: int
    node: ast.AST

    def lines(self, called: str) -> tuple[int, ...]:
        """The lines on which its own code calls something with this name, in order.

        An empty name stands for what calls no function, such as the condition of an ``if``.
        """
        return tuple(sorted({node.lineno for node in self._own() if _calls(node, called) and hasattr(node, "lineno")}))

    def _own(self) -> Iterator[ast.AST]:
        """Its nodes without those of functions in it."""
        waiting = list(ast.iter_child_nodes(self.node))
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, _FUNCTIONS):
                waiting += ast.iter_child_nodes(node)


class Functions:
    """The functions of a file; none if it cannot be parsed."""

    def __init__(self, text: str) -> None:
        self._all: list[Function] = []
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        self._all.append(Function(_MODULE, 1, len(text.splitlines()) or 1, tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min(each.lineno for each in (node, *node.decorator_list))
                self._all.append(Function(node.name, first, node.end_lineno or first, node))
            elif isinstance(node, ast.Lambda):
                self._all.append(Function("<lambda>", node.lineno, node.end_lineno or node.lineno, node))

    def at(self, name: str, line: int) -> Function | None:
        """The innermost function with this name, or any if that is unknown, that has this line."""
        found = [each for each in self._all if name in ("", each.name) and each.first <= line <= each.last]
        return max(found, key=lambda each: each.first, default=None)


def _calls(node: ast.AST, called: str) -> bool:
    if not called:
        return _operates(node)
    if called in _LOOPS and isinstance(node, ast.For | ast.AsyncFor):
        return True
    if called == _FORMATS and isinstance(node, ast.FormattedValue):
        return True
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return called == (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None))


def _operates(node: ast.AST) -> bool:
    """Whether something happens here without a call of a function: an operator, a condition, a constructor."""
    if isinstance(node, ast.Call):
        return isinstance(getattr(builtins, getattr(node.func, "id", ""), None), type)
    return isinstance(node, _OPERATIONS)

"""The functions of a source file, and the lines in them that call something by a name."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Container, Iterator
from types import BuiltinFunctionType
from typing import NamedTuple

_MODULE = "<module>"
# What stands for a call of these methods in source text.
_LOOPS = ("__iter__", "__next__")
_FORMATS = "__format__"
# They are functions until Python 3.11.
_COMPREHENSIONS = {"<listcomp>": ast.ListComp, "<setcomp>": ast.SetComp, "<dictcomp>": ast.DictComp}
# Operators of PyTorch that make a Python value of a tensor: for a condition, and for anything else.
CONDITION = "aten::is_nonzero"
CONVERSIONS = (CONDITION, "aten::item")
# Those that an index with a tensor in it is: of what is read, and of what is written.
_INDEX, _WRITE = "aten::index", "aten::index_put_"
OPERATORS = frozenset({*CONVERSIONS, _INDEX, _WRITE})
_CONDITIONS = (ast.Assert, ast.BoolOp, ast.If, ast.IfExp, ast.Not, ast.While)
_OPERATORS = (ast.AugAssign, ast.BinOp, ast.Subscript)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NUMBERS = ("int", "float", "complex")  # which ask for no truth
_BUILTIN = frozenset(name for name, value in vars(builtins).items() if isinstance(value, BuiltinFunctionType))


class Function(NamedTuple):
    """A function, or the code of a module; ``first`` is the line of its first decorator."""

    name: str
    first: int
    last: int
    node: ast.AST

    def lines(self, called: str) -> tuple[int, ...]:
        """The lines on which its own code calls something with this name, in order.

        An empty name stands for what calls no function, such as an operator, and the names of :data:`OPERATORS` for
        what calls these operators of PyTorch without a function.
        """
        return tuple(sorted({line for node, line in self._own() if calls(node, called)}))

    def _own(self) -> Iterator[tuple[ast.AST, int]]:
        """Its nodes without those of functions in it, each with its line or that of the node around it."""
        waiting = [(node, self.first) for node in ast.iter_child_nodes(self.node)]
        while waiting:
            node, around = waiting.pop()
            line = getattr(node, "lineno", around)
            yield node, line
            if not isinstance(node, _FUNCTIONS):
                waiting += ((inner, line) for inner in ast.iter_child_nodes(node))


class Functions:
    """The functions of a file; none if it cannot be parsed."""

    def __init__(self, text: str) -> None:
        self._all: list[Function] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
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


def is_named_call(node: ast.AST | None) -> bool:
    """Whether it is the call of a function by a name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)


def is_builtin_call(node: ast.AST | None) -> bool:
    """Whether it calls a function of Python's own, such as ``print``, which is a function for a profiler."""
    return node is not None and _names(node, _BUILTIN)


def calls(node: ast.AST, called: str) -> bool:
    """Whether a syntax node can call what has this name; see :meth:`Function.lines`."""
    if called in (_INDEX, _WRITE):
        written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        return isinstance(node, ast.Subscript) and (written or called == _INDEX) and not _is_plain(node.slice)
    if called == CONDITION:
        return isinstance(node, _CONDITIONS) or (_constructs(node) and not _names(node, _NUMBERS))
    if called in CONVERSIONS:
        return isinstance(node, ast.Subscript) or _constructs(node)
    if not called:
        return isinstance(node, _CONDITIONS + _OPERATORS) or _constructs(node)
    if called in _LOOPS and isinstance(node, ast.For | ast.AsyncFor):
        return not isinstance(node.iter, ast.List | ast.Tuple) and not _names(node.iter, ("range",))
    if called == _FORMATS and isinstance(node, ast.FormattedValue):
        return True
    if called in _COMPREHENSIONS:
        return isinstance(node, _COMPREHENSIONS[called])
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return called == (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None))


def _is_plain(index: ast.expr) -> bool:
    """Whether an index has no tensor in it for certain: numbers, slices, ``None`` and ``...``."""
    if isinstance(index, ast.Tuple):
        return all(map(_is_plain, index.elts))
    if isinstance(index, ast.UnaryOp):
        return _is_plain(index.operand)
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and not isinstance(index.value, bool))


def _names(node: ast.AST, names: Container[str]) -> bool:
    """Whether it calls something by one of these names alone."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _constructs(node: ast.AST) -> bool:
    """Whether it calls a type of Python's own, such as ``float``, which is no function for a profiler."""
    return isinstance(node, ast.Call) and isinstance(getattr(builtins, getattr(node.func, "id", ""), None), type)

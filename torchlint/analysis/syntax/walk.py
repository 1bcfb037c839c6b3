"""Tree traversals over semantic fields.

LibCST's own ``visit`` also traverses whitespace, commas and parentheses, and costs as much as the parse. These
traversals skip them, and look up the fields of each node class once.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
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


_LEAVES: frozenset[type] = frozenset(
    {
        cst.Name,
        cst.Integer,
        cst.Float,
        cst.Imaginary,
        cst.SimpleString,
        cst.Ellipsis,
        cst.FormattedStringText,
        cst.Pass,
        cst.Break,
        cst.Continue,
        cst.ImportStar,
        cst.ParamStar,
        cst.ParamSlash,
    }
)
_getters: dict[type[cst.CSTNode], Callable[[cst.CSTNode], Iterable[Any]]] = {}


class _Plain(type(cst.CSTNode)):  # type: ignore[misc]
    """A metaclass for LibCST's classes whose ``isinstance`` checks bypass those of ``ABCMeta``."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _make_plain(kind: type[cst.CSTNode]) -> None:
    """Use C implementations of hashing and type checks for a node class: nodes are dictionary keys almost everywhere.

    LibCST's own hash is the identity too, but implemented in Python, and its abstract classes have no registered
    subclasses.
    """
    kind.__hash__ = object.__hash__  # type: ignore[method-assign]
    kind.__class__ = _Plain  # type: ignore[method-assign]
    for below in kind.__subclasses__():
        _make_plain(below)


_make_plain(cst.CSTNode)  # type: ignore[type-abstract]


def fields_of(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields of a node class that may hold semantic child nodes."""
    return tuple(f.name for f in dataclasses.fields(kind) if _is_semantic(f.name))


def _is_semantic(name: str) -> bool:
    return name not in _SKIPPED and not name.startswith(_LAYOUT)


def _getter(kind: type[cst.CSTNode]) -> Callable[[cst.CSTNode], Iterable[Any]]:
    names = fields_of(kind)
    get = attrgetter(*names) if names else lambda _: ()
    found = (lambda node: (get(node),)) if len(names) == 1 else get
    _getters[kind] = found
    return found


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The semantic child nodes, in field order."""
    kind = node.__class__
    found: list[cst.CSTNode] = []
    if kind in _LEAVES:
        return found
    for value in (_getters.get(kind) or _getter(kind))(node):
        if value is not None:
            shape = value.__class__
            if shape is list or shape is tuple:
                found += value
            elif _is_node(shape):
                found.append(value)
    return found


Nodes = defaultdict[type[cst.CSTNode], list[cst.CSTNode]]
Parents = dict[cst.CSTNode, cst.CSTNode]
_Collector = Callable[[cst.CSTNode, Nodes, Parents], None]
_MADE = """def make(kind, collectors, leaves, is_node, {getters}):
  def collect(node, nodes, parents):
    nodes[kind].append(node)
{fields}
  return collect
"""
_FIELD = """
    value = get{number}(node)
    if value is not None:
        shape = value.__class__
        if shape in leaves:
            parents[value] = node
            nodes[shape].append(value)
        elif shape is list or shape is tuple:
            for child in value:
                parents[child] = node
                shape = child.__class__
                if shape in leaves:
                    nodes[shape].append(child)
                else:
                    collectors[shape](child, nodes, parents)
        elif is_node(shape):
            parents[value] = node
            collectors[shape](value, nodes, parents)
"""


@cache
def _maker(count: int) -> Callable[..., _Collector]:
    """A factory of collectors for classes with this many fields; unrolling the loop over fields halves the time."""
    made: dict[str, Any] = {}
    getters = ", ".join(f"get{number}" for number in range(count))
    exec(_MADE.format(getters=getters, fields="".join(_FIELD.format(number=n) for n in range(count))), made)
    maker: Callable[..., _Collector] = made["make"]
    return maker


class _Collectors(dict[type[cst.CSTNode], _Collector]):
    """A function for each class that collects a node and everything below it."""

    def __missing__(self, kind: type[cst.CSTNode]) -> _Collector:
        # Collectors for classes outside LibCST are created on first use.
        fields = fields_of(kind) if kind not in _LEAVES and kind.__module__.startswith("libcst.") else ()
        found = self[kind] = _maker(len(fields))(kind, self, _LEAVES, _is_node, *map(attrgetter, fields))
        return found


_collectors = _Collectors()


def collect(root: cst.CSTNode, nodes: Nodes, parents: Parents) -> None:
    """Add a node and everything below it, parents first, to the index by class, and record their parents."""
    _collectors[root.__class__](root, nodes, parents)


def test_of(*kinds: type) -> Callable[[object], bool]:
    """A fast ``isinstance`` check for these classes.

    It caches the result for each class, while ``isinstance`` goes through all the classes every time.
    """
    known: dict[type, bool] = {}

    def test(node: object) -> bool:
        kind = node.__class__
        found = known.get(kind)
        if found is None:
            found = known[kind] = issubclass(kind, kinds)
        return found

    return test


@cache
def _is_node(kind: type) -> bool:
    """Called once per class."""
    return issubclass(kind, cst.CSTNode)


def wording(node: cst.CSTNode) -> str:
    """A text that is equal for expressions with equal spelling."""
    if node.__class__ is cst.Attribute:
        return f"{wording(node.value)}.{wording(node.attr)}"
    if node.__class__ in _LEAVES:
        return str(getattr(node, "value", node.__class__.__name__))
    operator, star = getattr(node, "operator", None), getattr(node, "star", None)
    parts = ", ".join(map(wording, children(node)))
    return f"{node.__class__.__name__}{operator.__class__.__name__}{star or ''}({parts})"


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        below = children(current)
        below.reverse()
        stack += below

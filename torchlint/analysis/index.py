"""The nodes of a module by class, and the node around each; function bodies are parsed when they are first needed.

A module has an outside, which is always there, and units: the bodies of its functions and methods. A question that
only nodes with certain identifiers can answer parses no unit that has none of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from torchlint.analysis.walk import Nodes, Parents, children, collect

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
_IDENTIFIER = re.compile(r"\w+|%")  # the operator that formats counts as one
Identifiers = Set[str]


class Block(cst.IndentedBlock):
    """The block of a unit: its statements are made when they are first asked for."""

    __slots__ = ("unit",)  # type: ignore[misc]

    unit: Unit

    @property
    def body(self) -> Sequence[cst.BaseStatement]:  # type: ignore[override]
        """The statements."""
        return self.unit.statements()


class Unit:
    """The body of a function of the module level or of a method: lines ``first`` to ``last``."""

    def __init__(self, make: Callable[[], Sequence[Any]], text: str, start: int, end: int) -> None:
        self._make, self._text = make, text
        self.start, self.end = start, end
        self.block = object.__new__(Block)
        _put_unit(self.block, self)
        self.index: Index | None = None
        self.nodes: Nodes = defaultdict(list)
        self._statements: Sequence[Any] | None = None

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The identifiers of the body, and the words of its comments and strings."""
        return frozenset(_IDENTIFIER.findall(self._text, self.start, self.end))

    @property
    def is_open(self) -> bool:
        """The nodes of the unit are known."""
        return self._statements is not None

    def statements(self) -> Sequence[Any]:
        """The statements of the body, made now if they have not been."""
        if self._statements is None:
            self._statements = self._make()
            if self.index is not None:
                self.index.opened(self)
        return self._statements


_put_unit = Block.unit.__set__  # type: ignore[attr-defined]


class Index:
    """Nodes and parents of one module, whose words are known."""

    def __init__(self, tree: cst.Module, units: Sequence[Unit]) -> None:
        self.units = units
        self.parents: Parents = {}
        self.outside: Nodes = defaultdict(list)
        self._places: dict[cst.CSTNode, int] = {}
        self._inside: dict[Unit, dict[cst.CSTNode, int]] = {}
        self._regions: dict[tuple[cst.CSTNode, type[cst.CSTNode]], list[cst.CSTNode]] = {}
        self._below: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        self._watchers: list[Callable[[Unit], None]] = []
        collect(tree, self.outside, self.parents)
        self._tree, self._count = tree, len(self.parents)
        for unit in units:
            unit.index = self
            if unit.is_open:
                self.opened(unit)

    def close(self) -> None:
        """Take the parts apart that know one another."""
        for unit in self.units:
            unit.__dict__.clear()
        self.__dict__.clear()

    # -- units -----------------------------------------------------------------------------------

    def watch(self, watcher: Callable[[Unit], None]) -> None:
        """Have a function called for each unit that is opened from now on."""
        self._watchers.append(watcher)

    def opened(self, unit: Unit) -> None:
        """A unit has statements now: their nodes join."""
        for statement in unit.statements():
            self.parents[statement] = unit.block
            collect(statement, unit.nodes, self.parents)
        for watcher in self._watchers:
            watcher(unit)

    def unit_of(self, owner: cst.CSTNode) -> Unit | None:
        """The unit that is the body of a function."""
        body = getattr(owner, "body", None)
        return body.unit if body.__class__ is Block else None

    def holding(self, groups: Iterable[Identifiers]) -> list[Unit]:
        """The units with an identifier of each group, in the order of the text."""
        wanted = tuple(groups)
        return [unit for unit in self.units if self.has(unit, wanted)]

    def has(self, unit: Unit, groups: Iterable[Identifiers]) -> bool:
        """A unit has an identifier of each group."""
        return all(not unit.identifiers.isdisjoint(names) for names in groups)

    # -- nodes -----------------------------------------------------------------------------------

    def of(self, kind: type[NodeT], *groups: Identifiers) -> list[NodeT]:
        """The nodes of exactly this class in source order.

        With groups of identifiers, those of the units with one of each group, and all that stand outside.
        """
        return list(self.each(kind, *groups))

    def each(self, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """The same one by one: units after the last node that is wanted stay closed."""
        return self._merged(kind, self.outside.get(kind, ()), self.holding(groups))  # type: ignore[return-value]

    def _merged(
        self, kind: type[cst.CSTNode], outside: Sequence[cst.CSTNode], units: Sequence[Unit]
    ) -> Iterator[cst.CSTNode]:
        """What stands outside, with what each unit holds put in at its place."""
        before = 0
        for unit in units:
            unit.statements()
            inside = unit.nodes.get(kind)
            if not inside:
                continue
            place = self.place(unit.block)
            while before < len(outside) and self.place(outside[before]) < place:
                yield outside[before]
                before += 1
            yield from inside
        yield from outside[before:]

    def within(self, owner: cst.CSTNode, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """The nodes of exactly this class in and below a node, in source order; units as in :meth:`of`."""
        if (owner, kind) not in self._regions:
            self._regions[owner, kind] = [part for part in self._region(owner) if part.__class__ in (kind, Block)]
        for part in self._regions[owner, kind]:
            if part.__class__ is not Block:
                yield part  # type: ignore[misc]
                continue
            unit: Unit = part.unit
            if self.has(unit, groups):
                unit.statements()
                yield from unit.nodes.get(kind, ())  # type: ignore[misc]

    def _region(self, owner: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """A node and everything below it, parents first, down to the units."""
        if owner not in self._below:
            self._below[owner] = list(_outside(owner))
        return self._below[owner]

    # -- order -----------------------------------------------------------------------------------

    def place(self, node: cst.CSTNode) -> int:
        """The place of a node that stands outside, as a number that only means something beside others."""
        if not self._places:
            # Parents are noted in the order of the text, and those outside functions first.
            self._places = {self._tree: -1, **dict(zip(self.parents, range(self._count), strict=False))}
        return self._places[node]

    def order(self, node: cst.CSTNode) -> tuple[int, int]:
        """The place of any node in the text, to be compared with others."""
        current: cst.CSTNode | None = node
        while current is not None and current.__class__ is not Block:
            current = self.parents.get(current)
        if current is None or current is node:
            return self.place(node), -1
        unit: Unit = current.unit
        if unit not in self._inside:
            inside = (part for statement in unit.statements() for part in _outside(statement))
            self._inside[unit] = {part: i for i, part in enumerate(inside)}
        return self.place(current), self._inside[unit][node]


def _outside(owner: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, parents first; of units only their blocks."""
    stack = [owner]
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ is not Block:
            below = children(node)
            below.reverse()
            stack += below

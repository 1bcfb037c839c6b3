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

from torchlint.analysis.syntax.walk import Nodes, Parents, children, collect

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
_IDENTIFIER = re.compile(r"\w+|%")  # the operator that formats counts as one
Identifiers = Set[str]
Keys = Callable[[Any], Iterable[str]]  # the identifiers by which a node is looked up
Keyed = dict[str, list[cst.CSTNode]]


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
        self._keyed: dict[tuple[type[cst.CSTNode], Keys], Keyed] = {}

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

    def keyed(self, kind: type[cst.CSTNode], keys: Keys) -> Keyed:
        """The nodes of a class by their keys."""
        found = self._keyed.get((kind, keys))
        if found is None:
            self.statements()
            found = self._keyed[kind, keys] = _by_key(self.nodes.get(kind, ()), keys)
        return found


def _by_key(nodes: Iterable[cst.CSTNode], keys: Keys) -> Keyed:
    found: Keyed = {}
    for node in nodes:
        for key in keys(node):
            found.setdefault(key, []).append(node)
    return found


def written(name: cst.Name) -> tuple[str, ...]:
    """A name is looked up by what it is written as."""
    return (name.value,)


def last_part(attribute: cst.Attribute) -> tuple[str, ...]:
    """An attribute is looked up by its own name."""
    return (attribute.attr.value,)


def _start(unit: Unit) -> int:
    return unit.start


_put_unit = Block.unit.__set__  # type: ignore[attr-defined]


class Index:
    """Nodes and parents of one module, whose words are known."""

    def __init__(self, tree: cst.Module, units: Sequence[Unit]) -> None:
        self.units = units
        self.parents: Parents = {}
        self.outside: Nodes = defaultdict(list)
        self._heads: dict[cst.CSTNode, cst.CSTNode] = {}
        self._places: dict[cst.CSTNode, int] = {}
        self._inside: dict[Unit, dict[cst.CSTNode, int]] = {}
        self._regions: dict[tuple[cst.CSTNode, type[cst.CSTNode]], list[cst.CSTNode]] = {}
        self._below: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        self._held: dict[frozenset[str], frozenset[Unit]] = {}
        self._every = frozenset(units)
        self._keyed: dict[tuple[cst.CSTNode | None, type[cst.CSTNode], Keys], Keyed] = {}  # what stands outside
        self._units_below: dict[cst.CSTNode, frozenset[Unit]] = {}
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

    def holding(self, groups: Iterable[Identifiers]) -> Sequence[Unit]:
        """The units with an identifier of each group, in the order of the text."""
        held = self._with_all(groups)
        return self.units if len(held) == len(self.units) else sorted(held, key=_start)

    def has(self, unit: Unit, groups: Iterable[Identifiers]) -> bool:
        """A unit has an identifier of each group."""
        return all(not unit.identifiers.isdisjoint(names) for names in groups)

    def _with_all(self, groups: Iterable[Identifiers]) -> frozenset[Unit]:
        found = [self._with_any(frozenset(names)) for names in groups]
        return frozenset.intersection(*found) if found else self._every

    def _with_any(self, names: frozenset[str]) -> frozenset[Unit]:
        found = self._held.get(names)
        if found is None:
            known = self._by_identifier
            found = self._held[names] = frozenset(unit for name in names for unit in known.get(name, ()))
        return found

    @cached_property
    def _by_identifier(self) -> dict[str, list[Unit]]:
        """The units that have each identifier."""
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            for name in unit.identifiers:
                found.setdefault(name, []).append(unit)
        return found

    # -- nodes -----------------------------------------------------------------------------------

    def of(self, kind: type[NodeT], *groups: Identifiers) -> list[NodeT]:
        """The nodes of exactly this class in source order.

        With groups of identifiers, those of the units with one of each group, and all that stand outside.
        """
        return list(self.each(kind, *groups))

    def each(self, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """The same one by one: units after the last node that is wanted stay closed."""
        return self._merged(self.outside.get(kind, ()), self.holding(groups), lambda unit: unit.nodes.get(kind, ()))

    def keyed(self, kind: type[NodeT], keys: Keys, key: str, owner: cst.CSTNode | None) -> Iterator[NodeT]:
        """The nodes of exactly this class that have a key, in and below a node or of all of the file, in source order.

        A key is an identifier of the node.
        """
        place = owner, kind, keys
        if place not in self._keyed:
            nodes = self.outside.get(kind, ()) if owner is None else self._parts(owner, kind)
            self._keyed[place] = _by_key((node for node in nodes if node.__class__ is kind), keys)
        units = self.holding(({key},))
        if owner is not None and units:
            below = self._below_of(owner)
            units = [unit for unit in units if unit in below]
        outside = self._keyed[place].get(key, ())
        return self._merged(outside, units, lambda unit: unit.keyed(kind, keys).get(key, ()))

    def _below_of(self, owner: cst.CSTNode) -> frozenset[Unit]:
        """The units in and below a node."""
        if owner not in self._units_below:
            blocks = (part for part in self._region(owner) if part.__class__ is Block)
            self._units_below[owner] = frozenset(block.unit for block in blocks)
        return self._units_below[owner]

    def _merged(
        self, outside: Sequence[Any], units: Sequence[Unit], inside_of: Callable[[Unit], Sequence[Any]]
    ) -> Iterator[Any]:
        """What stands outside, with what each unit holds put in at its place."""
        before = 0
        for unit in units:
            unit.statements()
            inside = inside_of(unit)
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
        for part in self._parts(owner, kind):
            if part.__class__ is not Block:
                yield part
                continue
            unit: Unit = part.unit
            if self.has(unit, groups):
                unit.statements()
                yield from unit.nodes.get(kind, ())  # type: ignore[misc]

    def _parts(self, owner: cst.CSTNode, kind: type[cst.CSTNode]) -> Sequence[Any]:
        """The nodes of a class in and below a node, and in their places the blocks of the units there."""
        if (owner, kind) not in self._regions:
            self._regions[owner, kind] = [part for part in self._region(owner) if part.__class__ in (kind, Block)]
        return self._regions[owner, kind]

    def _region(self, owner: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """A node and everything below it, parents first, down to the units."""
        if owner not in self._below:
            self._below[owner] = list(_outside(owner))
        return self._below[owner]

    # -- what is around --------------------------------------------------------------------------

    def around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around a node; of an ``elif`` the ``if`` that it belongs to, past all branches before it."""
        above = self.parents.get(node)
        if above.__class__ is not cst.If or node.__class__ is not cst.If:
            return above
        if node not in self._heads:
            passed, head = [node], above
            while head not in self._heads and (further := self.parents.get(head)).__class__ is cst.If:
                passed.append(head)
                head = further
            self._heads.update(dict.fromkeys(passed, self._heads.get(head, head)))
        return self._heads[node]

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
            current = self.around(current)
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

"""The nodes of a module by class, and the node around each; bodies of functions join when somebody looks.

A module has an outside, which is always there, and units: the bodies of its functions and methods. A question
that can only be answered by nodes with a certain word in them opens no unit without that word. A word that ends with
``(`` is a name that is called there, or given another name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import libcst as cst

from torchlint.analysis.walk import Nodes, Parents, children, collect, descendants
from torchlint.patterns import Pattern
from torchlint.vocabulary import Vocabulary
from torchlint.words import Calls, Followed, Word, Words, holds, signs_of

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
_NAME = re.compile(r"\w+")
Keys = Callable[[Any], Iterable[str]]  # the words by which a node is looked up
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

    def __init__(
        self, make: Callable[[], Sequence[Any]], start: int, end: int, failures: Callable[[], Sequence[tuple[int, int]]]
    ) -> None:
        self._make, self._failures = make, failures
        self.start, self.end = start, end
        self.block = object.__new__(Block)
        _put_unit(self.block, self)
        self.index: Index | None = None
        self.nodes: Nodes = defaultdict(list)
        self._statements: Sequence[Any] | None = None
        self._calm: str | None = None
        self._keyed: dict[tuple[type[cst.CSTNode], Keys], Keyed] = {}

    def calm(self, text: str) -> str:
        """The text of the unit without what words its errors."""
        if self._calm is None:
            places = [self.start, *(place for span in self._failures() for place in span), self.end]
            self._calm = "\n".join(text[start:end] for start, end in zip(places[::2], places[1::2], strict=True))
        return self._calm

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

    def __init__(self, tree: cst.Module, text: str, units: Sequence[Unit], vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self.units = units
        self.parents: Parents = {}
        self.outside: Nodes = defaultdict(list)
        self._heads: dict[cst.CSTNode, cst.CSTNode] = {}
        self._places: dict[cst.CSTNode, int] = {}
        self._inside: dict[Unit, dict[cst.CSTNode, int]] = {}
        self._regions: dict[tuple[cst.CSTNode, type[cst.CSTNode]], list[cst.CSTNode]] = {}
        self._below: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        self._known: dict[Word, frozenset[Unit]] = {}
        self._grouped: dict[tuple[Word, ...], frozenset[Unit]] = {}  # a word may equal the tuple of what it is made of
        self._starts = [unit.start for unit in units]
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

    def holding(self, groups: Iterable[Words]) -> Sequence[Unit]:
        """The units that hold a word of each group, in the order of the text."""
        held = self._with_all(groups)
        return self.units if len(held) == len(self.units) else sorted(held, key=_start)

    def has(self, unit: Unit, groups: Iterable[Words]) -> bool:
        """A unit holds a word of each group."""
        return unit in self._with_all(groups)

    def _with_all(self, groups: Iterable[Words]) -> frozenset[Unit]:
        found = [self._with_any(tuple(words)) for words in groups]
        return frozenset.intersection(*found) if found else self._every

    def _with_any(self, words: tuple[Word, ...]) -> frozenset[Unit]:
        found = self._grouped.get(words)
        if found is None:
            found = self._grouped[words] = frozenset().union(*map(self._with, words))
        return found

    def _with(self, word: Word) -> frozenset[Unit]:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = frozenset(self._search(word))
        return found

    def _search(self, word: Word) -> Iterable[Unit]:
        """The units that hold a word."""
        if isinstance(word, Calls):
            held = self._with_any(word.signs)
            word = word.standing_in(self._vocabulary)
            return (unit for unit in held if word.search(self._text, unit.start, unit.end))
        if not any(map(self._may_hold, signs_of(word))):
            return ()
        if isinstance(word, Followed):
            return (unit for unit in self._around(word.plain) if word.search(self._text, unit.start, unit.end))
        if not isinstance(word, str):
            return (unit for unit in self.units if word.search(self._text, unit.start, unit.end))
        if not word.endswith("("):
            return self._around(word)
        return (unit for unit in self._around(word[:-1]) if holds(self._text, unit.start, unit.end, word))

    def _may_hold(self, text: str) -> bool:
        return self._vocabulary.may_hold(text.encode("utf-8", "surrogatepass"))

    def _around(self, word: str) -> Iterator[Unit]:
        """The units around the places of a plain text."""
        text, units, starts = self._text, self.units, self._starts
        place = text.find(word)
        while place >= 0:
            number = bisect_right(starts, place) - 1
            unit = units[number] if number >= 0 else None
            if unit is not None and place < unit.end:
                yield unit
                place = unit.end - 1
            elif number + 1 < len(units):
                place = units[number + 1].start - 1
            else:
                return
            place = text.find(word, place + 1)

    def calm_functions(self, groups: Sequence[Words], among: Container[cst.CSTNode] | None) -> list[cst.FunctionDef]:
        """The functions that are units and hold a word of each group in what is no error message; ``among`` some."""
        held = [unit for unit in self.holding(groups) if among is None or self._owner(unit) in among]
        return [self._owner(unit) for unit in held if not self._may_fail(unit) or self._is_calm(unit, groups)]

    def _may_fail(self, unit: Unit) -> bool:
        """Some statement of the unit may word an error."""
        return any(self._text.find(word, unit.start, unit.end) >= 0 for word in ("raise", "assert"))

    def _is_calm(self, unit: Unit, groups: Sequence[Words]) -> bool:
        """A word of each group stands in the unit in what is no error message."""
        text = unit.calm(self._text)
        return all(any(holds(text, 0, len(text), word) for word in words) for words in groups)

    def named_from(self, names: Container[str], inside: Pattern) -> frozenset[cst.CSTNode] | None:
        """The functions that have one of these names or ``inside`` in their bodies, what these name, and so on.

        Functions within functions count as the one around them. None where that leads to a function that is no unit.
        """
        called: dict[str, list[Unit]] = {}
        for unit in self.units:
            called.setdefault(self._owner(unit).name.value, []).append(unit)
        every: list[Any] = self.outside[cst.FunctionDef]
        others = {function.name.value for function in every if self.unit_of(function) is None}
        if any(name in names for name in others):
            return None
        text = self._text
        todo = [u for u in self.units if self._owner(u).name.value in names or inside.search(text, u.start, u.end)]
        found = set(todo)
        while todo:
            unit = todo.pop()
            words = {*_NAME.findall(text, unit.start, unit.end), *self._in_header(unit)}
            if not words.isdisjoint(others):
                return None
            for name in called.keys() & words:
                new = [other for other in called[name] if other not in found]
                found.update(new)
                todo += new
        return frozenset(map(self._owner, found))

    def _in_header(self, unit: Unit) -> Iterator[str]:
        """The names in the parameters of a function."""
        return (node.value for node in descendants(self._owner(unit).params) if isinstance(node, cst.Name))

    def _owner(self, unit: Unit) -> cst.FunctionDef:
        """The function whose body a unit is."""
        return self.parents[unit.block]  # type: ignore[return-value]

    # -- nodes -----------------------------------------------------------------------------------

    def of(self, kind: type[NodeT], *groups: Words) -> list[NodeT]:
        """The nodes of exactly this class in source order.

        With groups of words, those of the units that hold a word of each group, and all that stand outside.
        """
        return list(self.each(kind, *groups))

    def each(self, kind: type[NodeT], *groups: Words) -> Iterator[NodeT]:
        """The same one by one: units after the last node that is wanted stay closed."""
        return self._merged(self.outside.get(kind, ()), self.holding(groups), lambda unit: unit.nodes.get(kind, ()))

    def keyed(
        self, kind: type[NodeT], keys: Keys, key: str, owner: cst.CSTNode | None, words: Words
    ) -> Iterator[NodeT]:
        """The nodes of exactly this class that have a key, in and below a node or of all of the file, in source order.

        Every function in which such nodes stand holds one of the words.
        """
        place = owner, kind, keys
        if place not in self._keyed:
            nodes = self.outside.get(kind, ()) if owner is None else self._parts(owner, kind)
            self._keyed[place] = _by_key((node for node in nodes if node.__class__ is kind), keys)
        units = self.holding((words,))
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

    def among(self, kind: type[NodeT], owners: Container[cst.CSTNode]) -> list[NodeT]:
        """The nodes of exactly this class in these functions, and all that stand in no unit, in source order."""
        units = [unit for unit in self.units if self._owner(unit) in owners]
        found = self._merged(self.outside.get(kind, ()), units, lambda unit: unit.nodes.get(kind, ()))
        return list(found)

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

    def within(self, owner: cst.CSTNode, kind: type[NodeT], *groups: Words) -> Iterator[NodeT]:
        """The nodes of exactly this class in and below a node, in source order; units as in :meth:`of`."""
        held: frozenset[Unit] | None = None
        for part in self._parts(owner, kind):
            if part.__class__ is not Block:
                yield part
                continue
            unit: Unit = part.unit
            if held is None:
                held = self._with_all(groups)
            if unit in held:
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

"""An index of the nodes of a module by class and by parent. Function bodies are parsed lazily.

Code outside functions is parsed at once. The body of a top-level function or of a method is a :class:`LazyBody`: its
nodes are created when they are first needed. A query that is limited to certain identifiers does not parse a body that
contains none of them.
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
_IDENTIFIER = re.compile(r"\w+|%")  # the formatting operator `%` counts as an identifier
# A word that every node of a class contains; words of a body are cheap to look up, and its nodes are not.
_KEYWORDS: dict[type[cst.CSTNode], frozenset[str]] = {
    cst.For: frozenset({"for"}),
    cst.CompFor: frozenset({"for"}),
    cst.ListComp: frozenset({"for"}),
    cst.SetComp: frozenset({"for"}),
    cst.DictComp: frozenset({"for"}),
    cst.GeneratorExp: frozenset({"for"}),
    cst.While: frozenset({"while"}),
    cst.FunctionDef: frozenset({"def"}),
    cst.ClassDef: frozenset({"class"}),
    cst.Lambda: frozenset({"lambda"}),
    cst.With: frozenset({"with"}),
}
Identifiers = Set[str]
Keys = Callable[[Any], Iterable[str]]  # the identifiers under which a node is indexed
Keyed = dict[str, list[cst.CSTNode]]


class LazyBlock(cst.IndentedBlock):
    """The block of a lazy body: its statements are created on first access."""

    __slots__ = ("lazy_body",)  # type: ignore[misc]

    lazy_body: LazyBody

    @property
    def body(self) -> Sequence[cst.BaseStatement]:  # type: ignore[override]
        """The statements."""
        return self.lazy_body.statements()


class LazyBody:
    """The body of a top-level function or a method: the text from ``start`` to ``end``, parsed on first use."""

    def __init__(self, make: Callable[[], Sequence[Any]], text: str, start: int, end: int) -> None:
        self._make, self._text = make, text
        self.start, self.end = start, end
        self.block = object.__new__(LazyBlock)
        _set_lazy_body(self.block, self)
        self.index: NodeIndex | None = None
        self.nodes: Nodes = defaultdict(list)
        self._statements: Sequence[Any] | None = None
        self._keyed: dict[tuple[type[cst.CSTNode], Keys], Keyed] = {}

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The identifiers in the body, including the words in its comments and strings."""
        return frozenset(_IDENTIFIER.findall(self._text, self.start, self.end))

    @property
    def is_parsed(self) -> bool:
        """Whether the body has been parsed."""
        return self._statements is not None

    def statements(self) -> Sequence[Any]:
        """The statements of the body; the first call parses them."""
        if self._statements is None:
            self._statements = self._make()
            if self.index is not None:
                self.index.body_parsed(self)
        return self._statements

    def keyed(self, kind: type[cst.CSTNode], keys: Keys) -> Keyed:
        """The nodes of one class in the body, grouped by key."""
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


def spelling_key(name: cst.Name) -> tuple[str, ...]:
    """Index a name by its spelling."""
    return (name.value,)


def attribute_key(attribute: cst.Attribute) -> tuple[str, ...]:
    """Index an attribute by its last part."""
    return (attribute.attr.value,)


def _start(body: LazyBody) -> int:
    return body.start


_set_lazy_body = LazyBlock.lazy_body.__set__  # type: ignore[attr-defined]


class NodeIndex:
    """The nodes and parents of one module."""

    def __init__(self, tree: cst.Module, bodies: Sequence[LazyBody]) -> None:
        self.bodies = bodies
        self.parents: Parents = {}
        self.outside: Nodes = defaultdict(list)
        self._heads: dict[cst.CSTNode, cst.CSTNode] = {}
        self._places: dict[cst.CSTNode, int] = {}
        self._inside: dict[LazyBody, dict[cst.CSTNode, int]] = {}
        self._regions: dict[tuple[cst.CSTNode, type[cst.CSTNode]], list[cst.CSTNode]] = {}
        self._below: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        self._bodies_by_names: dict[frozenset[str], frozenset[LazyBody]] = {}
        self._every = frozenset(bodies)
        self._keyed: dict[tuple[cst.CSTNode | None, type[cst.CSTNode], Keys], Keyed] = {}  # of nodes outside functions
        self._bodies_below: dict[cst.CSTNode, frozenset[LazyBody]] = {}
        self._watchers: list[Callable[[LazyBody], None]] = []
        collect(tree, self.outside, self.parents)
        self._tree, self._count = tree, len(self.parents)
        for body in bodies:
            body.index = self
            if body.is_parsed:
                self.body_parsed(body)

    def close(self) -> None:
        """Break reference cycles so that the memory is freed at once."""
        for body in self.bodies:
            body.__dict__.clear()
        self.__dict__.clear()

    # -- lazy bodies -----------------------------------------------------------------------------

    def on_parse(self, watcher: Callable[[LazyBody], None]) -> None:
        """Register a callback for every body that is parsed from now on."""
        self._watchers.append(watcher)

    def body_parsed(self, body: LazyBody) -> None:
        """Add the nodes of a body that has just been parsed."""
        for statement in body.statements():
            self.parents[statement] = body.block
            collect(statement, body.nodes, self.parents)
        for watcher in self._watchers:
            watcher(body)

    def lazy_body_of(self, owner: cst.CSTNode) -> LazyBody | None:
        """The lazy body of a function; None for functions that were parsed at once, and for other nodes."""
        body = getattr(owner, "body", None)
        return body.lazy_body if body.__class__ is LazyBlock else None

    def bodies_with(self, groups: Iterable[Identifiers]) -> Sequence[LazyBody]:
        """The lazy bodies that contain at least one identifier of every group, in source order."""
        held = self._with_all(groups)
        return self.bodies if len(held) == len(self.bodies) else sorted(held, key=_start)

    def body_has(self, body: LazyBody, groups: Iterable[Identifiers]) -> bool:
        """Whether a body contains at least one identifier of every group."""
        return all(not body.identifiers.isdisjoint(names) for names in groups)

    def _with_all(self, groups: Iterable[Identifiers]) -> frozenset[LazyBody]:
        found = [self._with_any(frozenset(names)) for names in groups]
        return frozenset.intersection(*found) if found else self._every

    def _with_any(self, names: frozenset[str]) -> frozenset[LazyBody]:
        found = self._bodies_by_names.get(names)
        if found is None:
            known = self._by_identifier
            found = self._bodies_by_names[names] = frozenset(body for name in names for body in known.get(name, ()))
        return found

    @cached_property
    def _by_identifier(self) -> dict[str, list[LazyBody]]:
        """The bodies that contain each identifier."""
        found: dict[str, list[LazyBody]] = {}
        for body in self.bodies:
            for name in body.identifiers:
                found.setdefault(name, []).append(body)
        return found

    @property
    def identifiers(self) -> frozenset[str]:
        """All identifiers in the bodies that are parsed lazily."""
        return frozenset(self._by_identifier)

    # -- nodes -----------------------------------------------------------------------------------

    def nodes_of(self, kind: type[NodeT], *groups: Identifiers) -> list[NodeT]:
        """The nodes of exactly this class, in source order.

        With groups of identifiers, lazy bodies that lack an identifier of some group are skipped; nodes outside
        functions are always included.
        """
        return list(self.iter_nodes(kind, *groups))

    def iter_nodes(self, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """Like :meth:`nodes_of`, but lazily: a body is parsed only when the iteration reaches it."""
        if kind in _KEYWORDS:
            groups = (*groups, _KEYWORDS[kind])
        return self._merged(self.outside.get(kind, ()), self.bodies_with(groups), lambda body: body.nodes.get(kind, ()))

    def with_key(self, kind: type[NodeT], keys: Keys, key: str, owner: cst.CSTNode | None) -> Iterator[NodeT]:
        """The nodes of exactly this class that are indexed under a key, in source order.

        Searches ``owner`` and everything below it, or the whole file if ``owner`` is None. A key is an identifier that
        occurs in the node.
        """
        place = owner, kind, keys
        if place not in self._keyed:
            nodes = self.outside.get(kind, ()) if owner is None else self._nodes_and_lazy_blocks(owner, kind)
            self._keyed[place] = _by_key((node for node in nodes if node.__class__ is kind), keys)
        bodies = self.bodies_with(({key},))
        if owner is not None and bodies:
            below = self._lazy_bodies_below(owner)
            bodies = [body for body in bodies if body in below]
        outside = self._keyed[place].get(key, ())
        return self._merged(outside, bodies, lambda body: body.keyed(kind, keys).get(key, ()))

    def _lazy_bodies_below(self, owner: cst.CSTNode) -> frozenset[LazyBody]:
        """The lazy bodies in and below a node."""
        if owner not in self._bodies_below:
            blocks = (part for part in self._region(owner) if part.__class__ is LazyBlock)
            self._bodies_below[owner] = frozenset(block.lazy_body for block in blocks)
        return self._bodies_below[owner]

    def _merged(
        self, outside: Sequence[Any], bodies: Sequence[LazyBody], inside_of: Callable[[LazyBody], Sequence[Any]]
    ) -> Iterator[Any]:
        """Nodes outside functions merged with those inside each body, in source order."""
        before = 0
        for body in bodies:
            body.statements()
            inside = inside_of(body)
            if not inside:
                continue
            place = self.place(body.block)
            while before < len(outside) and self.place(outside[before]) < place:
                yield outside[before]
                before += 1
            yield from inside
        yield from outside[before:]

    def within(self, owner: cst.CSTNode, kind: type[NodeT], *groups: Identifiers) -> Iterator[NodeT]:
        """The nodes of exactly this class in and below a node, in source order; see :meth:`nodes_of` for ``groups``."""
        for part in self._nodes_and_lazy_blocks(owner, kind):
            if part.__class__ is not LazyBlock:
                yield part
                continue
            body: LazyBody = part.lazy_body
            if self.body_has(body, groups):
                body.statements()
                yield from body.nodes.get(kind, ())  # type: ignore[misc]

    def _nodes_and_lazy_blocks(self, owner: cst.CSTNode, kind: type[cst.CSTNode]) -> Sequence[Any]:
        """The nodes of a class in and below a node, with the blocks of lazy bodies at their places."""
        if (owner, kind) not in self._regions:
            self._regions[owner, kind] = [part for part in self._region(owner) if part.__class__ in (kind, LazyBlock)]
        return self._regions[owner, kind]

    def _region(self, owner: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """A node and everything below it, parents first; lazy bodies are not entered."""
        if owner not in self._below:
            self._below[owner] = list(_outside(owner))
        return self._below[owner]

    # -- parents ---------------------------------------------------------------------------------

    def enclosing(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The parent of a node. For an ``elif``, the first ``if`` of the chain, skipping the branches between them."""
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
        """The rank of a node outside functions in source order."""
        if not self._places:
            # Parents are inserted in source order, those outside functions first.
            self._places = {self._tree: -1, **dict(zip(self.parents, range(self._count), strict=False))}
        return self._places[node]

    def order(self, node: cst.CSTNode) -> tuple[int, int]:
        """A key that sorts nodes in source order."""
        current: cst.CSTNode | None = node
        while current is not None and current.__class__ is not LazyBlock:
            current = self.enclosing(current)
        if current is None or current is node:
            return self.place(node), -1
        body: LazyBody = current.lazy_body
        if body not in self._inside:
            inside = (part for statement in body.statements() for part in _outside(statement))
            self._inside[body] = {part: i for i, part in enumerate(inside)}
        return self.place(current), self._inside[body][node]


def _outside(owner: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, parents first; of lazy bodies only the block."""
    stack = [owner]
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ is not LazyBlock:
            below = children(node)
            below.reverse()
            stack += below

"""Reaching definitions: the bindings that may reach each use of a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.scopes.flow import ANCHORS, ForwardAnalysis
from torchlint.analysis.scopes.names import COMPREHENSIONS, Names, Scope
from torchlint.analysis.syntax.tree import NodeIndex, spelling_key
from torchlint.analysis.syntax.walk import test_of

_is_anchor, _is_small = test_of(*ANCHORS), test_of(cst.BaseSmallStatement)
State = Mapping[str, frozenset[Binding]]
# If more bindings than this reach a use, one binding of unknown value stands for all of them. Queries over every
# binding of every use would take quadratic time otherwise.
_MOST = 100


class _Definitions(ForwardAnalysis[State]):
    """Tracks the bindings of each name in a scope; ``every`` returns the one that stands for all of a name."""

    def __init__(
        self, names: Names, by_anchor: Mapping[cst.CSTNode, list[Binding]], every: Callable[[str], frozenset[Binding]]
    ) -> None:
        super().__init__(names.qualified)
        self._by_anchor, self._every = by_anchor, every
        self._widened: dict[str, frozenset[Binding]] = {}

    def join(self, one: State, other: State) -> State:
        if one is other:
            return one
        merged = dict(one)
        for name, bindings in other.items() - one.items():  # few, and found without a Python loop
            known = merged.get(name)
            merged[name] = bindings if known is None else self._either(name, known, bindings)
        return merged

    def _either(self, name: str, one: frozenset[Binding], other: frozenset[Binding]) -> frozenset[Binding]:
        widened = self._widened.get(name)
        if widened is not None and (one is widened or other is widened):
            return widened
        both = one | other
        if len(both) > _MOST:
            both = self._widened[name] = self._every(name)
        return both

    def transfer(self, statement: cst.CSTNode, state: State) -> State:
        made = self._by_anchor.get(statement)
        if not made:
            return state
        after = dict(state)
        for binding in made:
            if binding.kind == "delete":
                after.pop(binding.name, None)
            else:
                after[binding.name] = frozenset((binding,))
        return after


class ReachingDefinitions:
    """The reaching definitions of every function of a module, computed on first use."""

    def __init__(self, names: Names, index: NodeIndex) -> None:
        self._names = names
        self._index = index
        self._before: dict[Scope, dict[cst.CSTNode, State]] = {}
        self._uses: dict[tuple[str, cst.CSTNode | None], dict[Binding, list[cst.Name]]] = {}
        self._walruses: dict[cst.CSTNode, list[Binding]] = {}  # by statement, whose own uses they reach
        self._ranks: dict[tuple[Scope, str], dict[Binding, int]] = {}
        self._stand_ins: dict[tuple[Scope, str], Binding] = {}

    def definitions(self, name: cst.Name) -> tuple[Binding, ...]:
        """The bindings that reach a use, in source order; if there are too many, one of kind ``several``.

        A use in a nested function may see any binding of the outer name, and so may a use in unreachable code.
        """
        around = self._names.scope_at(name)
        scope = self._names.lookup_scope(name.value, around)
        if scope is None:
            return ()
        anchor = self.anchor(name)
        if anchor is None or isinstance(scope.node, (*COMPREHENSIONS, cst.Lambda)):
            return self._any(scope, name.value)
        if _flow_owner(around) is not scope:
            return self._any(scope, name.value)
        state = self._states(scope).get(anchor)
        if state is None:
            return self._any(scope, name.value)
        reached = state.get(name.value, frozenset())
        if anchor in self._walruses:
            reached |= {binding for binding in self._walruses[anchor] if binding.name == name.value}
        return tuple(reached) if len(reached) < 2 else self._in_order(reached, scope, name.value)

    def _any(self, scope: Scope, word: str) -> tuple[Binding, ...]:
        found = scope.bindings[word]
        return tuple(found) if len(found) <= _MOST else (self._stand_in(scope, word),)

    def _stand_in(self, scope: Scope, word: str) -> Binding:
        """The binding that stands for all bindings of a name."""
        if (scope, word) not in self._stand_ins:
            first = scope.bindings[word][0]
            self._stand_ins[scope, word] = Binding(word, "several", first.node, first.statement)
        return self._stand_ins[scope, word]

    def _in_order(self, reached: Iterable[Binding], scope: Scope, word: str) -> tuple[Binding, ...]:
        if (scope, word) not in self._ranks:
            self._ranks[scope, word] = {binding: rank for rank, binding in enumerate(scope.bindings[word])}
        ranks = self._ranks[scope, word]
        return tuple(sorted(reached, key=lambda binding: ranks.get(binding, -1)))

    def is_reachable(self, node: cst.CSTNode) -> bool:
        """Whether control can reach a node: within its function, and the definitions of all enclosing functions."""
        anchor, scope = self.anchor(node), _body_around(self._names.scope_at(node))
        while anchor is not None and scope.parent is not None:
            if anchor is not scope.node and anchor not in self._states(scope):  # a parameter
                return False
            anchor, scope = scope.node, _body_around(self._names.scope_at(scope.node))
        return anchor is None or anchor in self._states(scope)

    def anchor(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The simple statement or compound header in which a node is evaluated."""
        current: cst.CSTNode | None = node
        while current is not None:
            if _is_anchor(current) and (current is not node or _is_small(node)):
                return current
            current = self._index.parents.get(current)
        return None

    def _states(self, scope: Scope) -> dict[cst.CSTNode, State]:
        found = self._before.get(scope)
        if found is None:
            found = self._before[scope] = self._analyze(scope)
        return found

    def _analyze(self, scope: Scope) -> dict[cst.CSTNode, State]:
        by_anchor: dict[cst.CSTNode, list[Binding]] = {}
        initial: dict[str, frozenset[Binding]] = {}
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                anchor = self.anchor(binding.node)
                if binding.kind == "parameter":
                    initial[name] = frozenset((binding,))
                elif anchor is not None:
                    by_anchor.setdefault(anchor, []).append(binding)
                    if binding.kind == "walrus":
                        self._walruses.setdefault(anchor, []).append(binding)
        flow = _Definitions(self._names, by_anchor, lambda word: frozenset((self._stand_in(scope, word),)))
        body = scope.node.body if isinstance(scope.node, (cst.FunctionDef, cst.ClassDef)) else scope.node
        assert isinstance(body, (cst.BaseSuite, cst.Module))
        flow.run(body, initial)
        return flow.before

    def uses(self, binding: Binding) -> list[cst.Name]:
        """The uses of a name that this binding may reach, in source order."""
        scope = self._names.lookup_scope(binding.name, self._names.scope_at(binding.node))
        word, function = binding.name, _function(scope)
        if (word, function) not in self._uses:
            seen: dict[Binding, list[cst.Name]] = {}
            for name in self._reads(word, function):
                for one in self.definitions(name):
                    seen.setdefault(one, []).append(name)
            self._uses[word, function] = seen
        found = self._uses[word, function]
        stand_in = self._stand_ins.get((scope, word)) if scope is not None else None
        if stand_in is None or binding is stand_in:
            return found.get(binding, [])
        return [*found.get(binding, ()), *found.get(stand_in, ())]

    def _reads(self, word: str, function: cst.CSTNode | None) -> list[cst.Name]:
        return [name for name in self._index.with_key(cst.Name, spelling_key, word, function) if self._is_read(name)]

    def _is_read(self, name: cst.Name) -> bool:
        parent = self._index.parents.get(name)
        if isinstance(parent, cst.Attribute):
            return name is parent.value
        if isinstance(parent, cst.Arg):
            return name is parent.value
        if isinstance(parent, (cst.Param, cst.FunctionDef, cst.ClassDef, cst.NameItem, cst.AsName, cst.ImportAlias)):
            return name is not getattr(parent, "name", None) and not isinstance(parent, (cst.AsName, cst.NameItem))
        if isinstance(parent, cst.NamedExpr):
            return name is parent.value
        return not self._is_target(name)

    def _is_target(self, name: cst.Name) -> bool:
        """Whether the name is assigned, not read: an assignment or loop target, or part of a tuple of targets."""
        below: cst.CSTNode = name
        current = self._index.parents.get(name)
        while isinstance(current, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
            below, current = current, self._index.parents.get(current)
        if isinstance(current, (cst.AssignTarget, cst.Del)):
            return True
        if isinstance(current, (cst.AnnAssign, cst.For, cst.CompFor)):
            return below is current.target
        return False


def _body_around(scope: Scope) -> Scope:
    """The function, class or module whose statements contain a scope."""
    while isinstance(scope.node, (*COMPREHENSIONS, cst.Lambda)) and scope.parent:
        scope = scope.parent
    return scope


def _flow_owner(scope: Scope) -> Scope:
    """The function, class or module whose statements evaluate the nodes of a scope."""
    while isinstance(scope.node, COMPREHENSIONS) and scope.parent:
        scope = scope.parent
    return scope


def _function(scope: Scope | None) -> cst.CSTNode | None:
    """The function with a lazy body that contains every read of a scope's names; None if code outside may read them."""
    if scope is None or scope.node.__class__ in (cst.Module, cst.ClassDef):
        return None
    while scope.parent is not None and scope.lazy_body is None:
        scope = scope.parent
    return scope.node if scope.lazy_body is not None else None

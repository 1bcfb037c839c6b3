"""Guards that pass once: code under them fills what they test, such as a cache or the state of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.heat.lifetimes import Lifetimes, root
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.guards import Guard, implied
from torchlint.analysis.syntax.calls import literal, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants, wording
from torchlint.knowledge import heat as known
from torchlint.knowledge.synchronization import COUNTERS
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.heat.lifetimes import HeatQueries
    from torchlint.analysis.scopes.bindings import Binding
    from torchlint.analysis.values.evaluate import Evaluator

_MORE, _LESS = (cst.GreaterThan, cst.GreaterThanEqual), (cst.LessThan, cst.LessThanEqual)
_STRICT = (cst.GreaterThan, cst.LessThan)
_DEPTH = 4  # of variables
_PRESENT = (cst.In, cst.IsNot, cst.NotEqual, cst.GreaterThan)


class Slot(NamedTuple):
    """What a guard tests: whether ``place`` is still empty.

    ``kind`` is ``key`` for a missing key of a container, ``attribute`` for a missing attribute, ``none`` for a place
    that holds None, ``empty`` for an empty container, ``flag`` for a place that holds ``key``, a bool, and ``length``
    for one that is too short for an input, or holds the length of the longest input so far.
    """

    kind: str
    place: cst.BaseExpression
    key: object = None


class FillingGuards:
    """Decides whether the code under a guard fills what the guard tests, and nothing empties it in a later step."""

    def __init__(self, code: Code, values: Evaluator, heat: HeatQueries) -> None:
        self._code, self._values, self._heat = code, values, heat
        self._lifetimes = Lifetimes(code, values, heat)

    def passes_once(self, guard: Guard) -> bool:
        """Whether a guard lets its code run only until it has filled something once."""
        if not isinstance(guard.node, cst.If) or guard.condition is None:
            return False
        return implied(guard.condition, guard.holds, lambda test, holds: self._is_filled(guard, test, holds))

    def _is_filled(self, guard: Guard, test: cst.BaseExpression, holds: bool) -> bool:
        assert isinstance(guard.node, cst.If)
        for slot in self._slots(test, holds):
            if isinstance(slot.key, cst.CSTNode) and self._lifetimes.varies(slot.key):
                return False
            if any(self._fills(node, slot) for node in self._guarded(guard.node, guard.holds)):
                return self._stays_filled(slot, guard)
        return False

    def _stays_filled(self, slot: Slot, guard: Guard) -> bool:
        assert isinstance(guard.node, cst.If)
        ours = {*descendants(guard.node), *self._guarded(guard.node, guard.holds)}

        def filled(statement: cst.CSTNode) -> bool:
            return statement in ours and literal(getattr(statement, "value", None) or statement) is not None

        if not self._lifetimes.outlives_step(slot.place, filled):
            return False
        others = (n for n in self._candidates(slot) if slot.kind != "length" or not self._extends(n, ours, guard.node))
        return not any(self._empties(node, slot, guard.node) for node in others)

    def _extends(self, node: cst.CSTNode, ours: set[cst.CSTNode], guard: cst.If) -> bool:
        """Whether an assignment is part of the guarded code, or of a function that other code calls seldom."""
        function = self._code.function_of(node)
        if node in ours or function is None or function is self._code.function_of(guard):
            return node in ours
        calls = [site.call for site in self._values.functions.callers(function).sites]
        return not ours.isdisjoint(calls) and all(c in ours or self._is_seldom(c, guard) for c in calls)

    # -- what is tested --------------------------------------------------------------------------

    def _slots(self, test: cst.BaseExpression, holds: bool) -> Iterator[Slot]:
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            yield from self._compared(test.left, test.comparisons[0], holds)
        elif isinstance(test, cst.Call):
            yield from self._called(test, holds)
        elif isinstance(test, (cst.Name, cst.Attribute, cst.Subscript)):
            yield Slot("flag", test, holds)
            if not holds:
                yield Slot("empty", test)

    def _compared(self, left: cst.BaseExpression, target: cst.ComparisonTarget, holds: bool) -> Iterator[Slot]:
        operator, right = target.operator, target.comparator
        if isinstance(operator, _MORE + _LESS) and holds is isinstance(operator, _STRICT):
            longer, shorter = (left, right) if holds is isinstance(operator, _MORE) else (right, left)
            yield from self._outgrown(longer, shorter)
        if holds is isinstance(operator, _PRESENT):
            return
        if isinstance(operator, (cst.In, cst.NotIn)):
            yield Slot("key", right, left)
        elif literal(right) is None:
            yield self._getattr(left) or Slot("none", left)
        elif literal(right) == 0 and isinstance(left, cst.Call):
            yield from self._called(left, holds=False)

    def _called(self, call: cst.Call, holds: bool) -> Iterator[Slot]:
        name, first = self._code.qualified(call.func), positional(call, 0)
        if holds or first is None:
            return
        if name == "builtins.len":
            yield Slot("empty", first)
        elif name == "builtins.hasattr":
            yield Slot("attribute", first, literal(positional(call, 1)))

    def _outgrown(self, needed: cst.BaseExpression, kept: cst.BaseExpression) -> Iterator[Slot]:
        """``x.shape[1] > self.longest``, ``n > len(self.table)``: only a longer input than any before passes again."""
        place = _measured(kept)
        if isinstance(place, (cst.Name, cst.Attribute, cst.Subscript)) and self._is_length(needed, _DEPTH):
            yield Slot("length", place)

    def _is_length(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether a number is the length of an input, or a parameter that is named after no counter."""
        if isinstance(node, cst.BinaryOperation) and depth:
            sides = (node.left, node.right)
            return all(isinstance(literal(s), int) or self._is_length(s, depth - 1) for s in sides)
        if not isinstance(node, cst.Name):
            name = dotted(measured := _measured(node))
            return measured is not node and name is not None and not name.startswith("self.")
        bindings = self._code.definitions(node) if depth else ()
        return bool(bindings) and all(self._holds_length(binding, depth) for binding in bindings)

    def _holds_length(self, binding: Binding, depth: int) -> bool:
        if binding.kind == "parameter":
            return binding.name.lower() not in COUNTERS
        whole = binding.kind == "assign" and not binding.path and binding.value is not None
        return whole and self._is_length(binding.value, depth - 1)  # type: ignore[arg-type]

    def _getattr(self, node: cst.BaseExpression) -> Slot | None:
        """``getattr(x, "name", None)``, which is None where the attribute is missing."""
        if not isinstance(node, cst.Call) or self._code.qualified(node.func) != "builtins.getattr":
            return None
        owner = positional(node, 0)
        return Slot("attribute", owner, literal(positional(node, 1))) if owner is not None else None

    # -- what fills it ---------------------------------------------------------------------------

    def _guarded(self, test: cst.If, holds: bool) -> Iterator[cst.CSTNode]:
        """The nodes that run if the condition of an ``if`` evaluates to ``holds``; after an early exit, those below."""
        if holds:
            return descendants(test.body)
        if test.orelse is not None:
            return descendants(test.orelse)
        below = getattr(self._code.parent(test), "body", ())
        later = below[below.index(test) + 1 :] if test in below else ()
        return (node for statement in later for node in descendants(statement))

    def _fills(self, node: cst.CSTNode, slot: Slot) -> bool:
        if isinstance(node, (cst.Assign, cst.AnnAssign)):
            return node.value is not None and any(_stores(target, node.value, slot) for target in _targets(node))
        return isinstance(node, cst.Call) and (self._call_fills(node, slot) or self._callee_fills(node, slot))

    def _call_fills(self, call: cst.Call, slot: Slot) -> bool:
        """``seen.add(key)``, ``state.update(..)``, ``setattr(x, "name", ..)``, ``x.register_buffer("name", ..)``."""
        verb, owner = method(call), receiver(call)
        if slot.kind == "attribute":
            named = slot.key in [literal(arg.value) for arg in call.args[:2]]
            return named and (verb in known.REGISTERING or self._code.qualified(call.func) == "builtins.setattr")
        if slot.kind not in ("key", "empty") or owner is None or wording(owner) != wording(slot.place):
            return False
        first = positional(call, 0)
        exact = first is not None and isinstance(slot.key, cst.CSTNode) and wording(first) == wording(slot.key)
        return verb == "update" or (verb in known.FILLING_METHODS and (slot.kind == "empty" or exact))

    def _callee_fills(self, call: cst.Call, slot: Slot) -> bool:
        """A function that gets the container and stores in it, or a method that fills an attribute of ``self``."""
        function = self._values.functions.callee(call)
        given = any(wording(arg.value) == wording(slot.place) for arg in call.args)
        if function is None:
            word = (method(call) or getattr(call.func, "value", "")) if given else ""
            return isinstance(word, str) and any(part in word.lower() for part in known.FILLING_WORDS)
        assigns = list(self._code.within(function, cst.Assign))
        if given and slot.kind in ("key", "empty"):
            return any(isinstance(t, cst.Subscript) for assign in assigns for t in _targets(assign))
        own = (root(slot.place)[0] or "").startswith("self") and (method(call) is not None)
        own = own or self._is_global(slot.place, function)
        return own and any(_stores(target, assign.value, slot) for assign in assigns for target in _targets(assign))

    def _is_global(self, place: cst.BaseExpression, function: cst.FunctionDef) -> bool:
        """Whether a place is a variable of the module in a function."""
        name = place.value if isinstance(place, cst.Name) else None
        statements = self._code.within(function, cst.Global)
        return any(item.name.value == name for statement in statements for item in statement.names)

    # -- what empties it -------------------------------------------------------------------------

    def _candidates(self, slot: Slot) -> Iterator[cst.CSTNode]:
        """The assignments, ``del`` statements and calls that may concern the place."""
        name, _ = root(slot.place)
        words = {(name or "").rpartition(".")[2]}
        if slot.kind == "attribute":
            words = {str(slot.key)}
        for kind in (cst.Assign, cst.AnnAssign, cst.Del, cst.Call):
            yield from self._code.iter_nodes(kind, frozenset(words))

    def _empties(self, node: cst.CSTNode, slot: Slot, guard: cst.If) -> bool:
        """Whether a node empties the place again, in some step."""
        if not self._is_emptying(node, slot) or guard in self._code.ancestors(node):
            return False
        return self._in_reach(node, slot, guard) and not self._is_seldom(node, guard)

    def _is_emptying(self, node: cst.CSTNode, slot: Slot) -> bool:
        name, levels = root(slot.place)
        if slot.kind == "attribute":
            name, levels = f"{name}.{slot.key}", 0
        if isinstance(node, cst.Del):
            return any(root(target)[0] == name for target in _members(node.target))
        if isinstance(node, cst.Call):
            place = receiver(node)
            return method(node) in known.EMPTYING_METHODS and place is not None and root(place)[0] == name
        assert isinstance(node, (cst.Assign, cst.AnnAssign))
        return any(self._resets(target, node.value, slot, (name, levels)) for target in _targets(node))

    def _resets(
        self, target: cst.BaseExpression, value: cst.BaseExpression | None, slot: Slot, place: tuple[str | None, int]
    ) -> bool:
        name, levels = root(target)
        if value is None or name != place[0] or levels > place[1] or isinstance(target, cst.Name):
            return False  # which assignments of a variable reach the guard is known from its definitions
        if slot.kind in ("none", "attribute"):
            return literal(value) is None or isinstance(value, cst.Tuple)
        return slot.kind != "flag" or literal(value) is not (not slot.key)

    def _in_reach(self, node: cst.CSTNode, slot: Slot, guard: cst.If) -> bool:
        """Whether ``self``, or the variable, is the same in both places."""
        name, _ = root(slot.place)
        if name is not None and name.partition(".")[0] == "self":
            return self._code.class_of(node) is self._code.class_of(guard)
        return True

    def _is_seldom(self, node: cst.CSTNode, guard: cst.If) -> bool:
        """Whether a node runs before or between the steps, as far as its callers are visible."""
        function = self._code.function_of(node)
        if function is not None and function.name.value in known.PREPARING_METHODS:
            return True
        if self._heat.of(node).rank >= Heat.STEP.rank:
            return False
        if function is None or function is self._code.function_of(guard):
            return True
        sites = self._values.functions.callers(function).sites
        return any(self._code.function_of(site.call) is not function for site in sites)


def _stores(target: cst.BaseExpression, value: cst.BaseExpression, slot: Slot) -> bool:
    """Whether an assignment to a target fills a slot."""
    place = wording(slot.place)
    if slot.kind == "attribute":
        return isinstance(target, cst.Attribute) and target.attr.value == slot.key and wording(target.value) == place
    if slot.kind in ("key", "empty") and isinstance(target, cst.Subscript) and wording(target.value) == place:
        return slot.kind == "empty" or _index(target) == wording(slot.key)  # type: ignore[arg-type]
    if slot.kind == "key" or wording(target) != place:
        return False
    if slot.kind == "length":
        return literal(value) is ...
    if slot.kind == "empty":
        return bool(literal(value)) and not (isinstance(value, (cst.List, cst.Dict)) and not value.elements)
    return literal(value) is (not slot.key) if slot.kind == "flag" else literal(value) is not None


def _index(target: cst.Subscript) -> str | None:
    """The wording of a single index."""
    index = target.slice[0].slice
    return wording(index.value) if len(target.slice) == 1 and isinstance(index, cst.Index) else None


def _targets(node: cst.Assign | cst.AnnAssign) -> Iterator[cst.BaseExpression]:
    for target in [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]:
        yield from _members(target)


def _members(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from _members(element.value)
    else:
        yield node


def _measured(node: cst.BaseExpression) -> cst.BaseExpression:
    """``x`` for ``len(x)``, ``x.shape[0]``, ``x.size(0)`` and ``x.numel()``; anything else as it is."""
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Name) and node.func.value == "len" and len(node.args) == 1:
            return node.args[0].value
        return receiver(node) or node if method(node) in known.LENGTH_METHODS else node
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape":
        return node.value.value
    return node

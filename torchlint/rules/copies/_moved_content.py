"""TL104: content that is computed on the CPU from factories and numbers alone, and then moved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import Move, Moves
from torchlint.analysis.values.content import is_factory, is_marked
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import METADATA, RANDOM
from torchlint.knowledge.factories import GENERATOR_NAMES
from torchlint.rules.copies._factories import Factories
from torchlint.rules.copies._move_gains import MoveGains

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MovedContent(NamedTuple):
    """A move of generated content; ``factories`` are the calls that create it, in source order, with their names."""

    move: cst.Call
    factories: tuple[tuple[cst.Call, str], ...]

    @property
    def is_random(self) -> bool:
        """Whether random numbers are among the content."""
        return any(name in RANDOM for _, name in self.factories)


class _Trace(NamedTuple):
    """Where generated content comes from: expressions, calls of factories, names, and the variables and attributes."""

    values: list[cst.CSTNode]
    factories: dict[cst.Call, str]
    names: set[cst.CSTNode]
    variables: set[Binding]
    attributes: set[tuple[cst.ClassDef, str]]


class MovedContents:
    """Finds the moves of generated content in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._traces: dict[cst.Call, _Trace] = {}

    def of(self, move: Move) -> MovedContent | None:
        """The generated content that a call moves to an accelerator; None if :class:`Factories` decides about it."""
        if not self._moves_content(move) or self._module.shared(MoveGains).gains_little(move.call):
            return None
        trace = self._trace(move)
        if not trace.factories or self._is_found_otherwise(move, trace) or self._is_used_on_host(trace):
            return None
        found = sorted(trace.factories.items(), key=lambda item: self._module.order(item[0]))
        return MovedContent(move.call, tuple(found))

    def _moves_content(self, move: Move) -> bool:
        if not (move.to_accelerator or move.may_reach_accelerator):
            return False
        value = self._module.value(move.moved)
        return value.generated and value.kind is Kind.TENSOR

    def _is_found_otherwise(self, move: Move, trace: _Trace) -> bool:
        """Whether the move is the first one of the factory's tensor, or TL103 reports a conversion of the content."""
        firsts = (self._module.shared(Moves).first_move_of(call) for call in trace.factories)
        if any(first is not None and first.call is move.call for first in firsts):
            return True
        calls = (part for node in (move.moved, *trace.values) for part in descendants(node))
        generated = self._module.shared(Factories).generated
        return any(isinstance(call, cst.Call) and generated(call) is not None for call in calls)

    # -- where it comes from -----------------------------------------------------------------------

    def _trace(self, move: Move) -> _Trace:
        if move.call not in self._traces:
            trace = _Trace([], {}, set(), set(), set())
            self._follow(move.moved, trace)
            self._traces[move.call] = trace
        return self._traces[move.call]

    def _follow(self, start: cst.CSTNode, trace: _Trace) -> None:
        stack: list[cst.CSTNode] = [start]
        while stack:
            trace.values.append(stack.pop())
            for node in descendants(trace.values[-1]):
                if node in trace.names or not is_marked(self._module.value(node)):
                    continue
                if isinstance(node, cst.Name):
                    trace.names.add(node)
                    stack += self._sources(node, trace)
                elif isinstance(node, cst.Attribute):
                    trace.names.add(node)
                    stack += self._assigned(node, trace)
                elif isinstance(node, cst.Call):
                    stack += self._called(node, trace)

    def _sources(self, name: cst.Name, trace: _Trace) -> Iterator[cst.CSTNode]:
        """What is assigned to a variable, appended to it, or passed for it."""
        for binding in self._module.definitions(name):
            trace.variables.add(binding)
            if binding.kind == "parameter":
                yield from self._module.parameters.all_arguments(binding)
            elif binding.value is not None:
                yield binding.value
            for use in self._module.uses(binding):
                call = self._method_call(use)
                if call is not None and method(call) in ("append", "insert", "extend"):
                    trace.names.add(use)
                    yield from call.args

    def _assigned(self, node: cst.Attribute, trace: _Trace) -> list[cst.CSTNode]:
        """What is assigned to an attribute of ``self``."""
        owner = self._module.value(node.value).node
        if not isinstance(owner, cst.ClassDef):
            return []
        trace.attributes.add((owner, node.attr.value))
        return [value for value, _ in self._module.classes.assignments(owner, node.attr.value)]

    def _called(self, call: cst.Call, trace: _Trace) -> list[cst.CSTNode]:
        """What a function of the file returns; a factory is where the content comes from."""
        name = self._module.qualified(call.func)
        if name is not None and name.rpartition(".")[2] in GENERATOR_NAMES:
            if is_factory(self._module.evaluator, call, name):
                trace.factories[call] = name
            return []
        function = self._module.functions.callee(call) if name is None else None
        returns = self._module.functions.body(function).returns if function is not None else ()
        return [returned.value for returned in returns if returned.value is not None]

    def _method_call(self, use: cst.CSTNode) -> cst.Call | None:
        parent = self._module.parent(use)
        call = self._module.parent(parent) if isinstance(parent, cst.Attribute) and parent.value is use else None
        return call if isinstance(call, cst.Call) and call.func is parent else None

    # -- other uses --------------------------------------------------------------------------------

    def _is_used_on_host(self, trace: _Trace) -> bool:
        """Whether the content, or a part of it, is used for more than what is moved."""
        used = (use for binding in trace.variables for use in self._module.uses(binding))
        if any(not self._is_moved_too(use) for use in used):
            return True
        return any(
            not self._is_moved_too(read) for owner, name in trace.attributes for read in self._reads(owner, name)
        )

    def _reads(self, owner: cst.ClassDef, name: str) -> list[cst.Attribute]:
        named = self._module.attributes_named(name)
        around = {node: self._module.class_of(node) for node in named}
        own = [n for n in named if around[n] in (None, owner) or not self._is_of_self(n)]
        return [n for n in own if not isinstance(self._module.parent(n), cst.AssignTarget)]

    def _is_of_self(self, node: cst.Attribute) -> bool:
        return isinstance(node.value, cst.Name) and node.value.value == "self"

    def _is_moved_too(self, use: cst.CSTNode) -> bool:
        """Whether a use becomes part of moved content, is a store, reads no elements, or may see what was moved."""
        if use in self._moved_names or self._stores(use):
            return True
        parent = self._module.parent(use)
        if isinstance(parent, cst.Attribute) and parent.attr.value in METADATA:
            return True
        if isinstance(use, cst.Name) and any(b.value in self._holders for b in self._module.definitions(use)):
            return True
        return isinstance(parent, cst.IfExp) and parent.orelse is use and parent in self._holders

    def _stores(self, use: cst.CSTNode) -> bool:
        """Whether a use is ``x[i] = y`` or ``x.fill_(y)`` as a statement; what is stored is generated, too."""
        node, parent = use, self._module.parent(use)
        while isinstance(parent, (cst.Subscript, cst.Attribute)) and parent.value is node:
            node, parent = parent, self._module.parent(parent)
        if isinstance(parent, (cst.AssignTarget, cst.AugAssign)):
            return node is not use
        in_place = isinstance(node, cst.Attribute) and node.attr.value.endswith("_")
        return in_place and isinstance(parent, cst.Call) and isinstance(self._module.parent(parent), cst.Expr)

    @cached_property
    def _content_moves(self) -> list[Move]:
        return [move for move in self._module.shared(Moves).all() if self._moves_content(move)]

    @cached_property
    def _moved_names(self) -> frozenset[cst.CSTNode]:
        """The names and attributes that become part of moved content, for all moves of the file."""
        return frozenset(name for move in self._content_moves for name in self._trace(move).names)

    @cached_property
    def _holders(self) -> frozenset[cst.CSTNode]:
        """The moves of content, and the conditional expressions that choose between the content and its move."""
        calls: list[cst.CSTNode] = [move.call for move in self._content_moves]
        choices = [parent for call in calls if isinstance(parent := self._module.parent(call), cst.IfExp)]
        return frozenset((*calls, *choices))


def remembers(module: SourceModule, node: cst.CSTNode, depth: int = 4) -> bool:
    """Whether what a node creates is kept for later calls: ``if self.mask is None``, ``if n not in cache``.

    The condition may also be around all calls of the function that run in every step.
    """
    function = module.function_of(node) if depth else None
    if function is None:
        return False
    if any("cache" in (dotted(getattr(d.decorator, "func", d.decorator)) or "") for d in function.decorators):
        return True
    asked = {name for guard in module.guards(node, stop=function) for name in _lasting(guard.condition)}
    if any(name in asked for name in _stored(module, function)):
        return True
    callers = module.functions.callers(function)
    often = [site.call for site in callers.sites if module.every_step(site.call)]
    return bool(often) and not callers.escapes and all(remembers(module, call, depth - 1) for call in often)


def _lasting(condition: cst.CSTNode | None) -> Iterator[str]:
    """The attributes and names that a condition reads."""
    for part in descendants(condition) if condition is not None else ():
        name = dotted(part) if isinstance(part, (cst.Name, cst.Attribute)) else None
        if name is not None:
            yield name


def _stored(module: SourceModule, function: cst.FunctionDef) -> Iterator[str]:
    """The attributes that a function assigns, and the dicts that it stores in."""
    for target in module.within(function, cst.AssignTarget):
        stored = target.target.value if isinstance(target.target, cst.Subscript) else target.target
        name = dotted(stored) if stored is not target.target or isinstance(stored, cst.Attribute) else None
        if name is not None:
            yield name

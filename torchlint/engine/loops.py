"""Loops, whose bodies are followed until nothing changes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from torchlint.engine.carried import carries
from torchlint.engine.conditions import may_repeat
from torchlint.engine.frames import Scope
from torchlint.engine.state import Left
from torchlint.engine.union import join, key
from torchlint.engine.values import COUNTER, Kind, Value
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_ROUNDS = 2  # of a loop's body
_FEW = (Kind.TUPLE, Kind.MODULES)  # with few elements
_NESTED = 3  # loops in which rounds are compared


class Loops:
    """Follows loops; ``block`` follows the statements in them."""

    def __init__(self, engine: Engine, block: Callable[[Sequence[ast.stmt], Scope], None]) -> None:
        self._engine, self._state, self._block = engine, engine.state, block
        self._counted: dict[ast.AST | None, list[str]] = {}

    def through(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        """Follow a ``for`` loop."""
        iterable = self._engine.evaluate(node.iter, scope)

        def begin() -> None:
            self._engine.assign(node.target, self._engine.containers.element(iterable, node.iter, scope), scope)

        with self._state.inside("loop" if may_repeat(node.body) else "once", node) as region:
            self._engine.containers.iterate(iterable, node)
            if region.kind == "once" and region.over_batches:
                self._state.mark("fetch")
            self._rounds(node.body, scope, begin, node if iterable.kind not in _FEW else None)
        self._otherwise(node.orelse, scope)

    def until(self, node: ast.While, scope: Scope) -> None:
        """Follow a ``while`` loop."""

        def begin() -> None:
            self._state.waits(self._engine.evaluate(node.test, scope), node.test, scope, forms.CONDITION)

        with self._state.inside("loop" if may_repeat(node.body) else "once", node):
            self._rounds(node.body, scope, begin, node)
        self._otherwise(node.orelse, scope)

    def _rounds(self, body: Sequence[ast.stmt], scope: Scope, begin: Callable[[], None], many: ast.AST | None) -> None:
        """Follow the body until nothing changes, at most twice; it may also not run at all.

        There is a third round if the second one joins something new. ``many`` is the loop, unless its rounds are few.
        """
        before, region = dict(scope.names), self._state.region
        self._state.frame.loops += 1
        for name in self._counters(region.node):
            if name in scope.names and scope.names[name].kind is Kind.CONSTANT:
                scope.names[name] = COUNTER
        around, outside = self._state.rounds, self._state.joined
        joined: set[ast.AST] = set()
        try:
            for number in range(_ROUNDS + 1):
                self._state.rounds = (*around, (many, number)) if many is not None else around
                self._state.joined = set()
                compared = self._state.frame.loops < _NESTED
                known = {name: key(value, 1) for name, value in scope.names.items()} if compared else {}
                epoch = self._state.epoch
                try:
                    begin()
                    self._block(body, scope)
                except Left:
                    pass
                self._state.region = region
                region.carries = region.carries or (region.node is not None and carries(region.node, scope.get))
                same = compared and epoch == self._state.epoch
                joins = not self._state.joined <= joined  # what may grow in the next round
                joined |= self._state.joined
                same = same and not joins and all(known.get(n) == key(v, 1) for n, v in scope.names.items())
                if not compared or same or (number + 1 >= _ROUNDS and not joins):
                    break
        finally:
            self._state.rounds, self._state.joined = around, outside | joined
            self._state.frame.loops -= 1
        merge(scope, before)

    def _counters(self, loop: ast.AST | None) -> list[str]:
        """The variables to which a loop adds a number in some of its rounds."""
        if loop is None or loop not in self._counted:
            added = (part for part in ast.walk(loop) if isinstance(part, ast.AugAssign)) if loop is not None else ()
            numbers = [each.target for each in added if isinstance(each.value, ast.Constant)]
            self._counted[loop] = [target.id for target in numbers if isinstance(target, ast.Name)]
        return self._counted[loop]

    def _otherwise(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        with suppress(Left):
            self._block(body, scope)


def merge(scope: Scope, other: dict[str, Value]) -> None:
    """Join the names of a scope with others."""
    for name, value in other.items():
        held = scope.names.get(name)
        if held is not value:
            scope.names[name] = join(held, value)

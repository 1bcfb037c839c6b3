"""Which expression of a function each of its calls was, as far as their order decides.

The profiler says in which order a function has called what, but not from which lines. So all ways through its code are
considered on which the calls happen in this order: a call can be where it is on one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from torchlint.trace.flow import Flow
from torchlint.trace.functions import Function, calls, is_builtin_call, is_named_call

_LARGEST = 4000  # steps of an evaluation; the time grows with their square


class Place(NamedTuple):
    """An expression or statement, and the line that it begins on."""

    node: ast.AST
    line: int


class Order:
    """The code of a function, to be compared with what it called."""

    def __init__(self, function: Function) -> None:
        try:
            self._flow = Flow(function.node)
        except RecursionError:  # an expression of hundreds of parts
            self._flow = Flow(ast.Module([], []))
        self._able: dict[str, int] = {}

    def places(self, called: Sequence[str]) -> list[tuple[Place, ...]]:
        """For each of these calls, which happened in this order, the places that it may be at.

        These are none if nothing in the code is called like this, or the code is too deeply nested to tell, and all of
        the name if the code has no such order.
        """
        names = [name for name in called if self._named(name)]
        if len(self._flow.nodes) > _LARGEST:
            return [self._places(self._named(name)) for name in called]
        found = iter(self._matched(names) or map(self._named, names))
        return [self._places(next(found) if self._named(name) else 0) for name in called]

    def _matched(self, names: Sequence[str]) -> list[int] | None:
        """The steps of each call, as bits; None if there is no way through the code with all of them."""
        ways = _Ways(self._flow, {name: self._named(name) for name in names})
        forward: list[int] = []
        for name in names:
            before = ways.after(forward[-1]) if forward else -1
            forward.append(before & self._named(name))
            if not forward[-1]:
                return None
        for at in range(len(names) - 2, -1, -1):
            forward[at] = ways.before(forward[at], forward[at + 1])
        return forward

    def _named(self, name: str) -> int:
        """The steps that can call something with this name, as bits."""
        if name not in self._able:
            nodes = enumerate(self._flow.nodes)
            self._able[name] = sum(1 << at for at, node in nodes if node is not None and calls(node, name))
        return self._able[name]

    def _places(self, steps: int) -> tuple[Place, ...]:
        found = {}
        for at in _bits(steps):
            node = self._flow.nodes[at]
            if node is not None:
                found[node] = Place(node, self._flow.lines[at])
        return tuple(found.values())


class _Ways:
    """What can follow on what in a function, without a call that would have been seen in between.

    A step may happen unseen: what is called can have another name, or be no function for the profiler. It is always
    seen if it calls a function of Python's own, or if it alone calls something with a name that is seen.
    """

    def __init__(self, flow: Flow, able: dict[str, int]) -> None:
        self._next = flow.next
        self._able = 0
        for steps in able.values():
            self._able |= steps
        single = (steps for steps in able.values() if steps.bit_count() == 1)
        certain = {at for at, node in enumerate(flow.nodes) if is_builtin_call(node)}
        certain |= {at for at in (steps.bit_length() - 1 for steps in single) if is_named_call(flow.nodes[at])}
        self._certain = sum(1 << at for at in certain)
        self._following: dict[int, int] = {}
        self.after = lru_cache(maxsize=None)(self._after)
        self.before = lru_cache(maxsize=None)(self._before)

    def _after(self, steps: int) -> int:
        """The steps that can be the next call after any of these."""
        found = 0
        for at in _bits(steps):
            found |= self._from(at)
        return found

    def _before(self, steps: int, following: int) -> int:
        """Those of the steps after which the next call can be one of ``following``."""
        return sum(1 << at for at in _bits(steps) if self._from(at) & following)

    def _from(self, start: int) -> int:
        if start not in self._following:
            seen, waiting = 0, [*self._next[start]]
            while waiting:
                at = waiting.pop()
                if not seen >> at & 1:
                    seen |= 1 << at
                    if not self._certain >> at & 1:
                        waiting += self._next[at]
            self._following[start] = seen & self._able
        return self._following[start]


def _bits(number: int) -> Iterable[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low

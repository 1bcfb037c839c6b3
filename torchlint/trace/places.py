"""Tells apart the lines at which something can have happened: by the order of calls, and by what the copies were."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from torchlint.trace.device import Thread
from torchlint.trace.files import Files
from torchlint.trace.frames import Frame, innermost
from torchlint.trace.functions import Function
from torchlint.trace.kineto import Called, Seen, Timeline
from torchlint.trace.moments import DOWNLOAD, UPLOAD, WAIT, Moment
from torchlint.trace.order import Order, Place

_MOVES = frozenset({"to", "cpu", "cuda"})
_POSITIONAL = 2  # arguments from which on one can be `non_blocking`


class _At(NamedTuple):
    """Where something was seen: a call of a function in the linted files, and what this called then."""

    thread: Thread
    call: int
    inner: Called


Placed = tuple[Moment, tuple[Frame, ...], tuple[int, ...]]


def placed(timeline: Timeline, files: Files) -> Iterator[Placed]:
    """What a timeline shows, with the functions that were running, and lines of the innermost that is linted.

    Without lines, the stack says all that is known.
    """
    everything: list[tuple[Moment, tuple[Frame, ...]]] = []
    inside: defaultdict[tuple[Function, Thread, int], dict[_At, list[int]]] = defaultdict(lambda: defaultdict(list))
    for seen in timeline.seen():
        at, function = _at(timeline, seen, files)
        if at is not None and function is not None:
            inside[function, at.thread, at.call][at].append(len(everything))
        everything.append((seen.moment, seen.stack))
    lines: dict[int, tuple[int, ...]] = {}
    orders: dict[Function, Order] = {}
    by_name = lru_cache(maxsize=None)(Function.lines)
    for (function, thread, call), happened in inside.items():
        known = {at: by_name(function, _name(timeline, thread, at.inner)) for at in happened}
        several = [at for at, able in known.items() if len(able) > 1]
        if several and function not in orders:
            orders[function] = Order(function)
        places = _places(orders[function], timeline, thread, call, several) if several else {}
        for at, numbers in happened.items():
            kinds = {everything[number][0].kind for number in numbers}
            fitting = {place.line for place in places.get(at, ()) if _fits(place, kinds)}
            lines |= dict.fromkeys(numbers, tuple(sorted(fitting)) or known[at])
    for number, (moment, stack) in enumerate(everything):
        yield moment, stack, lines.get(number, ())


def _at(timeline: Timeline, seen: Seen, files: Files) -> tuple[_At | None, Function | None]:
    """Where this was seen, and the function, if it is known."""
    found = innermost(seen.stack, files.find)
    if found is None or found.at >= len(seen.calls):
        return None, None
    if found.at + 1 < len(seen.calls):
        inner = timeline.call(seen.thread, seen.calls[found.at + 1])
    elif seen.operators:
        inner = timeline.call(seen.thread, seen.operators[0], is_operator=True)
    else:
        inner = Called(seen.moment.time, False, -1)
    return _At(seen.thread, seen.calls[found.at], inner), files.function(found.path, seen.stack[found.at])


def _places(
    order: Order, timeline: Timeline, thread: Thread, call: int, wanted: Iterable[_At]
) -> dict[_At, tuple[Place, ...]]:
    """The places of what a call of a function has called, and of what happened between: only of what is wanted."""
    between = [at.inner for at in wanted if at.inner.number < 0]
    called = sorted([*timeline.called(thread, call), *between])
    places = dict(zip(called, order.places([_name(timeline, thread, one) for one in called]), strict=True))
    return {at: places.get(at.inner, ()) for at in wanted}


def _name(timeline: Timeline, thread: Thread, called: Called) -> str:
    return timeline.name(thread, called) if called.number >= 0 else ""


def _fits(place: Place, kinds: set[str]) -> bool:
    """Whether a place can be where all of this happened in one call: a copy, and whether the host waited for it."""
    node = place.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _MOVES:
        return True
    target = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if (
        isinstance(target, str)
        and (DOWNLOAD if target.startswith("cuda") else UPLOAD if target == "cpu" else "") in kinds
    ):
        return False
    asynchronous = _is_asynchronous(node)
    return asynchronous is None or UPLOAD not in kinds or asynchronous != (WAIT in kinds)


def _is_asynchronous(move: ast.Call) -> bool | None:
    """Whether `non_blocking` is set in this call; None if that is not known."""
    for keyword in move.keywords:
        if keyword.arg in (None, "non_blocking"):
            value = keyword.value
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None
    starred = any(isinstance(each, ast.Starred) for each in move.args)
    return None if starred or len(move.args) >= _POSITIONAL else False

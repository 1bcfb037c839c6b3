"""What a visitor of a rule is called for.

A method of a rule is a visitor if its name begins with ``visit_`` and goes on with the name of a LibCST node, or if one
of the decorators here stands above it. The same declaration says which files and which functions can be left out,
so a rule states nothing twice:

``@on.call("torch.tensor", "torch.as_tensor")``
    calls of these functions, whatever the file calls them by;
``@on.method("item", "tolist")``
    calls of methods of these names;
``@on.within("cuda")``
    above a ``visit_`` method: only the nodes in functions that hold one of these identifiers, and those outside of
    functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from torchlint.prefilter.needs import Need, identifiers, of_library

Visitor = TypeVar("Visitor", bound=Callable[..., None])


class Event(NamedTuple):
    """The nodes that a visitor is called for.

    ``node`` is the name of a class of LibCST; ``functions`` are the dotted names of the functions that are called,
    ``methods`` those of methods. Nodes that stand in a function without any of the ``identifiers`` are left out, and
    so are files that do not fulfil every one of the ``needs``.
    """

    node: str
    functions: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    needs: tuple[Need, ...] = ()


def call(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of functions or classes by their dotted names."""
    last = frozenset(name.rpartition(".")[2] for name in names)
    return _declared(Event("Call", functions=frozenset(names), identifiers=last, needs=(of_library(names),)))


def method(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of methods by their names, whatever they are called on."""
    found = frozenset(names)
    return _declared(Event("Call", methods=found, identifiers=found, needs=(identifiers(*names),)))


def within(*names: str) -> Callable[[Visitor], Visitor]:
    """The nodes that a ``visit_`` method names, in functions that hold one of these identifiers, and outside."""

    def declare(visitor: Visitor) -> Visitor:
        node = visitor.__name__.removeprefix("visit_")
        return _declared(Event(node, identifiers=frozenset(names), needs=(identifiers(*names),)))(visitor)

    return declare


def _declared(event: Event) -> Callable[[Visitor], Visitor]:
    def declare(visitor: Visitor) -> Visitor:
        visitor.__event__ = event  # type: ignore[attr-defined]
        return visitor

    return declare


def events(rule: type[Any]) -> dict[str, Event]:
    """The visitors of a rule by name."""
    found: dict[str, Event] = {}
    for name in dir(rule):
        event = getattr(getattr(rule, name), "__event__", None)
        if isinstance(event, Event):
            found[name] = event
        elif name.startswith("visit_"):
            found[name] = Event(name.removeprefix("visit_"))
    return found

"""What a visitor of a rule is called for.

A method of a rule is a visitor if its name begins with ``visit_`` and goes on with the name of a LibCST node, or if one
of the decorators here stands above it. The same declaration says which files and which functions can be left out,
so a rule states nothing twice. Some visitors are called for nodes:

``@on.call("torch.tensor", "torch.as_tensor")``
    calls of these functions, whatever the file calls them by;
``@on.method("item", "tolist")``
    calls of methods of these names;
``@on.within("cuda")``
    above one of the others or a ``visit_`` method: only nodes in functions that hold one of these identifiers, and
    those outside of functions. Several of them narrow the choice further.

Others are called for what the analysis has found, once for all rules (:mod:`torchlint.analysis.things`):

``@on.loader``
    each ``Loader``: a data loader that a call makes;
``@on.move``
    each ``Move``: a call of ``to``, ``cuda``, ``cpu``, ``type_as`` or ``type``;
``@on.step``
    each ``Step``: a loop or function that runs in every step, with what it reads from the device;
``@on.cuda_request``
    each ``CudaRequest``: a place that names CUDA as the device;
``@on.flag("torch.backends.cudnn.enabled", value=False)``
    each ``BackendFlag``: a write that leaves the flag at this value;
``@on.flags_together("torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic")``
    each ``Conflict``: two writes that leave both flags on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from torchlint.knowledge.backends import SPELLED
from torchlint.knowledge.loaders import LOADERS
from torchlint.knowledge.portability import ASKING
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import Need, identifier_parts, identifiers, of_library

Visitor = TypeVar("Visitor", bound=Callable[..., None])


class Event(NamedTuple):
    """What a visitor is called for.

    ``node`` is the name of a class of LibCST; ``functions`` are the dotted names of the functions that are called,
    ``methods`` those of methods. Nodes that stand in a function without an identifier of each group are left out, and
    so are files that do not fulfil every one of the ``needs``. ``thing`` stands instead of ``node`` for what the
    analysis finds; ``flags`` and ``value`` choose among backend flags.
    """

    node: str = ""
    functions: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    groups: tuple[frozenset[str], ...] = ()
    needs: tuple[Need, ...] = ()
    thing: str = ""
    flags: tuple[str, ...] = ()
    value: bool = True


def call(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of functions or classes by their dotted names."""
    last = frozenset(name.rpartition(".")[2] for name in names)
    return _declared(Event("Call", functions=frozenset(names), groups=(last,), needs=(of_library(names),)))


def method(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of methods by their names, whatever they are called on."""
    found = frozenset(names)
    return _declared(Event("Call", methods=found, groups=(found,), needs=(identifiers(*names),)))


def within(*names: str) -> Callable[[Visitor], Visitor]:
    """What the visitor is called for otherwise, in functions that hold one of these identifiers, and outside."""

    def declare(visitor: Visitor) -> Visitor:
        event = _event_of(visitor.__name__, visitor)
        narrowed = event._replace(groups=(*event.groups, frozenset(names)), needs=(*event.needs, identifiers(*names)))
        return _declared(narrowed)(visitor)

    return declare


def flag(*names: str, value: bool) -> Callable[[Visitor], Visitor]:
    """Writes of the file that leave one of these backend flags at a value."""
    spelled = identifier_parts(*(SPELLED[name] for name in names))
    return _declared(Event(thing="flag", flags=names, value=value, needs=(spelled,)))


def flags_together(one: str, other: str) -> Callable[[Visitor], Visitor]:
    """Pairs of writes that leave two backend flags on; one of them may stand in another file."""
    return _declared(Event(thing="flags_together", flags=(one, other)))


def _declared(event: Event) -> Callable[[Visitor], Visitor]:
    def declare(visitor: Visitor) -> Visitor:
        visitor.__event__ = event  # type: ignore[attr-defined]
        return visitor

    return declare


loader = _declared(Event(thing="loader", needs=(of_library(LOADERS),)))
move = _declared(Event(thing="move", needs=(concepts.MOVE,)))
step = _declared(Event(thing="step", needs=(concepts.HOT,)))
cuda_request = _declared(Event(thing="cuda_request", needs=(identifiers(*ASKING),)))


def _event_of(name: str, visitor: object) -> Event:
    """What is declared of a visitor, or told by its name."""
    event = getattr(visitor, "__event__", None)
    return event if isinstance(event, Event) else Event(name.removeprefix("visit_"))


def events(rule: type[Any]) -> dict[str, Event]:
    """The visitors of a rule by name."""
    every = ((name, getattr(rule, name)) for name in dir(rule))
    return {
        name: _event_of(name, visitor)
        for name, visitor in every
        if name.startswith("visit_") or isinstance(getattr(visitor, "__event__", None), Event)
    }

"""What the analysis of a file knows better than following the programs: events that do not happen there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import receiver
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.values.lattice import Device
from torchlint.knowledge.forms import (
    BLOCKING,
    COPIED_TO_HOST,
    COPY,
    DEVICE_INDEX,
    HOST_INDEX,
    LISTED_INDEX,
    READ,
    STORED_ON_HOST,
)
from torchlint.model import Heat
from torchlint.project.followed import OWN

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.followed import FollowedEvent, Range


_NUMBERS = frozenset({"number", "numbers", "constant numbers"})  # origins


class Happening:
    """What happens in every step in the expressions of a file, as far as that does not exclude it."""

    def __init__(self, module: SourceModule) -> None:
        self._followed = module.followed
        self.excluded = contradicted(module) if module.followed.events else frozenset()

    def within(self, node: cst.CSTNode) -> list[FollowedEvent]:
        """What happens in an expression."""
        found = self._followed.events_in(node)
        return [event for event in found if event.seen or event.place not in self.excluded]

    def copies(self, node: cst.CSTNode) -> bool:
        """Whether something is copied to the device in an expression."""
        return any(event.form.startswith(COPY) for event in self.within(node))

    def copies_data(self, node: cst.CSTNode) -> bool:
        """Whether something is copied there that the program does not make itself in the step."""
        return any(event.form.startswith(COPY) and event.origin not in OWN for event in self.within(node))


_TO_HOST = frozenset(form.key for form in (HOST_INDEX, STORED_ON_HOST, COPIED_TO_HOST))  # of what is on the CPU


def contradicted(module: SourceModule) -> frozenset[Range]:
    """The places of events that the file itself excludes.

    It shows that the place is never reached, that a step of the same function gets there seldom, or that what is read
    is on the CPU, or that the compiler makes a constant of an index or of numbers. A program that names no device
    trains on the CPU, and what a class of the project moves may be anything.
    """
    events = module.followed.events
    plain = "__main__" in module.text and not module.device_evidence.on_accelerator
    nodes = module.followed.expressions([event.place for event in events])
    found = set()
    for event in events:
        node = nodes.get(event.place)
        if node is None:
            continue
        seldom = event.is_in_loop and (plain or module.heat(node).rank < Heat.STEP.rank)
        own = event.form == BLOCKING.key and event.origin == "batch" and module.project.own_moves()
        on_host = (
            event.form.startswith(READ)
            and event.form not in _TO_HOST
            and any(_is_on_cpu(module, part) for part in _read(node))
        )
        folded = event.form in (DEVICE_INDEX.key, LISTED_INDEX.key) or event.origin in _NUMBERS
        constant = folded and module.shared(Compiled).covers(node)
        if own or seldom or on_host or constant or module.never_runs(node):
            found.add(event.place)
    return frozenset(found)


def _read(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expressions whose content may be read: a receiver, arguments, or the expression itself."""
    if not isinstance(node, cst.Call):
        return [node]
    owner = receiver(node)
    return [owner] if owner is not None else [argument.value for argument in node.args]


def _is_on_cpu(module: SourceModule, node: cst.BaseExpression) -> bool:
    return module.value(node).device is Device.CPU

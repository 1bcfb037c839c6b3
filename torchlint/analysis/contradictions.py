"""What the analysis of a file knows better than following the programs: events that do not happen there."""

from __future__ import annotations

from functools import cached_property
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
from torchlint.project.followed import BATCHES, OWN, SAME, SELDOM

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.followed import FollowedEvent, Range


# Origins of what the compiler makes a constant of.
_FOLDED = frozenset({"number", "numbers", "constant numbers", SAME})
_TO_HOST = frozenset(form.key for form in (HOST_INDEX, STORED_ON_HOST, COPIED_TO_HOST))  # of what is on the CPU


class Contradictions:
    """The ``places`` of events that the file itself excludes.

    It shows that the place is never reached, that a step of the same function gets there seldom, or that what is read
    is on the CPU, or that the compiler makes a constant of an index or of numbers; and what a class of the project
    moves may be anything.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def _own_moves(self) -> bool:
        return self._module.project.own_moves(str(binding.qualified) for binding in self._module.project_imports())

    def _may_be_own(self, node: cst.BaseExpression) -> bool:
        """Whether what is moved may be of a class of the project; the values in a comprehension are tensors."""
        owner = receiver(node) if isinstance(node, cst.Call) else None
        bindings = self._module.definitions(owner) if isinstance(owner, cst.Name) else ()
        inner = bool(bindings) and all(b.kind == "loop" and not isinstance(b.statement, cst.For) for b in bindings)
        return not inner and self._own_moves

    @cached_property
    def places(self) -> frozenset[Range]:
        """The places."""
        events = self._module.followed.events
        nodes = self._module.followed.expressions([event.place for event in events])
        every = ((event, nodes[event.place]) for event in events if event.place in nodes)
        return frozenset(event.place for event, node in every if self._excludes(event, node))

    def _excludes(self, event: FollowedEvent, node: cst.BaseExpression) -> bool:
        module = self._module
        seldom = event.is_in_loop and event.phase != SELDOM and module.heat(node).rank < Heat.STEP.rank
        own = event.form == BLOCKING.key and event.origin in BATCHES and self._may_be_own(node)
        on_host = (
            event.form.startswith(READ)
            and event.form not in _TO_HOST
            and any(_is_on_cpu(module, part) for part in _read(node))
        )
        folded = event.form in (DEVICE_INDEX.key, LISTED_INDEX.key) or event.origin in _FOLDED
        constant = folded and module.shared(Compiled).covers(node)
        return bool(own or seldom or on_host or constant or module.never_runs(node))


class Happening:
    """What happens in every step in the expressions of a file, as far as that does not exclude it."""

    def __init__(self, module: SourceModule) -> None:
        self._followed = module.followed
        self._excluded = module.shared(Contradictions).places

    def within(self, node: cst.CSTNode) -> list[FollowedEvent]:
        """What happens in an expression."""
        found = self._followed.events_in(node)
        return [event for event in found if event.seen or event.place not in self._excluded]

    def copies(self, node: cst.CSTNode) -> bool:
        """Whether something is copied to the device in an expression."""
        return any(event.form.startswith(COPY) for event in self.within(node))

    def copies_data(self, node: cst.CSTNode) -> bool:
        """Whether something is copied there that the program does not make itself in the step."""
        return any(event.form.startswith(COPY) and event.origin not in OWN for event in self.within(node))


def _read(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expressions whose content may be read: a receiver, arguments, or the expression itself."""
    if not isinstance(node, cst.Call):
        return [node]
    owner = receiver(node)
    return [owner] if owner is not None else [argument.value for argument in node.args]


def _is_on_cpu(module: SourceModule, node: cst.BaseExpression) -> bool:
    return module.value(node).device is Device.CPU

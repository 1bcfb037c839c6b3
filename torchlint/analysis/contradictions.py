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
    DEVICE_INDEX,
    HOST_INDEX,
    LISTED_INDEX,
    READ,
    STORED_ON_HOST,
)
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.followed import Range


_TO_HOST = frozenset(form.key for form in (HOST_INDEX, STORED_ON_HOST, COPIED_TO_HOST))  # of what is on the CPU


def contradicted(module: SourceModule) -> frozenset[Range]:
    """The places of events that the file itself excludes.

    It shows that the place is never reached, that a step of the same function gets there seldom, or that what is read
    is on the CPU, or that the compiler makes a constant of an index; and what a class of the project moves may be
    anything.
    """
    events = module.followed.events
    nodes = module.followed.expressions([event.place for event in events])
    found = set()
    for event in events:
        node = nodes.get(event.place)
        if node is None:
            continue
        seldom = event.is_in_loop and module.heat(node).rank < Heat.STEP.rank
        own = event.form == BLOCKING.key and event.origin == "batch" and module.project.own_moves()
        on_host = (
            event.form.startswith(READ)
            and event.form not in _TO_HOST
            and any(_is_on_cpu(module, part) for part in _read(node))
        )
        constant = event.form in (DEVICE_INDEX.key, LISTED_INDEX.key) and module.shared(Compiled).covers(node)
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

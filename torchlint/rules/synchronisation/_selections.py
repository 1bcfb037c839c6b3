"""What becomes of counted operations: which use the same mask, which are reduced, and which the host needs anyway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import wording
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.read import Read
from torchlint.analysis.values.models import is_loss_name
from torchlint.knowledge.synchronisation import REDUCTIONS, SHAPES
from torchlint.rules.synchronisation._repeated_reads import repeated_reads

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.counted import Counted
    from torchlint.analysis.things.step import Step

_ITERATORS = frozenset({"builtins.enumerate", "builtins.zip", "builtins.list", "builtins.len"})


def by_mask(module: SourceModule, counted: Iterable[Counted]) -> list[list[Counted]]:
    """The operations, those together that select by a mask that cannot have changed in between."""
    operations = list(counted)
    reads = {one: Read(one.node, one.mask, "") for one in operations if one.mask is not None}
    again = repeated_reads(module, reads.values())
    groups: list[list[Counted]] = []
    latest: dict[str, list[Counted]] = {}
    for one in operations:
        text = wording(one.mask) if one.mask is not None else ""
        if one in reads and reads[one] in again:
            latest[text].append(one)
        else:
            groups.append([one])
            latest[text] = groups[-1]
    return groups


def is_reduced(module: SourceModule, node: cst.BaseExpression) -> bool:
    """Whether what is selected goes straight into a sum, a mean or a loss, which can weigh all elements instead."""
    around = module.parent(node)
    call = module.parent(around) if isinstance(around, cst.Attribute) else module.call_with_argument(node)
    if not isinstance(call, cst.Call):
        return False
    name = method(call) or (module.qualified(call.func) or "").rpartition(".")[2]
    return name in REDUCTIONS or is_loss_name(call.func)


def is_needed(module: SourceModule, step: Step, counted: Counted) -> bool:
    """Whether another rule reports the result, or nothing can be done: it is iterated over, or selects boxes."""
    function = module.function_of(counted.node)
    names = module.within(function, cst.Name) if function is not None else ()
    if any("nms" in name.value.lower().split("_") for name in names):
        return True
    return module.shared(Compiled).covers(counted.node) or _is_read(module, step, counted)


def _is_read(module: SourceModule, step: Step, counted: Counted) -> bool:
    """Whether the host reads the result or its size in the same expression, or iterates over it."""
    read = {part for one in step.reads for part in (one.node, one.tensor)} | {one.node for one in step.conditions}
    below: cst.CSTNode = counted.node
    for around in (counted.node, *module.ancestors(counted.node)):
        if around in read or (isinstance(around, (cst.For, cst.CompFor)) and below is around.iter):
            return True
        if isinstance(around, cst.Attribute) and around.attr.value in SHAPES:
            return True
        if isinstance(around, cst.Call) and module.qualified(around.func) in _ITERATORS:
            return True
        if isinstance(around, (cst.BaseStatement, cst.BaseSmallStatement)):
            return False
        below = around
    return False

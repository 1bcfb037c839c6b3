"""What becomes of counted operations: which use the same mask, which are reduced, and which the host needs anyway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import wording
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.read import Read
from torchlint.analysis.things.traced import TracedCode
from torchlint.analysis.values.semantics.models import is_loss_name
from torchlint.catalogue.views import METADATA, SUMS
from torchlint.rules.synchronization._repeated_reads import repeated_reads

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
    return name in SUMS or is_loss_name(call.func)


class NeededResults:
    """Decides which results one rule should not report: others do, or nothing can be done about them."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._suppressing: dict[cst.FunctionDef | None, bool] = {None: False}

    def left_over(self, step: Step) -> list[Counted]:
        """The counted operations of a step without compiled code, the selection of boxes, and what the host reads."""
        read = {part for one in step.reads for part in (one.node, one.tensor)} | {one.node for one in step.conditions}
        return [
            one
            for one in step.counted
            if not (self._selects_boxes(one.node) or self._is_compiled(one.node) or self._is_read(one.node, read))
        ]

    def _is_compiled(self, node: cst.CSTNode) -> bool:
        """Whether a node runs as compiled code, or may."""
        function = self._module.function_of(node)
        traced = self._module.shared(TracedCode).all
        return any(one.function is function for one in traced) or self._module.shared(Compiled).covers(node)

    def _selects_boxes(self, node: cst.CSTNode) -> bool:
        """Whether the function around a node suppresses boxes that overlap, of which any number remains."""
        function = self._module.function_of(node)
        if function not in self._suppressing:
            names = self._module.within(function, cst.Name) if function is not None else ()
            self._suppressing[function] = any("nms" in name.value.lower().split("_") for name in names)
        return self._suppressing[function]

    def _is_read(self, node: cst.BaseExpression, read: set[cst.BaseExpression]) -> bool:
        """Whether the host reads the result or its size in the same expression, or iterates over it."""
        below: cst.CSTNode = node
        for around in (node, *self._module.ancestors(node)):
            if around in read or (isinstance(around, (cst.For, cst.CompFor)) and below is around.iter):
                return True
            if isinstance(around, cst.Attribute) and around.attr.value in METADATA:
                return True
            if isinstance(around, cst.Call) and self._module.qualified(around.func) in _ITERATORS:
                return True
            if isinstance(around, (cst.BaseStatement, cst.BaseSmallStatement)):
                return False
            below = around
        return False

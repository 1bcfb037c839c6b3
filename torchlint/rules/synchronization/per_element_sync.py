"""TL302: the host synchronizes with the device once per parameter, sample or element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.synchronization._elements import LoopKind


class PerElementSync(Rule):
    id = "TL302"
    name = "per-element-sync"
    summary = "The host synchronizes with the device once per parameter, sample or element"
    severity = Severity.INFO
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR, identifiers("for"))
    layout = False
    about_steps = True
    about_reads = True
    recipe = Recipe(
        "synchronizations", "finding", "more than ten synchronizations at the line in each step", least=10, each="step"
    )

    @on.file
    def reads(self, module: SourceModule) -> None:
        """Check the loops of a file, which are found through their reads."""
        from torchlint.rules.synchronization._destinations import Destinations
        from torchlint.rules.synchronization._elements import ElementLoops
        from torchlint.rules.synchronization._read_costs import purpose

        goes = module.shared(Destinations)
        for found in module.shared(ElementLoops).all():
            from torchlint.rules.synchronization._fixes import read_once

            read, kind = found.reads[0], found.kind
            if module.in_test(read.node):
                continue
            heat = module.heat(read.node)
            over = f"this loop iterates over the {_WHAT[kind]}" if kind in _WHAT else "this is the loop"
            evidence = [module.evidence(found.loop, over)]
            evidence += [module.evidence(more.node, f"{more.how} too") for more in found.reads[1:]]
            use, drawn = purpose(module, list(found.reads)), all(goes.only(one, "picture") for one in found.reads)
            self.report(
                read.node,
                f"{read.how} {_often(kind)}: {use or _ADVICE[kind]}",
                evidence=evidence,
                heat=heat,
                fix=read_once(module, found) if use is None or drawn else None,
            )


def _often(kind: LoopKind) -> str:
    """How often a read synchronizes, as far as that is known."""
    if kind in _WHAT:
        return f"synchronizes with the GPU once for each of the {_WHAT[kind]}"
    return "reads a tensor from the GPU in each iteration of this loop"


_WHAT = {
    "parameters": "parameters",
    "buffers": "buffers",
    "elements": "elements of a tensor",
    "indices": "elements of a tensor",
    "masks": "values that select elements of a tensor",
}
_NORM = "compute on the device, for example with `torch.nn.utils.get_total_norm`, and read one result"
_ADVICE = {
    "parameters": _NORM,
    "buffers": "compute on the device, and read one result",
    "gradients": _NORM,
    "elements": "read the whole tensor once, with `.tolist()` or `.cpu()` before the loop",
    "indices": "read the whole tensor once, with `.tolist()` or `.cpu()` before the loop",
    "masks": "copy the tensors once, with `.cpu()` before the loop",
    "iterations": "collect the results on the device, and read them once after the loop",
}

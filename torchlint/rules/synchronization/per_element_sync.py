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
    """
    ## What it finds
    A read of a tensor on an accelerator inside a loop or comprehension over parameters (`p.grad.norm().item()`),
    over the elements of a tensor (`[float(v) for v in t]`), over indices into one (`t[i].item()`), over values that
    select elements of one (`hits[labels == c].sum().item()`), or over what a function makes of one (`parts(t)`).

    ## Why it costs
    Each read synchronizes with the device: hundreds of times for a model's parameters. Even on the CPU, reading
    10,000 elements one by one takes 9.2 ms, against 0.11 ms with one `.tolist()` (PyTorch 2.13, two CPU cores).

    ## Instead
    Flagged:

    ```python
    import torch


    def grad_norm(model):
        model.cuda()
        total = 0.0
        for p in model.parameters():
            total += p.grad.norm().item() ** 2
        return total**0.5
    ```

    Preferred:

    ```python
    import torch


    def grad_norm(model):
        model.cuda()
        return torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    ```

    What the fix makes of the first, with the same values:

    ```python
    import torch


    def grad_norm(model):
        model.cuda()
        total = 0.0
        for p in model.parameters():
            total += p.grad.norm().detach() ** 2
        total = float(total)
        return total**0.5
    ```

    ## When to leave it
    For short lists, checks that run once, and loops that only draw what they read. All findings are `info`, since few
    loops of this kind cost much in the programs that were read. The rule is silent under
    conditions that hold only every N steps, in exception handlers, in tests, for tensors that are not proved to be on
    an accelerator, and in files that move nothing to one.

    ## Fix safety
    `[v.item() for v in t]` becomes `t.tolist()`, or `t.flatten().tolist()` if `t` may have more than one dimension. It
    is unsafe: elements with several numbers no longer raise an error. So is summing over parameters on the device with
    a single read at the end, which rounds in the tensor's dtype. There is no fix for other loops.

    ## Confirmed by
    More than ten synchronizations per step at the line.

    ## Sources
    - [Performance tuning guide, avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization)
    - [torch.nn.utils.get_total_norm](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.get_total_norm.html)
    """

    id = "TL302"
    name = "per-element-sync"
    summary = "The host synchronizes with the device once per parameter, sample or element"
    severity = Severity.INFO
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR, identifiers("for"))
    layout = False
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

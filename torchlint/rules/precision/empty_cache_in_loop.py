"""TL808: cached memory is returned to the driver in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

EMPTYING = tuple(
    f"torch.{owner}.empty_cache"
    for owner in ("cuda", "cuda.memory", "accelerator", "accelerator.memory", "mps", "xpu", "xpu.memory")
)


class EmptyCacheInLoop(Rule):
    """
    ## What it finds
    `torch.cuda.empty_cache()` in every step of a loop, in a function that is called in every step, or in the `forward`
    method of a module; also the function of that name in `torch.accelerator`, `torch.mps` and `torch.xpu`. In an
    evaluation, and where a comment says that memory is fragmented or runs out, the finding is `info`.

    ## Why it costs
    PyTorch keeps freed memory and reuses it in the next step. `empty_cache` returns it to the driver, which waits for
    the device, and the next step has to allocate all of it again. PyTorch does not get more memory by that. In PEFT, a
    training of 65 seconds took 45 without the call, and 50 with the call in every tenth step (huggingface/peft#2894);
    Transformers removed the call from its training loop for the same reason.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.empty_cache()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    If memory is fragmented, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, or make the call every N steps.

    ## When to leave it
    Where another process or library allocates memory on the same device between steps, or where training runs out of
    memory without the call even with expandable segments. The rule is silent once per epoch, every N steps, in
    exception handlers and the `finally` block after them, under other conditions than a check for an accelerator, in
    tests, in loops that run another loop over batches each time, and where the step moves a model to the host, deletes
    one or resets the statistics of peak memory.

    ## Fix safety
    Deleting the call is unsafe: a program that is close to the limit may run out of memory.

    ## Confirmed by
    Calls in every step, and on a GPU the time that they take.

    ## Sources
    - [CUDA semantics, memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)
    - [`torch.cuda.empty_cache`](https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html)
    - [huggingface/transformers#31372](https://github.com/huggingface/transformers/issues/31372)
    - [huggingface/peft#2894](https://github.com/huggingface/peft/pull/2894)
    """

    id = "TL808"
    name = "empty-cache-in-loop"
    summary = "Cached memory is returned to the driver in every step"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.HOT,)
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "the cache is emptied in every step, which takes a part of the step's time",
        least=0.5,
        each="step",
        functions=EMPTYING,
    )

    @on.call(*EMPTYING)
    def empties(self, node: cst.Call) -> None:
        """Check a call of ``empty_cache``."""
        from torchlint.rules.precision._clearing import Clearing

        module = self.module
        clearing = module.shared(Clearing)
        if module.in_test(node) or not clearing.is_wasted(node):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.precision._fixes import without_call

        trains = module.every_step(node)
        step = module.shared(Steps).around(node).in_words
        self.report(
            node,
            f"`{module.code(node)}` returns cached memory in every {step}, which the next one must allocate again: "
            "remove it; against fragmentation, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
            severity=Severity.WARNING if trains and not clearing.is_explained(node) else Severity.INFO,
            heat=Heat.STEP,
            fix=without_call(module, node),
        )

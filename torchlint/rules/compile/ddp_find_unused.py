"""TL904: every step searches the autograd graph for parameters that it does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.distributed import CONDITIONAL_PARTS, DISTRIBUTED
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_SETTERS = (
    *DISTRIBUTED,
    "pytorch_lightning.strategies.DDPStrategy",
    "lightning.pytorch.strategies.DDPStrategy",
    "accelerate.DistributedDataParallelKwargs",
    "accelerate.utils.DistributedDataParallelKwargs",
)
_SHORT = 5


class DdpFindUnused(Rule):
    """
    ## What it finds
    `DistributedDataParallel(model, find_unused_parameters=True)`, also through Lightning's `DDPStrategy` and
    Accelerate's `DistributedDataParallelKwargs`, in a file without a sign that some steps do not use all parameters.

    ## Why it costs
    After every forward pass, DDP traverses the whole autograd graph to find parameters that the loss does not depend
    on. If every step uses all of them, that host time before the backward pass is wasted. It is little for most models,
    and more for models with many small layers. DDP itself tells: in torch 2.13.0 (one process, gloo), a model without
    unused parameters gets the warning "find_unused_parameters=True was specified in DDP constructor, but did not find
    any unused parameters" in its first step.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch.nn.parallel import DistributedDataParallel


    def wrapped(model, rank):
        return DistributedDataParallel(model.to(rank), device_ids=[rank], find_unused_parameters=True)
    ```

    Preferred:

    ```python
    import torch
    from torch.nn.parallel import DistributedDataParallel


    def wrapped(model, rank):
        return DistributedDataParallel(model.to(rank), device_ids=[rank])
    ```

    ## When to leave it
    Where a step may leave parameters out: branches, frozen layers that are unfrozen later, mixtures of experts,
    generators and discriminators in turn, layers that are dropped at random. Without the option, such a step raises an
    error or hangs. If the unused parameters are always the same, `static_graph=True` searches only once. Only the model
    decides, so the finding is an `info`, and DDP's warning is the test.

    The rule is silent where names in the file suggest such a model, with `static_graph`, where a variable sets the
    option, and in tests.

    ## Fix safety
    There is no fix: a model that does leave parameters out would fail without the option.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: the graph is traversed in C++ code of DDP; the warning
    that DDP prints in the first step is the proof.

    ## Sources
    - [`DistributedDataParallel`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
    - [Performance tuning guide, find_unused_parameters](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#match-the-order-of-layers-in-constructors-and-during-the-execution-if-using-distributeddataparallel-find-unused-parameters-true)
    """

    id = "TL904"
    name = "ddp-find-unused"
    summary = "`find_unused_parameters=True` traverses the autograd graph in every step"
    severity = Severity.INFO
    programs = ("training",)
    needs = (identifiers("find_unused_parameters"),)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "the graph is traversed in C++ code of DDP; the warning that DDP prints in the first step is the proof",
    )

    @on.call(*_SETTERS)
    def wraps(self, node: cst.Call) -> None:
        """Check a call that sets the option."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import keyword, literal

        module = self.module
        if literal(keyword(node, "find_unused_parameters")) is not True or module.in_test(node):
            return
        if any(_is_conditional(name.value.lower()) for name in module.nodes_of(cst.Name)):
            return
        self.report(
            node,
            "`find_unused_parameters=True` traverses the autograd graph in every step: leave it out if DDP warns in "
            "the first step that it found none, and pass `static_graph=True` if they are always the same",
        )


def _is_conditional(name: str) -> bool:
    """Whether a name tells of parameters that some steps do not use; short words count only as the end of a word."""
    if "find_unused" in name:
        return False
    words = name.split("_")
    short = tuple(part for part in CONDITIONAL_PARTS if len(part) < _SHORT)
    return any(word.endswith(short) for word in words) or any(
        part in name for part in CONDITIONAL_PARTS if len(part) >= _SHORT
    )

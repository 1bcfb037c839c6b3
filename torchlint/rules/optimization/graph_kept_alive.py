"""TL607: losses are added up or listed together with their autograd graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.step import Step
    from torchlint.rules.optimization._accumulated import KeptGraph


class GraphKeptAlive(Rule):
    """
    ## What it finds
    A loss that is added to a total (`total += loss`) or appended to a list (`losses.append(loss)`) in each step of a
    loop, after `backward` was called on it or on a sum of it; also a loss that a function of the file returns after its
    `backward`. The total must start outside of the loop, from a number, a new tensor or an empty list.

    ## Why it costs
    The total depends on every loss, so the autograd graph of every step stays in memory until the total is freed.
    `backward` releases the activations that the graph holds, but not its nodes, which are objects on the host. For a
    network of 150 layers, 1,000 steps of `total += loss` on a CPU took 166 MiB more than with `loss.detach()`, and 7 %
    more time (torch 2.13). Where `backward` does not reach a part of the graph, the activations stay as well: without
    any `backward`, the same network took 359 MiB more after 300 steps. On a GPU, activations take device memory.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
        return total / len(loader)
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return total / len(loader)
    ```

    `loss.item()` also drops the graph, but makes the host wait for the device in every step.

    ## When to leave it
    Where the loop has so few steps that memory does not matter. Where the total is reset every N steps, the finding is
    an `info`.

    The rule is silent where `backward` keeps the graph (`retain_graph`, `create_graph`), where the total itself is
    differentiated, cleared or detached, for totals that start within a step or whenever accumulated gradients are
    applied, for sums under `torch.no_grad()`, for attributes, and for losses that are not differentiated, which
    `eval-without-no-grad` reports.

    ## Fix safety
    The fix appends `.detach()`. It is unsafe: what is kept no longer requires gradients, and is printed without
    `grad_fn`.

    ## Confirmed by
    Losses that still have an autograd graph when they are added or appended.

    ## Sources
    - [Frequently asked questions, my model reports "cuda runtime error(2): out of memory"](https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory)
    """

    id = "TL607"
    name = "graph-kept-alive"
    summary = "Losses are added up together with their autograd graphs"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (concepts.BACKWARD,)
    layout = False
    recipe = Recipe("graphs", "finding", "the loss carries an autograd graph when it is kept")

    @on.step
    def accumulates(self, step: Step) -> None:
        """Check a loop that makes a step in each iteration."""
        import libcst as cst

        loop = step.place
        if not isinstance(loop, (cst.For, cst.While)) or self.module.in_test(loop):
            return
        from torchlint.rules.optimization._accumulated import KeptGraphs

        for kept in self.module.shared(KeptGraphs).of(loop):
            from torchlint.rules.optimization._fixes import detached

            self.report(
                kept.loss,
                self._message(kept),
                severity=Severity.INFO if kept.until_reset else Severity.WARNING,
                heat=Heat.STEP,
                fix=detached(self.module, kept),
            )

    def _message(self, kept: KeptGraph) -> str:
        name = kept.accumulator.value
        loss = self.module.code(kept.loss)
        verb = "collects" if kept.listed else "adds up"
        until = f"until `{name}` is reset" if kept.until_reset else f"as long as `{name}` lives"
        instead = f"`{loss}.detach()`" if "\n" not in loss and len(loss) <= 40 else "`.detach()`"
        return (
            f"`{name}` {verb} losses together with their autograd graphs, so the graph of every step stays in "
            f"memory {until}: use {instead}"
        )

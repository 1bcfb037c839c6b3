"""TL803: gradients are scaled although the loss is computed in bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.precision import GRAD_SCALERS
from torchlint.model import Recipe, Severity
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ScalerWithBfloat16(Rule):
    """
    ## What it finds
    An enabled `GradScaler` that scales losses only in functions where every `autocast` has `dtype=torch.bfloat16`.

    ## Why it costs
    A scaler keeps small gradients from underflowing to zero in float16. bfloat16 has the exponent range of float32, so
    there is nothing to prevent. Yet in every step the scaler multiplies all gradients, checks them for infinities, and
    reads the result of the check from the device, so that the host waits for the whole backward pass (`_maybe_opt_step`
    in torch 2.13; with `fused=True` optimizers it does not wait). It also skips steps with infinite gradients, and
    raises an error if the gradients themselves are bfloat16.

    ecmwf/WeatherGenerator#874 shows the scaler's share in a profile; decoderesearch/SAELens#723 and
    huggingface/accelerate#1036 removed it. On the simulated device, a training of ten steps with AdamW waits ten times
    in `scaler.step`, and never with `enabled=False`. With torch 2.13 on one CPU core, a step of 8 linear layers of 1024
    x 1024 took 0.16 seconds with a scaler and 0.10 without (the fastest of three trials). Only a run on a GPU can show
    the time there.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        scaler = torch.amp.GradScaler("cuda")
        for x in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x.cuda()).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        scaler = torch.amp.GradScaler("cuda", enabled=False)
        for x in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x.cuda()).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    ```

    A disabled scaler passes everything through. It can also be removed, leaving plain `loss.backward()` and
    `optimizer.step()`.

    ## When to leave it
    Where steps with infinite gradients must be skipped, and nothing else does so. The rule is silent if the dtype is
    chosen at run time, if the file mentions `torch.float16` or `half`, if the scaler has a switch of its own
    (`enabled=args.scale`) or comes from another file, and where another function than the one that scales enters
    `autocast`.

    ## Fix safety
    Passing `enabled=False` is unsafe: steps that the scaler would have skipped are taken. Otherwise results stay the
    same, since the scaler multiplies by powers of two.

    ## Confirmed by
    Calls in which the scaler unscales and checks gradients, in every step.

    ## Sources
    - [Automatic mixed precision, gradient scaling](https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
    - `torch.amp.GradScaler` in torch 2.13
    - [decoderesearch/SAELens#723](https://github.com/decoderesearch/SAELens/pull/723)
    - [huggingface/accelerate#1036](https://github.com/huggingface/accelerate/pull/1036)
    - [ecmwf/WeatherGenerator#874](https://github.com/ecmwf/WeatherGenerator/issues/874)
    """

    id = "TL803"
    name = "scaler-with-bfloat16"
    summary = "A gradient scaler is used although the loss is computed in bfloat16"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (identifiers("bfloat16"), identifiers("scale"))
    layout = False
    recipe = Recipe(
        "function-calls",
        "evidence",
        "the scaler unscales and checks all gradients in every step",
        least=0.5,
        each="step",
        functions=("torch.amp.GradScaler._unscale_grads_",),
    )

    @on.call(*GRAD_SCALERS)
    def scales(self, node: cst.Call) -> None:
        """Check a call that makes a gradient scaler."""
        from torchlint.rules.precision._scaling import Scalers

        module = self.module
        scaling = module.shared(Scalers).in_bfloat16(node)
        if scaling is None or module.in_test(node):
            return
        from torchlint.rules.precision._fixes import without_scaling

        context = scaling.contexts[0]
        notes = ((context, "losses are computed in bfloat16 here"), (scaling.scales[0], "the loss is scaled here"))
        self.report(
            node,
            f"this scaler's losses are computed in bfloat16 ({module.line_in_words(context)}), which needs no scaling, "
            "yet every step checks all gradients and waits for the result: pass `enabled=False`",
            evidence=[
                *(module.evidence(where, text) for where, text in notes),
                *(module.evidence(call, "the scaler checks gradients here") for call in scaling.updates[:5]),
            ],
            fix=without_scaling(module, node),
        )

"""TL203: a step copies a tensor into pinned memory only to move it to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.move import Move
    from torchlint.rules.transfers._pins import Pin

_ADVICE = {
    "blocking": "the move still waits for the device: remove `.pin_memory()`",
    "constructor": "only then moves it: pass `pin_memory=True` to the constructor instead",
    "loader": "only then moves it: pass `pin_memory=True` to the loader, which pins in a separate thread",
    "anyhow": "only then moves it: create the data in pinned memory, or measure if `.to(device)` alone is faster",
}


class ManualPinThenCopy(Rule):
    """
    ## What it finds
    `x.pin_memory().to(device)` in every step, with or without `non_blocking=True`, also as `.cuda()` or through a
    variable, where nothing else uses the pinned tensor.

    ## Why it costs
    `pin_memory()` allocates page-locked memory and copies the tensor there while the host waits; only then does the
    transfer begin. From pageable memory, the driver stages the data piece by piece instead, so that copying one piece
    overlaps with the transfer of another. In the measurements of PyTorch's tutorial,
    `x.pin_memory().to(device, non_blocking=True)` takes up to twice as long as `x.to(device)`.

    With `non_blocking=True`, the host does not wait for the device after that, so pinning can pay for itself where the
    host runs ahead of the device, for example when it prepares the next batch during a step. Only a run on a GPU can
    show whether it does. A better way in any case is to let the loader or the constructor pin.

    ## Instead
    Flagged:

    ```python
    import numpy as np
    import torch


    def train(model, optimizer, labels):
        for step in range(1000):
            drawn = np.stack([labels[i] for i in np.random.randint(len(labels), size=64)])
            model(torch.from_numpy(drawn).pin_memory().cuda()).mean().backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import numpy as np
    import torch


    def train(model, optimizer, labels):
        for step in range(1000):
            drawn = np.stack([labels[i] for i in np.random.randint(len(labels), size=64)])
            model(torch.from_numpy(drawn).cuda()).mean().backward()
            optimizer.step()
    ```

    Data that is written to pinned memory in the first place needs no extra copy, and its transfer is asynchronous:
    batches of a loader with `pin_memory=True`, `torch.tensor(.., pin_memory=True)`, or a buffer that is allocated once
    by `torch.empty(.., pin_memory=True)`.

    ## When to leave it
    Where a measurement shows that the asynchronous copy pays. The rule is silent for tensors that are pinned once and
    moved often; where anything else uses the pinned tensor; in files that mention threads or streams, which may overlap
    the copy with other work; in `collate_fn` and methods named `pin_memory`; in tests; for batches that the loader has
    already pinned; and for objects that may not be tensors.

    ## Fix safety
    `.pin_memory()` is removed where the move is blocking. This is safe if the move is to CUDA, the tensor is a new,
    dense one, and `torch.cuda.is_available()` has been checked around it or before it in the function. Otherwise it is
    unsafe: `pin_memory` raises an error for other tensors, and without CUDA it raises a `RuntimeError`, where the move
    alone raises an `AssertionError` in builds without CUDA.

    `torch.tensor(..).pin_memory()` becomes `torch.tensor(.., pin_memory=True)`. Without such a check, this is unsafe in
    a `try` statement, for random numbers and where the default device may differ: the constructor raises its error
    before it looks at the content or draws numbers. There is no fix where a variable holds the pinned tensor, nor for
    the other forms.

    ## Confirmed by
    Copies into pinned memory at the line, at least twice. What they cost can only be measured on a GPU.

    ## Sources
    - [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
    - [pytorch/pytorch#130785](https://github.com/pytorch/pytorch/issues/130785): 94 places with this spelling
    """

    id = "TL203"
    name = "manual-pin-then-copy"
    summary = "A tensor is copied into pinned memory in every step, only to be moved to the device"
    severity = Severity.INFO
    group = "advice"
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers("pin_memory"), concepts.HOT)
    layout = False
    recipe = Recipe("pinned-by-hand", "finding", "the host copies tensors into pinned memory", least=2)

    @on.move
    def copies(self, move: Move) -> None:
        """Check a move of something that may have been pinned by hand."""
        module = self.module
        if move.method not in ("to", "cuda") or module.in_test(move.call):
            return
        from torchlint.rules.transfers._pins import Pins

        pin = module.shared(Pins).first_before(move)
        if pin is None:
            return
        from torchlint.rules.transfers._fixes import without_pinning

        trains = module.every_step(pin.call)
        self.report(
            pin.call,
            self._message(pin, "training step" if trains else "step"),
            evidence=[module.evidence(move.call, "the move to the device")] if pin.in_variable else (),
            severity=Severity.WARNING if trains and pin.reason != "anyhow" else Severity.INFO,
            heat=Heat.STEP,
            fix=without_pinning(module, pin, move),
        )

    def _message(self, pin: Pin, step: str) -> str:
        return f"`.pin_memory()` copies the tensor once more on the host in every {step}, and {_ADVICE[pin.reason]}"

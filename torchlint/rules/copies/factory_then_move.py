"""TL104: a tensor is made on the CPU and then moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.factories import ALL
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.copies._factories import MovedFactory


class FactoryThenMove(Rule):
    """
    ## What it finds
    `torch.zeros`, `ones`, `full`, `empty`, `eye`, `arange`, `rand`, `randn`, `randint`, `linspace` and similar
    factories on the CPU, followed by `.to(device)`, `.cuda()`, `.type_as(x)` or `.to(x)`: in the same expression,
    or through a variable that is used for nothing else.

    ## Why it costs
    The CPU fills the memory, the driver copies it from pageable memory, and the host blocks until the device has
    finished all queued work. With `device=` the device fills its own memory, and the host does not wait.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    class Recurrent(nn.Module):
        def forward(self, x):
            hidden = torch.zeros(x.size(0), 128).to(x.device)
            return x @ hidden
    ```

    Preferred:

    ```python
    import torch
    from torch import nn


    class Recurrent(nn.Module):
        def forward(self, x):
            hidden = torch.zeros(x.size(0), 128, device=x.device)
            return x @ hidden
    ```

    ## When to leave it
    Where the CPU's generator must draw the numbers, for example to get the same ones on every machine. Calls with
    `generator=`, `pin_memory=` or `device=` are never flagged, nor is code under `with torch.device(...)`. Data
    (`torch.tensor(list)`) is not flagged, since `device=` would block as well. Outside of code that runs in every
    step the finding is an `info`. The rule is silent where nothing would be gained: tensors without elements,
    tensors that the host reads right away, and `.type_as(x)` outside of a step where `x` is not known to be on a
    device.

    ## Fix safety
    Safe where the device writes the same bits as the CPU: zeros, ones, constants, identity, counting in whole
    numbers, also with a dtype written out for `.to(device, dtype)` and `.type_as(x)`. Through a variable only in one
    block, where the device is the same at both places and nobody sees the tensor in between. A variable that is called
    a device is taken for one, unless a call in the file passes a dtype or a tensor for it. An `x` of a subclass of
    `torch.Tensor` hands on its class in `.to(x)` and `.type_as(x)`, and not to a factory.

    Unsafe, with the reason named: random content (the device's generator draws other numbers, and the CPU's none),
    `linspace`, windows and float steps (last bits), `requires_grad=True` (the tensor becomes a leaf with a gradient
    of its own; the moved one hands it on to the one on the CPU), `expand` on the way (the elements then share
    memory), what other devices than CUDA may lack (`tril_indices`, float64 on the way to float32), and files that
    make `meta` the default device, from which nothing can be moved. Moving to `meta`, where nothing is filled, no
    longer raises for numbers that the dtype cannot hold. No fix where something is computed in between, or where two
    conversions follow each other.

    ## Confirmed by
    A fill on the CPU is followed by a copy to the device of the same bytes, every step.

    ## Sources
    - [Performance tuning guide, creating tensors on the target device](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device)
    - [Lightning, speed up model training](https://lightning.ai/docs/pytorch/stable/advanced/speed.html)
    """

    id = "TL104"
    name = "factory-then-move"
    summary = "A tensor is created on the CPU only to be moved to a device"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.MOVE)
    layout = False
    recipe = Recipe(
        "born-on-host", "finding", "a tensor created on the host is copied to the device", least=2, share=0.001
    )

    @on.call(*ALL)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories

        found = self.module.shared(Factories).moved(node)
        if found is None:
            return

        from torchlint.rules.copies._factory_fixes import at_device

        heat = self.module.heat(node)
        evidence = [self.module.evidence(node, "created on the CPU here")] if found.move.in_variable else []
        self.report(
            found.move.call,
            self._message(found),
            evidence=evidence,
            severity=Severity.WARNING if self.module.every_step(node) else Severity.INFO,
            heat=heat,
            fix=at_device(self.module, found),
        )

    def _message(self, found: MovedFactory) -> str:
        line = f" on line {self.module.line(found.call)}" if found.move.in_variable else ""
        what = f"`{found.name}` creates a tensor on the CPU{line}, which is then copied to the device"
        if found.computed:
            work = ", ".join(f"`{name}`" for name in found.computed)
            return f"{what} after {work} on the CPU: create it with `device=`, so that all the work runs on the device"
        caveat = {
            "deterministic": "",
            "rounded": " (the last bits may differ)",
            "random": " (the numbers change: the device has its own random generator)",
        }[found.content]
        if found.leaf:
            caveat += " (unlike the moved tensor, it is then a leaf with its own gradient)"
        return f"{what} while the host waits: create it on the device with `device=`{caveat}"

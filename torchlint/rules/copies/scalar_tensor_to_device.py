"""TL105: Python numbers are copied to the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.tensors import LEGACY
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.copies._number_uploads import NumberUpload


class ScalarTensorToDevice(Rule):
    """
    ## What it finds
    A Python number that becomes a tensor on an accelerator in every step: `torch.tensor(0.0, device=device)`,
    `torch.as_tensor(len(y), device=device)`, `torch.tensor(1e-8).to(x.device)`, `torch.cuda.FloatTensor([v])`,
    `x.new_tensor(1.0)`. Also lists of Python numbers, such as `torch.tensor([0.485, 0.456, 0.406], device=device)`.

    ## Why it costs
    The tensor is created on the host, in pageable memory, and copied to the device. The copy blocks the host until
    the device has finished all queued work, in every step, for a few bytes. `torch.full` passes the number to the
    kernel that fills the memory, so nothing is copied, and the host does not wait. Such a copy also makes it
    impossible to capture the code in a CUDA graph.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    class Penalty(nn.Module):
        def forward(self, x):
            total = torch.tensor(0.0, device=x.device)
            for row in x:
                total = total + row.abs().sum()
            return total
    ```

    Preferred:

    ```python
    import torch
    from torch import nn


    class Penalty(nn.Module):
        def forward(self, x):
            total = torch.full((), 0.0, device=x.device)
            for row in x:
                total = total + row.abs().sum()
            return total
    ```

    Often the tensor is not needed at all: a Python number can be added to a tensor and compared with one. A list that
    is the same in every step becomes a tensor once, before the loop, or a buffer of the module
    (`register_buffer(..., persistent=False)`).

    ## When to leave it
    Where the data is different in every step and has to reach the device:
    `torch.tensor(numbers, pin_memory=True).to(device, non_blocking=True)` copies it without waiting. Also where the
    host waits anyway right before, in steps that do not train, and in branches for what is missing or empty
    (`if weight is None`), which is why all findings are `info`. The rule is silent for
    tensors on the CPU, which most kernels take as an argument without a copy if they have no dimensions (`torch.where`
    copies them); for
    `non_blocking=True`; for values that are not proved to be numbers; for numbers read from a tensor (`x.item()`),
    where the read is what costs; in functions and modules that are compiled, in tests, and for what runs once, once
    per epoch or every N steps.

    ## Fix safety
    `torch.tensor(v, device=device)` becomes `torch.full((), v, device=device)`, with the same dtype: both infer it
    from the type of a Python number. The fix is safe for literals, lengths and other numbers that are proved to be
    such (the page on fixes says what that means), in a dtype that is named as `torch.int64`; for small literals in
    any dtype. It is unsafe for other numbers, since `torch.full` raises an error where the conversion gives infinity,
    and ignores the dtype of a NumPy number; for `x.new_tensor(v)`, since `x` may have methods of its own; for a
    target of a move that may not be a device; and in a `try`. Lists have no fix.

    ## Confirmed by
    A blocking copy to the device at the line, in every step.

    ## Sources
    - [Performance tuning guide, creating tensors on the target device](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device)
    - [CUDA semantics, constraints of graph capture](https://docs.pytorch.org/docs/stable/notes/cuda.html#constraints)
    """

    id = "TL105"
    name = "scalar-tensor-to-device"
    summary = "Python numbers are copied to the device in every step"
    severity = Severity.INFO
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.HOT, concepts.CONSTRUCTS)
    layout = False
    recipe = Recipe("blocking-uploads", "finding", "numbers are copied to the device, and the host waits", least=2)

    @on.call("torch.tensor", "torch.as_tensor", "torch.asarray", *LEGACY)
    @on.within("device", "cuda", "to", "type_as")
    def constructor(self, node: cst.Call) -> None:
        self._check(node)

    @on.method("new_tensor")
    def method(self, node: cst.Call) -> None:
        self._check(node)

    def _check(self, node: cst.Call) -> None:
        heat = self.module.heat(node)
        if heat.rank < Heat.STEP.rank or self.module.in_test(node):
            return
        from torchlint.rules.copies._number_uploads import NumberUploads

        uploads = self.module.shared(NumberUploads)
        found = uploads.of(node)
        if found is None:
            return
        moved = found.move is not None and found.move.in_variable
        from torchlint.rules.copies._number_fixes import fill_on_device

        self.report(
            found.place,
            self._message(found),
            evidence=[self.module.evidence(node, "created on the host here")] if moved else [],
            heat=heat,
            fix=fill_on_device(self.module, found),
        )

    def _message(self, found: NumberUpload) -> str:
        what = "a list of Python numbers" if found.number is None else "one Python number"
        copied = f"this copies {what} to the device from pageable memory in every step, and the host waits for it"
        if found.content == "constants":
            return f"{copied}: create the tensor once, before the loop or as a buffer of the module"
        if found.content == "numbers":
            return f"{copied}: create the tensor with `pin_memory=True`, and copy it with `non_blocking=True`"
        factory = "new_full" if found.name == "new_tensor" else "torch.full"
        device = "" if found.name == "new_tensor" else ", device=..."
        return f"{copied}: use `{factory}({'()' if not found.rank else '(1,)'}, ...{device})`, which fills it in there"

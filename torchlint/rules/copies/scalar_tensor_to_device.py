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
    id = "TL105"
    name = "scalar-tensor-to-device"
    summary = "Python numbers are copied to the device in every step"
    severity = Severity.INFO
    fix = "sometimes"
    needs = (concepts.TORCH, concepts.HOT, concepts.CONSTRUCTS)
    layout = False
    about_steps = True
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

"""TL105: Python numbers are copied to the device in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.forms import ASYNCHRONOUS
from torchlint.knowledge.tensors import LEGACY
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


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
        from torchlint.analysis.contradictions import Happening
        from torchlint.rules.copies._number_fixes import fill_on_device
        from torchlint.rules.copies._number_uploads import number_upload

        found = number_upload(self.module, node)
        if found is None or self.module.in_test(node):
            return
        events = self.module.shared(Happening).within(found.place)
        if not any(event.origin == "number" and event.form != ASYNCHRONOUS.key for event in events):
            return
        moved = found.move is not None and found.move.in_variable
        factory = "new_full" if found.name == "new_tensor" else "torch.full"
        device = "" if found.name == "new_tensor" else ", device=..."
        self.report(
            found.place,
            "this copies one Python number to the device from pageable memory in every step, and the host waits for "
            f"it: use `{factory}({'()' if not found.rank else '(1,)'}, ...{device})`, which fills it in there",
            evidence=[self.module.evidence(node, "created on the host here")] if moved else [],
            heat=Heat.STEP,
            fix=fill_on_device(self.module, found),
        )

"""TL305: a tensor on the device is indexed from the host in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.step import Step
    from torchlint.rules.synchronization._host_indices import HostIndex


class HostIndexOnDevice(Rule):
    id = "TL305"
    name = "host-index-on-device"
    summary = "A device tensor is indexed with a list, an array or a tensor on the CPU"
    severity = Severity.INFO
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    about_steps = True
    about_reads = True
    recipe = Recipe("blocking-uploads", "evidence", "the index is copied to the device, step after step", least=2)

    @on.step
    def indexes(self, step: Step) -> None:
        """A loop or function that runs in every step; copies of the same index are one finding."""
        if self.module.in_test(step.place):
            return
        from torchlint.rules.synchronization._host_indices import HostIndices

        every = f"every {step.in_words}"
        for group in self.module.shared(HostIndices).groups(step.place):
            self.report(
                group[0].node,
                self._message(group, every),
                evidence=[self.module.evidence(one.node, _evidence(one)) for one in group],
                heat=Heat.STEP,
            )

    def _message(self, group: list[HostIndex], every: str) -> str:
        first = group[0]
        code = self.module.code(first.node)
        written = f"`{code}`" if len(code) <= 60 and "\n" not in code else "this subscript"
        if first.is_written:
            return f"{written} copies the number to the GPU in {every}, and the host waits: {_ADVICE[first.kind]}"
        what = _KINDS[first.kind]
        if len(group) > 1:
            return (
                f"{written} and {len(group) - 1} more copy the same index, {what}, to the GPU in {every}, and the host "
                "waits each time: make it a tensor on the device once"
            )
        advice = _ADVICE[first.kind]
        return f"{written} copies its index, {what}, to the GPU in {every}, and the host waits: {advice}"


def _evidence(one: HostIndex) -> str:
    return f"the {'number' if one.is_written else 'index'} is copied to the device"


_KINDS = {
    "list": "a list",
    "array": "a NumPy array",
    "tensor": "a tensor on the CPU",
    "factory": "a new tensor on the CPU",
}
_ADVICE = {
    "list": "use slices, or an index tensor created on the device once",
    "array": "compute it on the device, or move it there once",
    "tensor": "create it on the device, or move it there once",
    "factory": "create it there with `device=`",
    "element": "a slice of one element (`x[i : i + 1] = ..`) is filled in there",
    "number": "`index_fill_` fills it in there",
}

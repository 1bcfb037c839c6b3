"""TL701: CUDA is hard-coded as the device, without a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.cuda.request import CudaRequest

_CAUSE = "requests for CUDA"


class PortabilityOptions(NamedTuple):
    """``portable`` means that the project should run on the CPU if CUDA is not available."""

    portable: bool = False


class HardcodedCuda(Rule):
    id = "TL701"
    name = "hardcoded-cuda"
    summary = "CUDA is hard-coded as the device, without a fallback"
    severity = Severity.INFO
    programs = ()
    fix = "sometimes"
    group = "portability"
    layout = False
    recipe = Recipe("cuda-required", "finding", "the line uses CUDA; with CUDA hidden, it raises an error")

    Options = PortabilityOptions

    @on.cuda_request
    def requests(self, request: CudaRequest) -> None:
        """Check a place that names CUDA."""
        from torchlint.rules.portability._hardcoded import Hardcoded

        hardcoded = self.module.shared(Hardcoded)
        if request.node not in hardcoded.requests:
            return

        from torchlint.rules.portability._advice import Advice
        from torchlint.rules.portability._fixes import portable

        message, evidence = self.module.shared(Advice).message(request)
        severity = Severity.WARNING if self._is_wanted(request) else Severity.INFO
        fix = portable(self.module, request) if self.options.portable or self.named else None
        self.report(request.node, message, evidence=evidence, severity=severity, fix=fix, cause=_CAUSE)

    def _is_wanted(self, request: CudaRequest) -> bool:
        """Whether the project says that it wants to run without CUDA, and nothing else here needs CUDA."""
        from torchlint.analysis.things.cuda.needs import CudaNeeds

        wanted = self.options.portable and not request.overridable
        return wanted and not self.module.shared(CudaNeeds).needed_around(request.node)

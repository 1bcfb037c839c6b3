"""TL604: a mode that is meant for debugging is always on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.training import DEBUG_VARIABLES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import any_of, identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_SETTERS = ("torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly")
_CONTEXTS = ("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly")
_ANOMALY = "autograd records a stack trace for every operation, and looks for NaN in every gradient"


class DebugModeLeftOn(Rule):
    id = "TL604"
    name = "debug-mode-left-on"
    summary = "A debugging mode that slows down training is always on"
    severity = Severity.WARNING
    group = "preview"
    programs = ("training",)
    fix = "sometimes"
    needs = (any_of(concepts.TORCH, identifiers("pytorch_lightning", "lightning")),)
    layout = False
    recipe = Recipe("evaluations", "finding", "the statement that switches the mode on runs")

    @on.call(*_SETTERS)
    def sets(self, node: cst.Call) -> None:
        """Check ``set_detect_anomaly(True)``."""
        from torchlint.analysis.syntax.calls import argument, literal
        from torchlint.rules.optimization._debugging import Debugging

        if literal(argument(node, "mode", 0)) is True and self.module.shared(Debugging).is_always_on(node):
            self._report(node, f"`{self.module.code(node)}`", _ANOMALY, "remove it")

    @on.call(*_CONTEXTS)
    def enters(self, node: cst.Call) -> None:
        """Check ``with detect_anomaly():``."""
        from torchlint.rules.optimization._debugging import Debugging

        if self.module.shared(Debugging).is_always_on(node):
            self._report(node, f"`{self.module.code(node)}`", _ANOMALY, "remove the context")

    @on.call("pytorch_lightning.Trainer")
    def constructs(self, node: cst.Call) -> None:
        """Check ``Trainer(detect_anomaly=True)``."""
        from torchlint.analysis.syntax.calls import keyword, literal
        from torchlint.rules.optimization._debugging import Debugging

        given = keyword(node, "detect_anomaly")
        if given is not None and literal(given) is True and self.module.shared(Debugging).is_always_on(given):
            self._report(given, "`detect_anomaly=True`", _ANOMALY, "remove it")

    @on.within("environ", "putenv")
    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        """Check ``os.environ["CUDA_LAUNCH_BLOCKING"] = "1"``, and the same by ``setdefault`` and ``putenv``."""
        from torchlint.analysis.syntax.calls import literal

        known = DEBUG_VARIABLES.get(str(literal(node)))
        if known is None:
            return
        from torchlint.rules.optimization._debugging import Debugging

        setting = self.module.shared(Debugging).environment(node)
        if setting is None or setting.value not in known[0] or not self.module.shared(Debugging).is_always_on(node):
            return
        self._report(
            setting.node, f"`{literal(node)}={setting.value}`", known[1], "set it in the shell while debugging"
        )

    def _report(self, node: cst.CSTNode, what: str, cost: str, advice: str) -> None:
        from torchlint.rules.optimization._fixes import switched_off

        self.report(
            node,
            f"{what} is meant for debugging, but is always on here: {cost}; {advice}",
            fix=switched_off(self.module, node),
        )

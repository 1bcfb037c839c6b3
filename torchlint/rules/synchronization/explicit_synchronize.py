"""TL306: the program synchronizes with the device in every step without measuring time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ExplicitSynchronize(Rule):
    id = "TL306"
    name = "explicit-synchronize"
    summary = "`torch.cuda.synchronize()` blocks the host in every step"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.HOT,)
    layout = False
    recipe = Recipe(
        "function-calls",
        "finding",
        "the host synchronizes in every step, and is blocked for a part of it",
        least=0.5,
        each="step",
        functions=("torch.cuda.synchronize", "torch.accelerator.synchronize"),
    )

    @on.call("torch.cuda.synchronize", "torch.accelerator.synchronize")
    def synchronizes(self, node: cst.Call) -> None:
        """Check a call of ``synchronize``."""
        module = self.module
        if self._is_needed(node):
            return
        from torchlint.analysis.things.step import Steps
        from torchlint.rules.synchronization._fixes import without_call

        trains = module.every_step(node)
        step = module.shared(Steps).around(node).in_words
        self.report(
            node,
            f"`{module.code(node)}` synchronizes with the GPU in every {step}, and nothing here measures time: "
            "remove it, so that the host can queue work ahead of the device",
            severity=Severity.WARNING if trains else Severity.INFO,
            heat=Heat.STEP,
            fix=without_call(module, node),
        )

    @on.method("synchronize")
    def waits(self, node: cst.Call) -> None:
        """Check a call of ``synchronize`` of a stream or an event."""
        from torchlint.rules.synchronization._streams import waited_for

        kind = waited_for(self.module, node) if self.module.qualified(node.func) is None else None
        if kind is None or self._is_needed(node, _OWN_WORDS):
            return
        step = "training step" if self.module.every_step(node) else "step"
        self.report(
            node,
            f"`{self.module.code(node)}` makes the host wait for the {kind} in every {step}: {_WITHOUT_HOST[kind]}",
            severity=Severity.INFO,
            heat=Heat.STEP,
        )

    def _is_needed(self, node: cst.Call, besides: frozenset[str] = frozenset()) -> bool:
        if self.module.heat(node).rank < Heat.STEP.rank or self.module.in_test(node):
            return True
        from torchlint.rules.synchronization._needed_waits import NeededWaits

        return self.module.shared(NeededWaits).may_include(node, besides)


_OWN_WORDS = frozenset({"stream", "streams", "event", "events"})
_WITHOUT_HOST = {
    "stream": "let the stream that needs the results wait instead, with `wait_stream`",
    "event": "let the stream that needs the results wait instead, with `wait` of the event",
}

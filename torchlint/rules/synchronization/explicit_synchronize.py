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
    """
    ## What it finds
    `torch.cuda.synchronize()` and `torch.accelerator.synchronize()` in every step of a training loop, where nothing
    around it measures time. In a loop that evaluates, the finding is `info`. So it is for `synchronize()` of a stream
    or an event that the file makes, and for `torch.distributed.barrier()`.

    ## Why it costs
    The call blocks the host until all work queued on all streams of the device is finished. The device then idles
    until the host has queued the next kernels: what should run ahead of the device waits for it in every step. Streams
    can wait for each other without the host: `torch.cuda.current_stream().wait_stream(side)`, or `event.wait()`.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
    ```

    ## When to leave it
    Next to a clock or a profiler, without which the measurement would be wrong; after a copy to the host with
    `non_blocking=True`; before memory goes to another process, stream or library. The rule is silent where anything in
    the function tells of one of these, every so many steps, in exception handlers, in tests and benchmarks, and for
    streams and events whose origin is not in sight.

    ## Fix safety
    Deleting the line is unsafe: code out of sight may measure time, or read memory that is still being written.

    ## Confirmed by
    Calls in every step, and on a GPU the time that the host is blocked in them.

    ## Sources
    - [CUDA semantics, asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
    - [Performance tuning guide, avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization)
    """

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

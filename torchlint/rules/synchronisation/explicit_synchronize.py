"""TL306: the program synchronizes with the device in every step without measuring time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

# A function that contains one of these words may need to synchronize, to measure time or to share memory.
_EXEMPTING_WORDS = frozenset(
    "time times timer timers timing clock tic toc elapsed latency fps throughput duration stopwatch ms bench benchmark "
    "profile profiler profiling prof nvtx event events stream streams graph graphs cudagraph barrier queue process "
    "thread pipe conn socket ipc nvshmem shared fork spawn ptr ctypes cupy numba pycuda trt tensorrt dlpack cache "
    "memory debug perf monotonic speed warmup".split()
)
_AUTOGRAD_ARGUMENTS = frozenset({"create_graph", "retain_graph"})


class ExplicitSynchronize(Rule):
    """
    ## What it finds
    `torch.cuda.synchronize()` and `torch.accelerator.synchronize()` in every step of a training loop, where nothing
    around it measures time. In a loop that evaluates, the finding is `info`.

    ## Why it costs
    The call blocks the host until all work queued on all streams of the device is finished. The device then idles
    until the host has queued the next kernels: what should run ahead of the device waits for it in every step.

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
    the function tells of one of these, every so many steps, in exception handlers, in tests and benchmarks. It does not
    look at `synchronize` of streams and events.

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
        share=0.001,
        functions=("torch.cuda.synchronize", "torch.accelerator.synchronize"),
    )

    @on.call("torch.cuda.synchronize", "torch.accelerator.synchronize")
    def synchronizes(self, node: cst.Call) -> None:
        """Check a call of ``synchronize``."""
        module = self.module
        if module.heat(node).rank < Heat.STEP.rank or module.in_test(node) or self._may_be_needed(node):
            return
        from torchlint.rules.synchronisation._fixes import without_call

        trains = module.every_step(node)
        step = "training step" if trains else "step"
        self.report(
            node,
            f"`{module.code(node)}` synchronizes with the GPU in every {step}, and nothing here measures time: "
            "remove it, so that the host can queue work ahead of the device",
            severity=Severity.WARNING if trains else Severity.INFO,
            heat=Heat.STEP,
            fix=without_call(module, node),
        )

    def _may_be_needed(self, node: cst.Call) -> bool:
        """Whether the outermost function measures time, or shares memory outside of the current stream."""
        import libcst as cst

        functions = [around for around in self.module.ancestors(node) if isinstance(around, cst.FunctionDef)]
        place = functions[-1] if functions else self.module.tree
        names = {name.value.lower() for name in self.module.within(place, cst.Name)} - _AUTOGRAD_ARGUMENTS
        words = {word for name in names for word in name.strip("_").split("_")}
        if not words.isdisjoint(_EXEMPTING_WORDS):
            return True
        return any(self._copies_to_host(call) for call in self.module.within(place, cst.Call))

    def _copies_to_host(self, call: cst.Call) -> bool:
        """Whether a call is an asynchronous copy that may go to the host."""
        from torchlint.analysis.syntax.calls import keyword, method

        if keyword(call, "non_blocking") is None or method(call) == "cuda":
            return False
        return not self.module.value(call).device.accelerated

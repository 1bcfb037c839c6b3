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
    """
    ## What it finds
    Anomaly detection of autograd that is switched on unconditionally: `torch.autograd.set_detect_anomaly(True)` as a
    statement, `with torch.autograd.detect_anomaly():` around training, and `Trainer(detect_anomaly=True)` of Lightning.
    Also the environment variables `CUDA_LAUNCH_BLOCKING=1`, `HIP_LAUNCH_BLOCKING=1`, `AMD_SERIALIZE_KERNEL`,
    `PYTORCH_NO_CUDA_MEMORY_CACHING=1` and `TORCH_DISTRIBUTED_DEBUG=DETAIL`, if the program sets them itself.

    ## Why it costs
    With anomaly detection, autograd records a Python stack trace for every operation of the forward pass, and checks
    every gradient for NaN, which synchronizes with the device. On a CPU, a step of a network of 30 small linear layers
    took 6.5 times as long, and one of 7 convolutions 1.4 times (torch 2.13); on an H200, a gradient through 200 small
    operations took 27 ms instead of 5.7. Users report an epoch of 1.5 hours that
    took 36 minutes without it (icon-lab/SynDiff#43), and trainings that took 3 times
    (Lightning-AI/pytorch-lightning#12344) and 2.5 times (#17359) as long. With `CUDA_LAUNCH_BLOCKING`, the host waits
    for every kernel and cannot queue work ahead of the device; only a GPU can show what that costs.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        torch.autograd.set_detect_anomaly(True)
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    ```

    To keep the mode available, switch it on by a command line option, or set the variable in the shell.

    ## When to leave it
    While searching for an error. The rule is silent under any condition (`if args.debug:`) and in exception handlers,
    in functions that neither train nor are called unconditionally in the file, in tests, in files and functions whose
    names mention debugging, determinism or profiling, where the file also switches the mode off, and for contexts that
    contain neither a training loop nor a part of a step.

    ## Fix safety
    The fix removes the statement, or passes `False`. It is unsafe: a gradient that is NaN no longer raises an error.

    ## Confirmed by
    An evaluation of the statement that switches the mode on.

    ## Sources
    - [Anomaly detection](https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection)
    - [Performance tuning guide, disable debugging APIs](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis)
    - [CUDA semantics, asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
    - [Lightning-AI/pytorch-lightning#12344](https://github.com/Lightning-AI/pytorch-lightning/issues/12344)
    - [icon-lab/SynDiff#43](https://github.com/icon-lab/SynDiff/issues/43)
    """

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

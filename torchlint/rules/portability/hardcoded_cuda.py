"""TL701: CUDA is hard-coded as the device, without a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchlint import on
from torchlint.model import Evidence, Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.cuda_request import CudaRequest
    from torchlint.rules.portability._hardcoded import Hardcoded


class PortabilityOptions(NamedTuple):
    """``portable`` means that the project should run on the CPU if CUDA is not available, which makes fixes safe."""

    portable: bool = False


class HardcodedCuda(Rule):
    """
    ## What it finds
    A device that is CUDA on every machine: `.cuda()`, `.to("cuda")`, `device="cuda:0"`, `torch.device("cuda")`,
    `torch.cuda.FloatTensor(...)`, a CUDA default tensor type, or a constant that is used as a device, where
    nothing before it checks `torch.cuda.is_available()`. Defaults that a caller or a user can override are
    reported as `info`, and so are functions that need CUDA for something else as well, such as
    `torch.cuda.synchronize()`, or that exchange tensors by collectives, which NCCL takes only from the GPU.

    ## Why it costs
    Without CUDA the line raises an error ("Torch not compiled with CUDA enabled"). With several GPUs a fixed index
    sends every process to the first one, where they share memory and time. In `forward`, a tensor created on the
    current device while the module is on another has to be copied between devices, or raises an error.

    ## Instead
    Flagged:

    ```python
    import torch


    def build():
        return torch.nn.Linear(8, 2).cuda()
    ```

    Preferred:

    ```python
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


    def build():
        return torch.nn.Linear(8, 2).to(device)
    ```

    In `forward`, use the device of the input: `torch.zeros(n, device=x.device)`. Since torch 2.6,
    `torch.accelerator.current_accelerator()` names the accelerator, whichever it is.

    ## When to leave it
    In programs that cannot work without CUDA. The rule recognizes the usual evidence and is then silent for the
    whole file: imports of Triton, CuPy, flash-attn, bitsandbytes and similar packages outside `try`, also in modules
    that the file imports, CUDA streams and graphs, extensions built from CUDA sources, the NCCL backend, or an
    `assert torch.cuda.is_available()` at module level. Tests are silent if a fixture of the file skips them without
    CUDA.

    It recognizes guards by `if`, conditional expressions, early return, assert, `try`, decorators and skip marks,
    also through variables and options that store the result of the check, and in all callers of a function in the
    file. Code after a call of a function that raises or exits without CUDA is guarded as well, wherever in the
    project that function is defined. Defaults are not reported if the program replaces or rejects them without
    CUDA: further down, in another function, or in a function that receives the value. Indices from ranks and
    options, `device_type=`, comparisons and messages are not devices, and fake tensors (`FakeTensorMode`) need
    none.

    ## Fix safety
    The fix is unsafe, since code that raised an error then runs on the CPU. A function is fixed completely or not
    at all: there is no fix if it also calls `.cuda(index)`, moves something under a guard, or calls functions that
    raise without CUDA, such as `torch.cuda.synchronize()`.

    Moves and `device=` get an existing device: in `forward` that of the input (`x.device`), else that of the tensor
    that a new one is combined with, else a variable in scope that falls back to the CPU, preferably one of the
    function itself. A variable that an option sets for another purpose (`args.teacher_device`) is not used. If
    there is none, the fix defines `device` after the imports, under a name that is not used in the file. If CUDA is
    assigned to a variable or is a default, `"cuda"` becomes `"cuda" if torch.cuda.is_available() else "cpu"`.

    With `rules.hardcoded-cuda.portable = true` the project declares that it wants to run without CUDA. Fixes that
    change nothing on a machine with CUDA are then safe: the whole function uses the same device with the same
    index, for tensors and modules of torch.

    ## Confirmed by
    In a run with `--on cpu`, the program fails at this line, or with the device requested there. Other runs do not
    show it.

    ## Sources
    - [CUDA semantics: device-agnostic code](https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code)
    - [torch.accelerator](https://docs.pytorch.org/docs/stable/accelerator.html)
    """

    id = "TL701"
    name = "hardcoded-cuda"
    summary = "CUDA is hard-coded as the device, without a fallback"
    severity = Severity.WARNING
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

        from torchlint.rules.portability._fixes import portable

        message, evidence = self._message(request, hardcoded)
        secondary = request.overridable or hardcoded.is_one_of_several(request.node)
        severity = Severity.INFO if secondary else Severity.WARNING
        fix = portable(self.module, request, safe=self.options.portable)
        self.report(request.node, message, evidence=evidence, severity=severity, fix=fix)

    def _message(self, use: CudaRequest, hardcoded: Hardcoded) -> tuple[str, list[Evidence]]:
        from torchlint.analysis.things.device_in_scope import DevicesInScope

        if use.kind == "autocast":
            return (
                "`torch.autocast` is hard-coded to CUDA in code that chooses its device: pass `device.type`, so "
                "that it also takes effect on other devices"
            ), []
        if use.overridable:
            return (
                "this default device is CUDA on every machine: choose it with `torch.cuda.is_available()`, so that the "
                "program also runs without CUDA by default"
            ), []
        what = {
            "method": "`.cuda()` is called",
            "device": "the device is hard-coded to CUDA",
            "type": "a CUDA tensor type is used",
            "constant": "this sets the device to CUDA",
        }[use.kind]
        what += ", and nothing before it checks `torch.cuda.is_available()`"
        if use.indexed and hardcoded.is_distributed():
            return (f"{what}: every rank of this program would use the same GPU; use the local rank as the index"), []
        place = hardcoded.in_forward(use.node)
        if place in ("module", "function"):
            return f"{what}: in `forward`, use the device of the input (`x.device`)", []
        if place == "lightning":
            return f"{what}: in a Lightning module, use `self.device`", []
        devices = self.module.shared(DevicesInScope)
        found = devices.at(use.node)
        if found is not None:
            line = self.module.line_in_words(found.node)
            falls_back = devices.is_cuda_or_cpu(found)
            does = "falls back to the CPU" if falls_back else "need not be CUDA"
            message = f"{what}: use `{found.name}` from {line}, which {does}"
            return message, [self.module.evidence(found.node, f"`{found.name}` {does}")]
        return (
            f"{what}: use a device with a fallback, such as "
            '`torch.device("cuda" if torch.cuda.is_available() else "cpu")`'
        ), []

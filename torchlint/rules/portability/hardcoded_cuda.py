"""TL701: CUDA is hard-coded as the device, without a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.cuda_request import CudaRequest

_CAUSE = "requests for CUDA"


class PortabilityOptions(NamedTuple):
    """``portable`` means that the project should run on the CPU if CUDA is not available."""

    portable: bool = False


class HardcodedCuda(Rule):
    """
    ## What it finds
    A device that is CUDA on every machine: `.cuda()`, `.to("cuda")`, `device="cuda:0"`, `torch.device("cuda")`,
    `torch.cuda.FloatTensor(...)`, a CUDA default tensor type, or a constant that is used as a device, where
    nothing before it checks `torch.cuda.is_available()`.

    Such a line is an `info`: many programs are written for CUDA and need nothing else, and on a machine with CUDA the
    line costs no time. With `rules.hardcoded-cuda.portable = true` the project says that it also runs without CUDA,
    and the line is a `warning`. Defaults that a caller or a user can override remain an `info`, and so do functions
    that need CUDA for something else as well, such as `torch.cuda.synchronize()`, or that exchange tensors by
    collectives, which NCCL takes only from the GPU.

    The message names the device to use if the program already has one: a variable in scope that falls back to the
    CPU, `self.device` or `values.device` in the code beside it, or what the file chooses elsewhere by a check or an
    option, such as `"cuda" if torch.cuda.is_available() else "cpu"` or an argument `--device`.

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
    that the file imports, CUDA streams and graphs, extensions built from CUDA sources, here or by a `setup.py` of the
    project, the NCCL backend, or an `assert torch.cuda.is_available()` at module level or at the start of the program.
    It is also silent for modules that only such programs of the project import. Tests are silent if a fixture of the
    file skips them without CUDA, or if they name another GPU than the first one. So are functions that name several
    GPUs, or pass `device_ids` to `DataParallel` or `DistributedDataParallel`.

    A condition of any kind between CUDA and the CPU is a choice: `x.cuda() if large else x`, or an `if` whose other
    branch sets the same variable to the CPU or leaves it there.

    It recognizes guards by `if`, conditional expressions, early return, assert, `try`, decorators and skip marks,
    also through variables and options that store the result of the check, and in all callers of a function in the
    file. Code after a call of a function that raises or exits without CUDA is guarded as well, wherever in the
    project that function is defined. Defaults are not reported if the program replaces or rejects them without
    CUDA: further down, in another function, or in a function that receives the value. Indices from ranks and
    options, `device_type=`, comparisons and messages are not devices, and fake tensors (`FakeTensorMode`) need
    none.

    ## Fix safety
    There are fixes where the project asks for them: with `rules.hardcoded-cuda.portable = true`, or where the rule is
    selected by its id, its name, its topic or a prefix such as `TL7`. They are unsafe: without CUDA the code runs on
    the CPU instead of raising an error, and the device may be another GPU than before. TorchScript cannot use a device
    that is a global variable, and a check for CUDA at the head of a file comes before what the program sets later.

    Moves and `device=` get an existing device: in `forward` that of the input (`x.device`), else a variable in scope
    that falls back to the CPU, else `self.device` or the device of another object that the function uses as a device
    (`values.device`). What an option sets for another purpose (`args.teacher_device`) is not used. If there is none,
    the fix defines `device` after the imports, under a name that is not used in the file. If CUDA is assigned to a
    variable, returned or the default of an option, `"cuda"` becomes `"cuda" if torch.cuda.is_available() else "cpu"`.
    There is no fix for default arguments, nor in functions that need CUDA for something else: by functions that raise
    without it, such as `torch.cuda.synchronize()`, or by collectives.

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
        from torchlint.analysis.things.cuda_needs import CudaNeeds

        wanted = self.options.portable and not request.overridable
        return wanted and not self.module.shared(CudaNeeds).needed_around(request.node)

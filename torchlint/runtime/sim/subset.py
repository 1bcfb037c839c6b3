"""The limits of the simulation: CUDA features that labels on CPU memory cannot provide."""

from __future__ import annotations

import dis
import functools
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchlint.runtime.labels import device_of
from torchlint.runtime.modes import OTHERS
from torchlint.runtime.sim.operands import tensors
from torchlint.runtime.sites import is_own

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_PACKAGES = ("triton", "flash_attn", "xformers", "bitsandbytes", "apex", "cupy", "deepspeed", "transformer_engine")
_SIGNS = (
    "not compiled with cuda",
    "no nvidia driver",
    "not linked with support for cuda",
    "from the 'cuda' backend",
    "active drivers",
    "no cuda gpus are available",
    "cuda driver",
    "nvcc",
    "cuda_home",
    "no kernel image",
    "'_cuda",
    "torch.cuda' has no attribute",
    "cannot access accelerator device",
    "dummy base class",
)
_GRAPHS = ("CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle")


_RAISING = ("RAISE_VARARGS", "RERAISE")
_TORCH = os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "")


class Unsimulated(RuntimeError):
    """The program uses a feature that is not simulated."""


def install(simulation: Machine) -> None:
    """Make the entry points of unsupported features raise."""
    for name in _GRAPHS:
        leave = _leaving(simulation, f"torch.cuda.{name} (CUDA graphs)")
        simulation.patches.set(torch.cuda, name, _like(getattr(torch.cuda, name, None), leave))
    import torch.utils.cpp_extension as extensions

    for name in ("load", "load_inline"):
        simulation.patches.set(
            extensions, name, _leaving(simulation, f"torch.utils.cpp_extension.{name} (compiled kernels)")
        )

    _export(simulation)
    _meshes(simulation)
    _compiled(simulation)
    _others(simulation)


def _others(simulation: Machine) -> None:
    """Other accelerators of this machine are not observed: programs find none, and those that name one leave."""
    for name, module in OTHERS.items():
        if module.is_available():
            simulation.others[name] = _leaving(simulation, f"the device {name!r}")
            simulation.patches.set(module, "is_available", lambda: False)


def _export(simulation: Machine) -> None:
    """Exported programs hold fake tensors, of which a CPU build makes none for CUDA: torch would abort the process."""
    for name in ("export", "export_for_training", "draft_export"):
        real = getattr(torch.export, name, None)
        if real is not None:
            leave = _leaving(simulation, f"torch.export.{name} of a program on the device")
            simulation.patches.set(torch.export, name, _unless_on_device(real, leave))


def _unless_on_device(real: Any, leave: Any) -> Any:
    @functools.wraps(real)
    def export(mod: Any, *args: Any, **kwargs: Any) -> Any:
        held = [*mod.parameters(), *mod.buffers()] if isinstance(mod, torch.nn.Module) else []
        if any(device_of(tensor) is not None for tensor in tensors((held, args, kwargs))):
            leave()
        with _disable_current_modes():
            return real(mod, *args, **kwargs)

    return export


def _meshes(simulation: Machine) -> None:
    """Distributed tensors (``DTensor``, ``fully_shard``, tensor parallelism) are wrappers with a real device."""
    if not torch.distributed.is_available():
        return
    from torch.distributed.device_mesh import DeviceMesh

    leave = _leaving(simulation, "torch.distributed.device_mesh (DTensor, fully_shard, parallelize_module)")
    simulation.patches.set(DeviceMesh, "__init__", leave)


def _compiled(simulation: Machine) -> None:
    """Regions of ``torch.compile`` run eagerly, also those that must be one graph."""
    frames: Any = sys.modules.get("torch._dynamo.eval_frame")
    if hasattr(frames, "_stance"):
        stance = type(frames._stance)("force_eager")
        simulation.patches.set(frames, "_stance", stance)
    if not hasattr(torch.compiler, "set_stance"):  # before torch 2.6
        simulation.patches.set_item(os.environ, "TORCHDYNAMO_DISABLE", "1")
    dynamo: Any = sys.modules.get("torch._dynamo")
    if hasattr(dynamo, "reset"):
        simulation.patches.set(dynamo, "reset", _without_graphs(dynamo.reset))


def _without_graphs(real: Any) -> Any:
    """``torch._dynamo.reset``, which asks for CUDA to reset its graphs: there are none."""

    def reset() -> None:
        available = torch.cuda.is_available
        torch.cuda.is_available = lambda: False
        try:
            real()
        finally:
            torch.cuda.is_available = available

    return reset


def leave_if_fake(simulation: Machine) -> None:
    """End the simulation where a tensor without content is to be on the device: only a build with CUDA makes one."""
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
        _leaving(simulation, "FakeTensorMode with tensors of the device")()


def refuse(simulation: Machine, owner: Any, names: list[str]) -> None:
    """Make functions that nothing stands in for end the simulation instead of failing somehow."""
    for name in names:
        if callable(getattr(owner, name, None)):
            leave = _leaving(simulation, f"{owner.__name__}.{name}")
            simulation.patches.set(owner, name, _like(getattr(owner, name), leave))


def _like(real: Any, leave: Any) -> Any:
    """What replaces a function or a class: annotations and ``isinstance`` may name a class that is never used."""
    return type(real.__name__, (real,), {"__new__": leave}) if isinstance(real, type) else leave


def _leaving(simulation: Machine, what: str) -> Any:
    def leave(*_: Any, **__: Any) -> Any:
        simulation.on_leaving(what)
        raise Unsimulated(f"{what} is not simulated")

    return leave


def beyond(error: BaseException) -> str | None:
    """Why an exception shows that a feature is not simulated; None if it does not."""
    if isinstance(error, Unsimulated):
        return str(error)
    package = _package(error.__traceback__)
    if package is not None:
        return f"{package} needs a real GPU"
    text = str(error).lower()
    if "on the same device" not in text and any(sign in text for sign in _SIGNS):
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"
    return None


def doubt(error: BaseException) -> str | None:
    """What to say of an exception that came out of torch; None if it came from somewhere else."""
    if not isinstance(error, Exception) or not _from_torch(error):
        return None
    return (
        f"the {type(error).__name__} came out of PyTorch while a GPU was simulated: it may be the simulation's fault "
        "and not the program's; to find out, run again with --on cpu"
    )


def _from_torch(error: Exception) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    if code.co_filename.startswith(_TORCH) or is_own(code.co_filename):
        return True
    if dis.opname[code.co_code[trace.tb_lasti]] in _RAISING:
        return False
    text = str(error).lower()
    return type(error) is RuntimeError or "tensor" in text or "torch" in text or "cuda" in text


def _package(trace: TracebackType | None) -> str | None:
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename.replace("\\", "/")
        for package in _PACKAGES:
            if f"/{package}/" in name:
                return package
        trace = trace.tb_next
    return None

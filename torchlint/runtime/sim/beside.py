"""Functions that C++ computes in another way under a dispatch mode, with other bits: they run without it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, place
from torchlint.runtime.sim import ctc
from torchlint.runtime.sim.operands import found_in, tensors

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def _linalg(simulation: Machine, args: Any, kwargs: Any) -> None:
    """Errors are read, and whether the singular value decomposition converges if there is one."""
    by_eigenvalues = kwargs.get("hermitian", False) or any(value is True for value in args)
    for _ in range(1 if by_eigenvalues else 2):
        simulation.sync("linalg")


def _lstsq(simulation: Machine, args: Any, kwargs: Any) -> None:
    simulation.sync("linalg")


# By module: the functions, and what records what they do beside computing.
_FUNCTIONS: dict[Any, dict[str, Any]] = {
    torch: {"ctc_loss": ctc.record, "pinverse": _linalg},
    torch.linalg: {"svdvals": _linalg, "pinv": _linalg, "lstsq": _lstsq, "matrix_rank": _linalg},
}
_ACROSS = frozenset(("ctc_loss",))


def install(simulation: Machine) -> None:
    """Wrap the functions."""
    for owner, functions in _FUNCTIONS.items():
        for name, record in functions.items():
            simulation.patches.set(owner, name, _beside(simulation, name, getattr(owner, name), record))
    real = torch.from_dlpack
    from_dlpack = _same_device(real)
    for owner in (torch, torch.utils.dlpack):
        simulation.patches.set(owner, "from_dlpack", from_dlpack)


def _beside(simulation: Machine, name: str, real: Any, record: Any) -> Any:
    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        operation = "aten::_ctc_loss" if name in _ACROSS else name
        index, _ = found_in(simulation, operation, args, kwargs)
        if index is None or not simulation.alone():
            return real(*args, **kwargs)
        record(simulation, args, kwargs)
        with simulation.direct():
            made = real(*args, **kwargs)
        for tensor in tensors(made):
            place(tensor, index)
        return made

    return call


def _same_device(real: Any) -> Any:
    """Memory that is shared with another library keeps its device."""

    @functools.wraps(real)
    def from_dlpack(ext_tensor: Any, *args: Any, **kwargs: Any) -> Any:
        made = real(ext_tensor, *args, **kwargs)
        if isinstance(ext_tensor, torch.Tensor):
            place(made, device_of(ext_tensor))
        return made

    return from_dlpack

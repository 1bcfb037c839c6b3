"""The environment of a program: defaults set by other files, and simulated devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites


@dataclass(frozen=True)
class Surroundings:
    """Settings that other files have made before a program runs. They are restored after the run.

    ``scope`` is the device of a ``with torch.device(..):`` around the run, ``gradients`` is ``on``, ``off`` or
    ``inference``.
    """

    dtype: str = "float32"
    device: str | None = None
    scope: str | None = None
    gradients: str = "on"
    deterministic: bool = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Apply the settings for one run."""
        modes = {"off": torch.no_grad, "inference": torch.inference_mode}
        with ExitStack() as stack:
            stack.callback(_put_back, *_flags())
            stack.enter_context(torch.enable_grad())
            torch.set_default_dtype(getattr(torch, self.dtype))
            if self.device is not None:
                torch.set_default_device(self.device)
            if self.scope is not None:
                stack.enter_context(torch.device(self.scope))
            if self.gradients in modes:
                stack.enter_context(modes[self.gradients]())
            torch.use_deterministic_algorithms(self.deterministic)
            yield


_FLAGS = ("enabled", "benchmark", "deterministic", "allow_tf32")


def _flags() -> tuple[torch.dtype, list[bool]]:
    return torch.get_default_dtype(), [getattr(torch.backends.cudnn, name) for name in _FLAGS]


def _put_back(dtype: torch.dtype, flags: list[bool]) -> None:
    torch.set_default_device(None)
    assert torch.get_default_device().type == "cpu", "a default device is left"
    torch.set_default_dtype(dtype)
    torch.use_deterministic_algorithms(False)
    for name, value in zip(_FLAGS, flags, strict=True):
        setattr(torch.backends.cudnn, name, value)


_SITES = Sites([])  # shared by all programs, since finding torch's files takes longer than running a program


@contextmanager
def simulated_cuda() -> Iterator[None]:
    """The companion's simulated GPU, with loaders that do the work of their workers in the main process."""
    real = torch.utils.data.DataLoader.__init__

    def init(loader: Any, *args: Any, num_workers: int = 0, **kwargs: Any) -> None:
        del num_workers
        real(loader, *args, **kwargs)

    with Simulation(Recorder(), _SITES):
        replaced = torch.utils.data.DataLoader.__init__
        torch.utils.data.DataLoader.__init__ = init
        try:
            yield
        finally:
            torch.utils.data.DataLoader.__init__ = replaced

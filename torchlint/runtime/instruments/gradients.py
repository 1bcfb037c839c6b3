"""Watches ``zero_grad``: whether gradients are filled with zeros or dropped, which depends on the version of torch."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument
from torchlint.runtime.patches import Patches


class Gradients(Instrument):
    """Watches what models and optimizers do with gradients before the next backward pass."""

    def install(self, patches: Patches) -> None:
        """Wrap ``zero_grad``; a class of the program that overrides it usually calls this one."""
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            patches.set(owner, "zero_grad", self._zeroing(owner.zero_grad))

    def _zeroing(self, real: Any) -> Any:
        is_compiling = torch.compiler.is_compiling
        drops = bool(inspect.signature(real).parameters["set_to_none"].default)

        @functools.wraps(real)
        def zero_grad(owner: Any, set_to_none: bool = drops) -> None:
            if not is_compiling():
                self._recorder.add("zeroed", self._sites.here(2), filled=not set_to_none)
            real(owner, set_to_none)

        return zero_grad

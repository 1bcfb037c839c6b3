"""Lazy parameters, which allow only some tensor methods and recognize them by identity."""

from __future__ import annotations

import torch

from torchlint.runtime.patches import Patches


def let_through(patches: Patches, *names: str) -> None:
    """Allow wrapped methods on lazy parameters.

    C++ looks up methods by name before it passes them to subclasses, and so finds the wrapper.
    """
    lazy = torch.nn.parameter.UninitializedTensorMixin
    wrapped = [getattr(torch.Tensor, name) for name in names]
    patches.set(lazy, "_allowed_methods", [*lazy._allowed_methods, *wrapped])

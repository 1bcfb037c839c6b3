"""Lazy parameters, which let only some methods of tensors through, and know them by identity."""

from __future__ import annotations

import torch

from torchlint.runtime.patches import Patches


def let_through(patches: Patches, *names: str) -> None:
    """Have lazy parameters let methods through that have been wrapped.

    C++ looks methods up by name when it hands them to subclasses, and so finds what stands in for them.
    """
    lazy = torch.nn.parameter.UninitializedTensorMixin
    wrapped = [getattr(torch.Tensor, name) for name in names]
    patches.set(lazy, "_allowed_methods", [*lazy._allowed_methods, *wrapped])

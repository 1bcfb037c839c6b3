"""Probes of values: what is made from data, and what torch computes by other ways than calls of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def _leaves(device: str) -> Any:
    array = np.array([1.0, 2.0], np.float32)
    made = [torch.tensor(data, device=device, requires_grad=True) for data in (0.5, np.float64(0.5), array, [1.0])]
    made += [torch.asarray(data, device=device, requires_grad=True) for data in (array, torch.from_numpy(array))]
    computed = torch.ones(2, device=device, requires_grad=True) * 2
    made += [torch.tensor(computed, device=device), torch.as_tensor(computed, device=device)]
    array[0] = 7
    return [(x.is_leaf, x.requires_grad, x.device.type == device) for x in made], made[2].tolist()


PROBES: dict[str, Callable[[str], Any]] = {
    "leaves": _leaves,
}

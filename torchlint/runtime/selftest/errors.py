"""Probes of errors: the simulation raises where a machine with a GPU raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


def _refused(error: str, action: Callable[[torch.Tensor, torch.Tensor], Any]) -> Callable[[str], str]:
    """On a device the action raises; on the CPU it may not."""

    def probe(device: str) -> str:
        if device == "cpu":
            return error
        try:
            action(torch.ones(2, 2).to(device), torch.ones(2, 2))
        except Exception as raised:  # the class of the exception is the result
            return type(raised).__name__
        return "nothing raised"

    return probe


def _allowed(action: Callable[[torch.Tensor, torch.Tensor], Any]) -> Callable[[str], Any]:
    def probe(device: str) -> Any:
        result = action(torch.full((2, 2), 2.0).to(device), torch.ones(2, 2))
        return result.tolist() if isinstance(result, torch.Tensor) else result

    return probe


PROBES: dict[str, Callable[[str], Any]] = {
    "add": _refused("RuntimeError", lambda there, here: there + here),
    "matmul": _refused("RuntimeError", lambda there, here: there @ here),
    "cat": _refused("RuntimeError", lambda there, here: torch.cat([there, here])),
    "module_on_host": _refused("RuntimeError", lambda there, here: nn.Linear(2, 2)(there)),
    "in_place": _refused("RuntimeError", lambda there, here: here.add_(there)),
    "where": _refused("RuntimeError", lambda there, here: torch.where(there > 0, there, here)),
    "mse": _refused("RuntimeError", nn.functional.mse_loss),
    "two_devices": _refused("RuntimeError", lambda there, here: there + here.to("cuda:1")),
    "numpy": _refused("TypeError", lambda there, here: there.numpy()),
    "asarray": _refused("TypeError", lambda there, here: np.asarray(there)),
    "pin": _refused("RuntimeError", lambda there, here: there.pin_memory()),
    "cuda_on_cpu": _refused("RuntimeError", lambda there, here: here.cuda("cpu")),
    "host_generator": _refused(
        "RuntimeError",
        lambda there, here: torch.rand(2, device="cuda", generator=torch.Generator()),
    ),
    "number_of_the_host": _allowed(lambda there, here: there * here.sum()),
    "index_of_the_host": _allowed(lambda there, here: there[here[0].long()]),
    "copy_between": _allowed(lambda there, here: there.copy_(here)),
    "copy_back": _allowed(lambda there, here: here.copy_(there)),
    "number": _allowed(lambda there, here: there.add(1).sum().item()),
}

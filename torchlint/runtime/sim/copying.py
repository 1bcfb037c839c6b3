"""What is recorded of copies between host and device that an operation makes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import is_pinned, is_rewritten, label_of, origins, size_of

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def facts_of_upload(
    source: torch.Tensor, how: str, dtype: torch.dtype | None = None, *, non_blocking: bool = False
) -> dict[str, Any]:
    """The facts of a copy of a tensor to the device, as a dtype."""
    pinned = is_pinned(source) and not is_rewritten(source, dtype)
    return {"how": how, "pinned": pinned, "non_blocking": bool(non_blocking), **origins(source)}


def upload(simulation: Machine, source: torch.Tensor, how: str, dtype: torch.dtype | None = None) -> None:
    """Record a copy to the device that an operation makes by itself."""
    record_upload(simulation, size_of(source, dtype), facts_of_upload(source, how, dtype))


def record_upload(simulation: Machine, size: int, facts: dict[str, Any]) -> None:
    """Record a copy to the device of some bytes."""
    simulation.recorder.add("upload", simulation.sites.here(3), size, **facts)
    if not facts["non_blocking"]:
        simulation.blocks()


def download(simulation: Machine, source: torch.Tensor, how: str) -> None:
    """Record a copy to the host that an operation makes by itself."""
    facts: dict[str, Any] = {"how": how, "non_blocking": False}
    simulation.recorder.add("download", simulation.sites.here(2), size_of(source), **facts)
    simulation.blocks()


def from_host(tensor: torch.Tensor) -> bool:
    """Whether it is the program's, and not memory that an operation has allocated for itself."""
    label = label_of(tensor)
    return label is not None and label.host

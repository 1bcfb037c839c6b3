"""Storages: the memory of tensors, its device, and its way to files and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import LABEL, place, place_storage

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_UNTYPED = torch.UntypedStorage


def index_of(storage: Any) -> int | None:
    """The index of the simulated device that a storage is on; None on the host."""
    label = getattr(getattr(storage, "_untyped_storage", storage), LABEL, None)
    return None if label is None else label.device


def install(simulation: Machine) -> None:
    """Replace what storages say of themselves, their copies, and how files name their device."""
    _attributes(simulation)
    _moves(simulation)
    _files(simulation)
    _modules(simulation)


def _attributes(simulation: Machine) -> None:
    real, shared = _UNTYPED.device.__get__, _UNTYPED.is_shared

    def device(storage: Any) -> torch.device:
        index = index_of(storage)
        found: torch.device = real(storage)
        return found if index is None else torch.device("cuda", index)

    patches = simulation.patches
    patches.set(_UNTYPED, "device", property(device))
    patches.set(_UNTYPED, "is_cuda", property(lambda storage: index_of(storage) is not None))
    patches.set(_UNTYPED, "get_device", lambda storage: -1 if index_of(storage) is None else index_of(storage))
    patches.set(_UNTYPED, "is_shared", lambda storage: index_of(storage) is not None or shared(storage))


def _moves(simulation: Machine) -> None:
    to_device, to_host, write = _UNTYPED.cuda, _UNTYPED.cpu, _UNTYPED._write_file
    recorder, sites = simulation.recorder, simulation.sites

    def copied(storage: Any) -> Any:
        with simulation.direct():
            return _UNTYPED(storage.nbytes()).copy_(storage, False)

    def clone(storage: Any) -> Any:
        made = copied(storage)
        place_storage(made, index_of(storage))
        return made

    def cuda(storage: Any, device: Any = None, non_blocking: bool = False) -> Any:
        index = simulation.index(device if device is not None else "cuda")
        if index is None:
            return to_device(storage, device, non_blocking)
        if index_of(storage) == index:
            return storage
        pinned = bool(getattr(getattr(storage, LABEL, None), "pinned", False))
        facts: dict[str, Any] = {"how": "storage", "pinned": pinned, "non_blocking": bool(non_blocking)}
        recorder.add("upload", sites.here(2), storage.nbytes(), **facts)
        made = copied(storage)
        place_storage(made, index)
        return made

    def cpu(storage: Any) -> Any:
        if index_of(storage) is None:
            return to_host(storage)
        _downloaded(simulation, storage)
        return copied(storage)

    def _write_file(storage: Any, *args: Any, **kwargs: Any) -> Any:
        if index_of(storage) is not None:
            _downloaded(simulation, storage)
        return write(storage, *args, **kwargs)

    simulation.patches.set_all(_UNTYPED, clone=clone, cuda=cuda, cpu=cpu, _write_file=_write_file)


def _downloaded(simulation: Machine, storage: Any) -> None:
    site = simulation.sites.here(3)
    simulation.recorder.add("download", site, storage.nbytes(), how="storage", non_blocking=False)


def _files(simulation: Machine) -> None:
    """Checkpoints record CUDA devices, and are loaded onto them."""
    from torch import serialization

    def tag(storage: Any) -> str | None:
        index = index_of(storage)
        return None if index is None else f"cuda:{index}"

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        untyped = getattr(storage, "_untyped_storage", storage)
        facts: dict[str, Any] = {"how": "load", "pinned": False, "non_blocking": False}
        simulation.recorder.add("upload", simulation.sites.here(2), untyped.nbytes(), **facts)
        place_storage(untyped, simulation.index(location))
        return storage

    simulation.patches.set(serialization, "_package_registry", [(1, tag, restore), *serialization._package_registry])


def _modules(simulation: Machine) -> None:
    """TorchScript modules loaded from files, whose parameters C++ would put on a device."""
    real = torch.jit.load

    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        index = simulation.index(map_location)
        made = real(f, "cpu" if index is not None else map_location, *args, **kwargs)
        if index is not None:
            for tensor in (*made.parameters(), *made.buffers()):
                place(tensor, index)
        return made

    simulation.patches.set(torch.jit, "load", load)


@contextmanager
def unlabeled(storage: Any) -> Iterator[None]:
    """A context in which torch handles memory as the host memory that it is."""
    index = index_of(storage)
    if index is not None:
        place_storage(storage, None)
    try:
        yield
    finally:
        if index is not None:
            place_storage(storage, index)

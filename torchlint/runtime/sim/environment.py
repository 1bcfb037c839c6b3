"""The parts of torch around tensors: generators, profilers, C++ helpers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.profiler

from torchlint.runtime.labels import device_of, place
from torchlint.runtime.sim.operands import found_in
from torchlint.runtime.sim.tensors import on_device

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine


def install(simulation: Machine) -> None:
    """Replace what would fail, or would reveal the simulation."""
    _generators(simulation)
    _profiler(simulation)
    _helpers(simulation)


def _generators(simulation: Machine) -> None:
    real = torch.Generator

    class Generator(real):  # type: ignore[misc, valid-type]
        """A CPU generator that reports the device it was created for."""

        def __new__(cls, device: Any = None) -> Any:
            index = simulation.index(device)
            made = super().__new__(cls) if index is not None or device is None else super().__new__(cls, device)
            made._torchlint_device = index
            (simulation.generators.discard if index is None else simulation.generators.add)(made._cdata)
            return made

        @property
        def device(self) -> torch.device:
            """The device it was created for."""
            index = getattr(self, "_torchlint_device", None)
            return torch.device("cpu") if index is None else torch.device("cuda", index)

    simulation.patches.set(torch, "Generator", Generator)
    simulation.random.install_generators()


def _profiler(simulation: Machine) -> None:
    from torch import profiler

    activity, real = profiler.ProfilerActivity, profiler.profile.__init__

    def init(self: Any, *args: Any, activities: Any = None, **kwargs: Any) -> None:
        if activities is not None:
            activities = [one for one in activities if one != activity.CUDA] or [activity.CPU]
        real(self, *args, activities=activities, **kwargs)

    simulation.patches.set(profiler.profile, "__init__", init)


def _helpers(simulation: Machine) -> None:
    """C++ helpers that return the real device to Python, or depend on it."""
    real = torch._C._group_tensors_by_device_and_dtype

    def group(tensors: Any, with_indices: bool = False) -> Any:
        found: dict[Any, Any] = {}
        for (device, dtype), (lists, places) in real(tensors, with_indices).items():
            for index, members in _by_index(lists).items():
                key = (device if index is None else torch.device("cuda", index), dtype)
                chosen = [[column[member] for member in members] if column else [] for column in lists]
                found[key] = (chosen, [places[member] for member in members] if places else places)
        return found

    simulation.patches.set(torch._C, "_group_tensors_by_device_and_dtype", group)
    _modules(simulation)
    simulation.patches.set(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    _sequences(simulation)
    real_allclose = torch.allclose

    def allclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> bool:  # noqa: A002 - torch's name
        if found_in(simulation, "aten::allclose", (input, other), {})[0] is not None:
            simulation.sync("allclose")
        with simulation.recorder.quiet():
            return bool(real_allclose(input, other, *args, **kwargs))

    for owner in (torch, torch.Tensor):
        simulation.patches.set(owner, "allclose", on_device(simulation, owner.allclose, allclose))
    one_hot = torch.nn.functional.one_hot

    def quiet_one_hot(tensor: Any, num_classes: int = -1) -> Any:
        if device_of(tensor) is not None and num_classes == -1:
            simulation.sync("one_hot")
        with simulation.recorder.quiet():
            return one_hot(tensor, num_classes)

    simulation.patches.set(torch.nn.functional, "one_hot", quiet_one_hot)


def _modules(simulation: Machine) -> None:
    """``Module.to(0)`` parses its arguments in C++, where an integer needs an accelerator."""
    real = torch._C._nn._parse_to

    def parse(*args: Any, **kwargs: Any) -> Any:
        def named(device: Any) -> Any:
            whole = isinstance(device, int) and not isinstance(device, bool)
            return torch.device("cuda", simulation.index(device)) if whole else device

        if args:
            args = (named(args[0]), *args[1:])
        elif "device" in kwargs:
            kwargs["device"] = named(kwargs["device"])
        return real(*args, **kwargs)

    simulation.patches.set(torch._C._nn, "_parse_to", parse)


def _by_index(lists: Any) -> dict[int | None, list[int]]:
    """The positions in parallel lists, by the device of the first tensor at each."""
    found: dict[int | None, list[int]] = {}
    for place_, members in enumerate(zip(*[column for column in lists if column], strict=True)):
        first = next((tensor for tensor in members if tensor is not None), None)
        found.setdefault(None if first is None else device_of(first), []).append(place_)
    return found


def _sequences(simulation: Machine) -> None:
    """Padding creates its result in C++, with options that ignore labels."""
    real = torch._VF._pad_packed_sequence

    def pad(data: Any, batch_sizes: Any, *args: Any) -> Any:
        with simulation.recorder.quiet():
            padded, lengths = real(data, batch_sizes, *args)
        place(padded, device_of(data))
        place(lengths, None)
        return padded, lengths

    simulation.patches.set(torch._VF, "_pad_packed_sequence", pad)

"""Factory functions, with support for simulated devices."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, labeled, parts_of, place, size_of, storage_of
from torchlint.runtime.names import FACTORIES, OF_DATA
from torchlint.runtime.sim.operands import check_generator
from torchlint.runtime.sim.subset import leave_if_fake

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_LIKE = frozenset(name for name in FACTORIES if name.endswith("_like"))
_OF_THE_HOST = frozenset(("from_numpy", "frombuffer"))  # whatever the default device
_METHODS = ("new_tensor", "new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
# They take tensors as well, which they move, and anything with memory of its own.
_OF_TENSORS = frozenset(("tensor", "as_tensor", "asarray"))
_SHARING = frozenset(("as_tensor", "asarray"))
_SPARSE = {
    "sparse_coo_tensor": ("indices", "values"),
    "sparse_csr_tensor": ("crow_indices", "col_indices", "values"),
}
# Their arguments are numbers: those of tensors are read.
_NUMBERS = frozenset(
    "arange range linspace logspace eye full full_like scalar_tensor tensor as_tensor asarray zeros ones empty rand "
    "randn randint randperm".split()
)


def install(simulation: Machine) -> None:
    """Wrap the factories of torch, and those of tensors."""
    maker = _Factories(simulation)
    for name in FACTORIES:
        real = getattr(torch, name, None)
        if real is not None:
            simulation.patches.set(torch, name, maker.wrapped(name, real))
    for name in _METHODS:
        simulation.patches.set(torch.Tensor, name, maker.method(name, getattr(torch.Tensor, name)))


class _Factories:
    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation

    def wrapped(self, name: str, real: Any) -> Any:
        """A factory that accepts simulated devices."""

        @functools.wraps(real)
        def factory(*args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device")
            if asked is None and name not in _LIKE and name not in _OF_THE_HOST:
                asked = self._sim.default()
            index = self._sim.index(asked)
            data = _data(name, args, kwargs)
            if "generator" in kwargs:
                check_generator(self._sim, kwargs["generator"], index, torch.device(asked or "cpu"))
            pinned = bool(kwargs.get("pin_memory")) and bool(kwargs.pop("pin_memory"))
            read = name in _NUMBERS and self._reads(name, data, args, kwargs)
            if index is not None:
                kwargs["device"] = "cpu"
                if pinned:
                    raise RuntimeError("Only dense CPU tensors can be pinned")
                return self._on_device(name, real, data, index, args, kwargs)
            with self._sim.recorder.quiet() if read else nullcontext():
                made = self._elsewhere(name, real, data, asked, args, kwargs)
            return self._pinned(made) if pinned else made

        return factory

    def _pinned(self, made: Any) -> Any:
        """``pin_memory=True``: allocated there, and not copied."""
        if device_of(made) is not None:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        labeled(made).pinned = True
        return made

    def _reads(self, name: str, data: Any, args: Any, kwargs: Any) -> bool:
        """Record that the host reads numbers from the device: bounds, a value, the elements of a list."""
        values = _in_lists(data) if name in OF_DATA else _one_by_one((*args, *kwargs.values()))
        read = [value for value in values if isinstance(value, torch.Tensor) and device_of(value) is not None]
        if name in _LIKE and read and read[0] is data:
            del read[0]
        for _ in read:
            self._sim.sync("read")
        return bool(read)

    def _on_device(self, name: str, real: Any, data: Any, index: int, args: Any, kwargs: Any) -> Any:
        leave_if_fake(self._sim)
        if isinstance(data, torch.Tensor) and name in _OF_TENSORS:
            return self._of_tensor(name, real, data, index, kwargs)
        with self._sim.recorder.quiet(), self._sim.random.drawing(index):
            with nullcontext() if isinstance(data, torch.Tensor) else self._sim.direct():
                made = real(*args, **kwargs)
            if name in _SHARING:  # putting memory of the host on a device always copies it
                made = made.detach().clone().requires_grad_(made.requires_grad)
        site = self._sim.sites.here(3)
        sources = _sources(name, data, args, kwargs) if name in OF_DATA else []
        copied = [part for part, source in zip(parts_of(made), sources, strict=False) if not _is_there(source)]
        for part in copied:
            self._sim.recorder.add("upload", site, size_of(part), how=name, pinned=False, non_blocking=False)
        if not copied:
            self._sim.recorder.add("made", site, size_of(made))
        place(made, index)
        return made

    def _of_tensor(self, name: str, real: Any, data: torch.Tensor, index: int | None, kwargs: Any) -> Any:
        """Made from a tensor, which is moved first: its memory, pinned or not, and its graph are its own."""
        if kwargs.get("copy") is False and device_of(data) != index:
            there = "cpu" if index is None else f"cuda:{index}"
            raise ValueError(f"can't alias tensor from device '{data.device}' to '{there}'.")
        source = data if name in _SHARING else data.detach()
        made = self._sim.moves.moved(source, index, name, dtype=kwargs.get("dtype"))
        if name == "as_tensor":
            return made
        rest = {option: value for option, value in kwargs.items() if option not in ("data", "obj", "device")}
        with self._sim.recorder.quiet():
            made = real(made, **rest)
        place(made, index)
        return made

    def _elsewhere(self, name: str, real: Any, data: Any, asked: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(data, torch.Tensor) and device_of(data) is not None and name in _OF_TENSORS and asked is not None:
            return self._of_tensor(name, real, data, None, kwargs)
        fresh = name not in _LIKE and kwargs.get("out") is None and not _has_tensor((*args, *kwargs.values()))
        with self._sim.direct() if fresh else nullcontext():
            made = real(*args, **kwargs)
        if (
            type(made) is torch.Tensor
            and _is_cpu(made)
            and not (isinstance(data, torch.Tensor) and storage_of(made) is storage_of(data))
        ):
            label = labeled(made)
            label.host = True
            label.born = label.born or self._sim.sites.here(3)
        return made

    def method(self, name: str, real: Any) -> Any:
        """``x.new_zeros(..)``: on the device of ``x``, unless another device is passed."""

        @functools.wraps(real)
        def made_by(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device")
            index = device_of(tensor) if asked is None else self._sim.index(asked)
            data = _data(name, args, kwargs)
            if isinstance(data, torch.Tensor):
                as_this = {**kwargs, "dtype": kwargs.get("dtype") or tensor.dtype}
                return self._of_tensor(name, functools.partial(real, tensor), data, index, as_this)
            if index is not None or asked is not None:
                kwargs["device"] = "cpu"
            with self._sim.recorder.quiet():
                made = real(tensor, *args, **kwargs)
            if name == "new_tensor" and index is not None:
                facts: dict[str, Any] = {"how": name, "pinned": False, "non_blocking": False}
                self._sim.recorder.add("upload", self._sim.sites.here(2), size_of(made), **facts)
            place(made, index)
            return made

        return made_by


def _is_cpu(tensor: torch.Tensor) -> bool:
    """Whether a tensor is on the host; modes of the program do not see this."""
    with torch._C.DisableTorchFunction():
        return tensor.is_cpu


def _in_lists(data: Any) -> Iterator[Any]:
    """The tensors in nested lists, which are found by the first elements."""
    if isinstance(data, (list, tuple)) and data:
        if isinstance(data[0], torch.Tensor):
            yield from data
        elif isinstance(data[0], (list, tuple)):
            for row in data:
                yield from _in_lists(row)


def _one_by_one(values: Any) -> Iterator[Any]:
    """Numbers, and those of sizes."""
    for value in values:
        yield from value if isinstance(value, (list, tuple)) else (value,)


def _sources(name: str, data: Any, args: Any, kwargs: Any) -> list[Any]:
    """What a tensor is made of: its data, or the indices and values of a sparse one."""
    names = _SPARSE.get(name)
    if names is None:
        return [data]
    return [args[at] if at < len(args) else kwargs.get(one) for at, one in enumerate(names)]


def _is_there(source: Any) -> bool:
    return isinstance(source, torch.Tensor) and device_of(source) is not None


def _has_tensor(values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) for value in values)


def _data(name: str, args: Any, kwargs: Any) -> Any:
    if name not in OF_DATA and name not in _LIKE and name != "new_tensor":
        return None
    return args[0] if args else kwargs.get("data", kwargs.get("obj", kwargs.get("input")))

"""Factory functions, with support for simulated devices."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, labelled, place, size_of, storage_of
from torchlint.runtime.names import FACTORIES, OF_DATA

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_HOST = torch.device("cpu")
_LIKE = frozenset(name for name in FACTORIES if name.endswith("_like"))
_METHODS = ("new_tensor", "new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
_LEGACY = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "BoolTensor": torch.bool,
}


def install(simulation: Machine) -> None:
    """Wrap the factories of torch, those of tensors, and the legacy types of CUDA."""
    maker = _Factories(simulation)
    for name in FACTORIES:
        real = getattr(torch, name, None)
        if real is not None:
            simulation.patches.set(torch, name, maker.wrapped(name, real))
    for name in _METHODS:
        simulation.patches.set(torch.Tensor, name, maker.method(name, getattr(torch.Tensor, name)))
    for name, dtype in _LEGACY.items():
        simulation.patches.set(torch.cuda, name, maker.legacy(name, dtype))
    simulation.patches.set(torch, "set_default_tensor_type", maker.default_type(torch.set_default_tensor_type))


class _Factories:
    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation

    def wrapped(self, name: str, real: Any) -> Any:
        """A factory that accepts simulated devices."""

        @functools.wraps(real)
        def factory(*args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device")
            if asked is None and name not in _LIKE:
                asked = self._sim.default()
            index = self._sim.index(asked)
            data = _data(name, args, kwargs)
            if index is not None and name != "from_numpy":
                kwargs["device"] = "cpu"
                generator = kwargs.get("generator")
                if generator is not None and self._sim.index(generator.device) is None:
                    raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
                return self._on_device(name, real, data, index, args, kwargs)
            return self._elsewhere(name, real, data, asked, args, kwargs)

        return factory

    def _on_device(self, name: str, real: Any, data: Any, index: int, args: Any, kwargs: Any) -> Any:
        if isinstance(data, torch.Tensor) and device_of(data) is not None and name in ("as_tensor", "asarray"):
            return data.to(torch.device("cuda", index), kwargs.get("dtype") or data.dtype)
        with self._sim.recorder.quiet():
            with nullcontext() if isinstance(data, torch.Tensor) else self._sim.direct():
                made = real(*args, **kwargs)
            if _shares(made, data):
                made = made.clone()
        if name in OF_DATA and not (isinstance(data, torch.Tensor) and device_of(data) is not None):
            size = 0 if made.layout is not torch.strided else size_of(made)
            self._sim.recorder.add("upload", self._sim.sites.here(3), size, how=name, pinned=False, non_blocking=False)
        else:
            self._sim.recorder.add("made", self._sim.sites.here(3), size_of(made))
        place(made, index)
        return made

    def _elsewhere(self, name: str, real: Any, data: Any, asked: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(data, torch.Tensor) and device_of(data) is not None and name in OF_DATA and asked is not None:
            return self._sim.moves.down(data, name, dtype=kwargs.get("dtype"))
        fresh = name not in _LIKE and not isinstance(data, torch.Tensor) and kwargs.get("out") is None
        with self._sim.direct() if fresh else nullcontext():
            made = real(*args, **kwargs)
        if (
            type(made) is torch.Tensor
            and made.device == _HOST
            and not (isinstance(data, torch.Tensor) and _shares(made, data))
        ):
            label = labelled(made)
            label.host = True
            label.born = label.born or self._sim.sites.here(3)
        return made

    def method(self, name: str, real: Any) -> Any:
        """``x.new_zeros(..)``: on the device of ``x``, unless another device is passed."""

        @functools.wraps(real)
        def made_by(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.get("device")
            index = device_of(tensor) if asked is None else self._sim.index(asked)
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

    def default_type(self, real: Any) -> Any:
        """``torch.set_default_tensor_type("torch.cuda.FloatTensor")``: sets a dtype and a device."""

        def set_default_tensor_type(kind: Any) -> None:
            name = kind if isinstance(kind, str) else getattr(kind, "_torchlint_type", "")
            if name.startswith("torch.cuda."):
                torch.set_default_dtype(_LEGACY[name.rpartition(".")[2]])
                torch.set_default_device("cuda")
            else:
                torch.set_default_device(None)
                real(kind)

        return set_default_tensor_type

    def legacy(self, name: str, dtype: torch.dtype) -> Any:
        """``torch.cuda.FloatTensor(..)``."""
        real = getattr(torch, name)

        def made_of(*args: Any) -> Any:
            with self._sim.recorder.quiet():
                made = real(*args)
            if args and not isinstance(args[0], int):
                facts: dict[str, Any] = {"how": "legacy", "pinned": False, "non_blocking": False}
                self._sim.recorder.add("upload", self._sim.sites.here(2), size_of(made), **facts)
            place(made, self._sim.current)
            return made

        made_of._torchlint_type = f"torch.cuda.{name}"  # type: ignore[attr-defined]
        made_of.dtype = dtype  # type: ignore[attr-defined]
        return made_of


def _data(name: str, args: Any, kwargs: Any) -> Any:
    if name not in OF_DATA and name not in _LIKE:
        return None
    return args[0] if args else kwargs.get("data", kwargs.get("obj", kwargs.get("input")))


def _shares(made: torch.Tensor, data: Any) -> bool:
    """Whether creating the tensor copied nothing; putting it on a device always copies."""
    if made is data:
        return True
    if isinstance(data, torch.Tensor):
        return storage_of(made) is storage_of(data)
    return hasattr(data, "__array_interface__")

"""The types of tensors by dtype and device, such as ``torch.cuda.FloatTensor``, and what creates tensors of a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchlint.catalogue.views import TENSOR_TYPES
from torchlint.runtime.labels import device_of, label_of, labeled, place, size_of

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_DTYPES = {name: getattr(torch, dtype) for name, dtype in TENSOR_TYPES.items()}


class TensorType(type):
    """A type that tensors are instances of by their dtype and their device."""

    dtype: torch.dtype
    is_cuda: bool
    simulation: Machine
    real: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A tensor of this type."""
        with cls.simulation.recorder.quiet():
            made = cls.real(*args, **kwargs)
        if cls.is_cuda:
            if args and not isinstance(args[0], int):
                note_upload(cls.simulation, made, "legacy")
            else:
                cls.simulation.recorder.add("made", cls.simulation.sites.here(2), size_of(made))
            place(made, cls.simulation.current)
        else:
            note_born(cls.simulation, made)
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and cls.matches(instance)

    def matches(cls, tensor: Any) -> bool:
        """Whether a tensor has the dtype and the device."""
        return tensor.dtype == cls.dtype and tensor.is_cuda == cls.is_cuda and tensor.layout is torch.strided

    def __repr__(cls) -> str:
        return f"<class '{cls.full_name()}'>"

    def full_name(cls) -> str:
        """The name that ``Tensor.type`` takes and returns."""
        return f"{cls.__module__}.{cls.__name__}"


def note_upload(simulation: Machine, made: Any, how: str) -> None:
    """Record that data were copied to a device where a tensor was created from them."""
    facts: dict[str, Any] = {"how": how, "pinned": False, "non_blocking": False}
    simulation.recorder.add("upload", simulation.sites.here(3), size_of(made), **facts)


def note_born(simulation: Machine, made: Any) -> None:
    """Note where memory of the host was created."""
    label = labeled(made)
    label.host = label.device is None
    label.born = label.born or simulation.sites.here(3)


def install(simulation: Machine) -> None:
    """Replace the types, and methods and functions that take one."""
    patches = simulation.patches
    for name, dtype in _DTYPES.items():
        real = getattr(torch, name)
        for owner, on_cuda in ((torch, False), (torch.cuda, True)):
            facts = {"__module__": owner.__name__, "dtype": dtype, "is_cuda": on_cuda, "layout": torch.strided}
            patches.set(owner, name, TensorType(name, (), {**facts, "simulation": simulation, "real": real}))
    patches.set(torch, "set_default_tensor_type", _default_type(torch.set_default_tensor_type))
    patches.set(torch.Tensor, "type", _type_method(simulation, torch.Tensor.type))
    patches.set(torch.Tensor, "new", _new_method(simulation, torch.Tensor.new))
    patches.set(torch.Tensor, "__init__", _constructor(simulation))


def _constructor(simulation: Machine) -> Any:
    def init(tensor: Any, *args: Any, **kwargs: Any) -> None:
        """``torch.Tensor(2, 3)`` and ``torch.Tensor(data)`` are on the host."""
        if type(tensor) is torch.Tensor and label_of(tensor) is None:
            note_born(simulation, tensor)

    return init


def _default_type(real: Any) -> Any:
    """``torch.set_default_tensor_type("torch.cuda.FloatTensor")``: sets a dtype and a device."""

    def set_default_tensor_type(t: Any) -> None:
        name = t.full_name() if isinstance(t, TensorType) else t
        if isinstance(name, str) and name.startswith("torch.cuda."):
            torch.set_default_dtype(_DTYPES[name.rpartition(".")[2]])
            torch.set_default_device("cuda")
        else:
            torch.set_default_device(None)
            kind = getattr(torch, name.rpartition(".")[2]) if isinstance(name, str) else t
            real(kind.real if isinstance(kind, TensorType) else kind)

    return set_default_tensor_type


def _type_method(simulation: Machine, real: Any) -> Any:
    def kind(tensor: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """``x.type()``, ``x.type("torch.cuda.FloatTensor")``, ``x.type(torch.FloatTensor)``, ``x.type(torch.half)``."""
        index = device_of(tensor)
        if dtype is None:
            name = real(tensor, **kwargs)
            return name if index is None else name.replace("torch.", "torch.cuda.")
        if isinstance(dtype, torch.dtype) or not isinstance(dtype, (str, type)):
            return real(tensor, dtype, non_blocking, **kwargs)
        text = dtype if isinstance(dtype, str) else _full_name(dtype)
        if not text.startswith("torch.cuda."):
            here = tensor if index is None else simulation.moves.moved(tensor, None, "type", non_blocking=non_blocking)
            return real(here, text, non_blocking, **kwargs)
        made = real(tensor, text.replace("torch.cuda.", "torch."))
        target = simulation.current if index is None else index
        return simulation.moves.moved(made, target, "type", non_blocking=non_blocking)

    kind.__name__ = "type"
    return kind


def _full_name(dtype: Any) -> str:
    if isinstance(dtype, TensorType):
        return dtype.full_name()
    return f"{dtype.__module__}.{dtype.__name__}"


def _new_method(simulation: Machine, real: Any) -> Any:
    def new(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """``x.new(2, 3)`` and ``x.new(data)``: on the device of ``x``."""
        index = device_of(tensor)
        if kwargs.pop("device", None) is not None and index is None:
            raise RuntimeError("legacy tensor new() received an invalid combination of arguments")
        with simulation.recorder.quiet():
            made = real(tensor, *args, **kwargs)
        if index is not None and args and isinstance(args[0], (list, tuple)) and not isinstance(args[0], torch.Size):
            note_upload(simulation, made, "new")
        place(made, index)
        return made

    return new

"""Device-related attributes and methods of tensors: ``device``, moves and reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from torchlint.runtime.labels import device_of, is_pinned, label_of, labeled, parts_of, place, size_of
from torchlint.runtime.lazy import let_through
from torchlint.runtime.sim.copying import facts_of_upload
from torchlint.runtime.sim.operands import CPU
from torchlint.runtime.sim.subset import leave_if_fake
from torchlint.runtime.sites import Site

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

T: TypeAlias = Any  # a tensor
_TENSOR = torch.Tensor
_NAMES = (
    *("to", "cuda", "cpu", "copy_", "clone", "as_subclass", "pin_memory", "is_pinned", "get_device", "type_as"),
    "record_stream",
)


def install(simulation: Machine) -> None:
    """Replace what tensors say of themselves by what they would say on a GPU."""
    base = torch._C.TensorBase
    device, on_cuda, on_cpu = (getattr(base, name).__get__ for name in ("device", "is_cuda", "is_cpu"))
    names = [torch.device("cuda", index) for index in range(simulation.devices)]

    def where(tensor: T) -> torch.device:
        index = device_of(tensor)
        return device(tensor) if index is None else names[index]

    patches = simulation.patches
    patches.set(_TENSOR, "device", property(where))
    patches.set(_TENSOR, "is_cuda", property(lambda tensor: on_cuda(tensor) or device_of(tensor) is not None))
    patches.set(_TENSOR, "is_cpu", property(lambda tensor: on_cpu(tensor) and device_of(tensor) is None))
    patches.set(_TENSOR, "__new__", staticmethod(_constructor(_TENSOR.__new__)))
    patches.set(_TENSOR, "_make_wrapper_subclass", staticmethod(_wrapper(simulation, _TENSOR._make_wrapper_subclass)))
    Moves(simulation).install()


def _constructor(real: Any) -> Any:
    """Tensors of a subclass, which torch makes of plain ones; it refuses that under a dispatch mode."""

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> T:  # noqa: N807 - the method's name
        if cls is _TENSOR:
            return real(cls, *args, **kwargs)
        with torch._C._DisableTorchDispatch():
            return real(cls, *args, **kwargs)

    return __new__


def _wrapper(simulation: Machine, real: Any) -> Any:
    """Tensors that consist of others are where those are; autograd has no threads for a device of their own."""

    def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> T:
        def known(value: Any) -> Any:
            return CPU if isinstance(value, torch.device) and simulation.index(value) is not None else value

        return real(*map(known, args), **{name: known(value) for name, value in kwargs.items()})

    return _make_wrapper_subclass


def on_device(simulation: Machine, real: Any, function: Any) -> Any:
    """A function that is torch's own, unless a tensor of a device is among its arguments, or a device."""
    named = simulation.named_by

    def called(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], _TENSOR):
            values = (*args, kwargs.get("device"), kwargs.get("other")) if kwargs else args
            for value in values:
                if device_of(value) is not None if isinstance(value, _TENSOR) else named(value):
                    return function(*args, **kwargs)
        return real(*args, **kwargs)

    return called


class Moves:
    """``.to``, ``.cuda``, ``.cpu``, ``.copy_``, ``.pin_memory``: real copies, with a new label."""

    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation
        self._real = {name: getattr(_TENSOR, name) for name in _NAMES}

    def install(self) -> None:
        """Put the methods in place."""
        self._sim.patches.set_all(
            _TENSOR,
            to=self._method(self.to),
            cuda=self._always(self.cuda),
            cpu=self._method(self.cpu),
            copy_=self._method(self.copy_),
            pin_memory=self._always(self.pin_memory),
            is_pinned=self._always(self.is_pinned),
            get_device=self._method(self.get_device),
            record_stream=self._method(self.record_stream),
            type_as=self._method(self.type_as),
            as_subclass=self._always(self.as_subclass),
        )
        self._sim.moves = self
        let_through(self._sim.patches, "to", "cuda", "cpu", "copy_", "get_device")

    def _method(self, function: Any) -> Any:
        return on_device(self._sim, self._real[function.__name__], function)

    def _always(self, function: Any) -> Any:
        """A method that has no argument to tell whether it is about the device; torch's own refuses wrong ones."""
        real = self._real[function.__name__]

        def method(*args: Any, **kwargs: Any) -> Any:
            if not args or not isinstance(args[0], _TENSOR):
                return real(*args, **kwargs)
            return function(*args, **kwargs)

        return method

    # -- copies ----------------------------------------------------------------------------------

    def up(self, tensor: T, index: int, how: str, *, non_blocking: bool = False, **options: Any) -> T:
        """Copy to a device."""
        leave_if_fake(self._sim)
        self.note_up(tensor, how, non_blocking=non_blocking, dtype=options.get("dtype"))
        return self._placed(tensor, index, options)

    def note_up(self, tensor: T, how: str, *, non_blocking: bool = False, dtype: torch.dtype | None = None) -> None:
        """Record a copy to a device."""
        site = self._sim.sites.here(3)
        for part in parts_of(tensor):
            kind = dtype if part.dtype is tensor.dtype else None  # and not that of indices
            facts = facts_of_upload(part, how, kind, non_blocking=non_blocking)
            self._sim.recorder.add("upload", site, size_of(part, kind), **facts)
            if not non_blocking:
                self._sim.blocks()

    def down(self, tensor: T, how: str, *, non_blocking: bool = False, **options: Any) -> T:
        """Copy to the host."""
        site = self.note_down(tensor, how, non_blocking=non_blocking)
        made = self._placed(tensor, None, options)
        labeled(made).left = site
        return made

    def note_down(self, tensor: T, how: str, *, non_blocking: bool = False) -> Site:
        """Record a copy to the host; returns where."""
        site = self._sim.sites.here(3)
        for part in parts_of(tensor):
            self._sim.recorder.add("download", site, size_of(part), how=how, non_blocking=bool(non_blocking))
            if not non_blocking:
                self._sim.blocks()
        return site

    def _placed(self, tensor: T, index: int | None, options: dict[str, Any]) -> T:
        """A copy on another device, whose gradient flows back to the original device."""
        if tensor.requires_grad and torch.is_grad_enabled() and not _is_lazy(tensor):
            if tensor.is_nested and tensor.layout is torch.strided:  # functions of autograd take none
                with self._sim.recorder.quiet():
                    parts = [self._placed(part, index, options) for part in tensor.unbind()]
                    return torch._nested_tensor_from_tensor_list(parts)
            moved: T = _Across.apply(tensor, self, index, options)
            return moved
        return self.placed_copy(tensor, index, options)

    def placed_copy(self, tensor: T, index: int | None, options: dict[str, Any]) -> T:
        """A copy on another device, without its graph."""
        if hasattr(type(tensor), "__tensor_flatten__"):
            there = CPU if index is None else torch.device("cuda", index)
            self._sim.to_host = index is None
            try:
                return torch.ops.aten._to_copy(tensor, device=there, **options)
            finally:
                self._sim.to_host = False
        made = self._copied(tensor, **options)
        place(made, index)
        return made

    def _copied(self, tensor: T, dtype: torch.dtype | None = None, memory_format: Any = None) -> T:
        more = {} if memory_format is None else {"memory_format": memory_format}
        plain = type(tensor) in (_TENSOR, torch.nn.Parameter) and self._sim.alone()
        # Without the dispatch mode nothing is recorded anyway.
        with torch._C._DisableTorchDispatch() if plain else self._sim.recorder.quiet():
            made: T = self._real["to"](tensor, dtype=dtype or tensor.dtype, copy=True, **more)
        return made

    def _across(self, tensor: T, index: int, **options: Any) -> T:
        self._sim.recorder.add("peer", self._sim.sites.here(3), size_of(tensor))
        return self._placed(tensor, index, options)

    def moved(self, tensor: T, target: int | None, how: str, *, copy: bool = False, **options: Any) -> T:
        """Move a tensor to the target; None means the host."""
        now = device_of(tensor)
        non_blocking = options.pop("non_blocking", False)
        if now == target:
            dtype, layout = options.get("dtype"), options.get("memory_format")
            if not copy and (dtype is None or dtype == tensor.dtype) and layout is None:
                return tensor
            more = {} if layout is None else {"memory_format": layout}
            made: T = self._real["to"](tensor, dtype=dtype or tensor.dtype, copy=copy, **more)
            return made
        if hasattr(type(tensor), "__tensor_flatten__"):  # it consists of others, which it moves itself
            return self._placed(tensor, target, {**options, "non_blocking": non_blocking})
        if now is None:
            return self.up(tensor, target or 0, how, non_blocking=non_blocking, **options)
        if target is None:
            return self.down(tensor, how, non_blocking=non_blocking, **options)
        return self._across(tensor, target, **options)

    # -- methods ---------------------------------------------------------------------------------

    def to(self, tensor: T, *args: Any, **kwargs: Any) -> T:
        """``x.to(..)`` in all its forms."""
        if len(args) == 1 and not kwargs and isinstance(args[0], (torch.device, str)):  # by far the most common form
            index = self._sim.index(args[0])
            if index is not None:
                return self.moved(tensor, index, "to")
        rest, given = list(args), dict(kwargs)
        first = rest.pop(0) if rest else given.pop("other", None)
        dtype, device = given.pop("dtype", None), given.pop("device", None)
        if isinstance(first, torch.Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, torch.dtype):
            dtype = first
        elif first is not None:
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
                dtype = rest.pop(0) or dtype
        elif rest and isinstance(rest[0], torch.dtype):
            dtype = rest.pop(0)
        for name in ("non_blocking", "copy"):
            if rest:
                given[name] = rest.pop(0)
        if device is None:
            return self.moved(tensor, device_of(tensor), "to", dtype=dtype, **given)
        index = self._sim.index(device)
        if index is None and torch.device(device).type != "cpu":
            real: T = self._real["to"](tensor, *args, **kwargs)
            return real
        return self.moved(tensor, index, "to", dtype=dtype, **given)

    def cuda(self, tensor: T, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> T:
        """``x.cuda(..)``."""
        index = self._sim.index(device) if device is not None else self._sim.current
        if index is None and isinstance(device, (str, torch.device)):
            raise RuntimeError(f"Invalid device, must be cuda device: {device}")
        if index is None:
            refused: T = self._real["cuda"](tensor, device)
            return refused
        return self.moved(tensor, index, "cuda", non_blocking=non_blocking, memory_format=memory_format)

    def cpu(self, tensor: T, memory_format: Any = None) -> T:
        """``x.cpu()``."""
        return self.moved(tensor, None, "cpu", memory_format=memory_format)

    def copy_(self, tensor: T, other: Any, non_blocking: bool = False) -> T:
        """``x.copy_(y)``, within or across devices."""
        source = other
        there = device_of(source) if isinstance(source, torch.Tensor) else device_of(tensor)
        here = device_of(tensor)
        if here != there and isinstance(source, torch.Tensor):
            kind = "upload" if there is None else "download" if here is None else "peer"
            facts: dict[str, Any] = {"how": "copy_", "non_blocking": bool(non_blocking)}
            size = size_of(source)
            if kind == "upload":
                facts = facts_of_upload(source, "copy_", tensor.dtype, non_blocking=non_blocking)
                size = size_of(source, tensor.dtype)
            self._sim.recorder.add(kind, self._sim.sites.here(3), size, **facts)
        with self._sim.recorder.quiet():
            self._real["copy_"](tensor, source, non_blocking)
        place(tensor, here)
        return tensor

    def type_as(self, tensor: T, other: T) -> T:
        """``x.type_as(y)``: the dtype and the device of ``y``."""
        return self.moved(tensor, device_of(other), "type_as", dtype=other.dtype)

    def as_subclass(self, tensor: T, cls: Any) -> Any:
        """``x.as_subclass(cls)``, which torch 2.4 refuses under a dispatch mode."""
        with torch._C._DisableTorchDispatch():
            return self._real["as_subclass"](tensor, cls)

    def get_device(self, tensor: T) -> int:
        """``x.get_device()``."""
        return -1 if (index := device_of(tensor)) is None else index

    def record_stream(self, tensor: T, s: Any) -> None:
        """``x.record_stream(s)``: memory is not reused before it is freed here."""

    def is_pinned(self, tensor: T, *args: Any, **kwargs: Any) -> bool:
        """``x.is_pinned()``."""
        return is_pinned(tensor) or bool(self._real["is_pinned"](tensor, *args, **kwargs))

    def pin_memory(self, tensor: T, device: Any = None) -> T:
        """``x.pin_memory()``."""
        if device is not None:
            torch.device(device)  # raises an exception if it is none
        if device_of(tensor) is not None:
            raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
        label = label_of(tensor)
        if label is not None and label.pinned:
            return tensor
        with self._sim.recorder.quiet():
            made: T = self._real["clone"](tensor.detach())
        new = labeled(made)
        new.pinned = True
        if label is not None:
            new.born, new.loader, new.left = label.born, label.loader, label.left
        return made


class _Across(torch.autograd.Function):
    """A copy to another device for autograd: its gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, tensor: T, moves: Moves, index: int | None, options: dict[str, Any]) -> T:
        ctx.moves, ctx.back, ctx.dtype = moves, device_of(tensor), tensor.dtype
        return moves.placed_copy(tensor, index, options)

    @staticmethod
    def backward(ctx: Any, gradient: T) -> Any:
        return ctx.moves.moved(gradient, ctx.back, "backward", dtype=ctx.dtype), None, None, None


def _is_lazy(tensor: T) -> bool:
    return isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)

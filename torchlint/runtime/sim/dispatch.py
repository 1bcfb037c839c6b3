"""A dispatch mode that propagates labels from operands to results, and records synchronizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchlint.runtime.labels import LABEL, Label, device_of, label_of, labelled, place, storage_of

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_untyped_storage = torch._C.TensorBase.untyped_storage
_CPU = torch.device("cpu")
_PLAIN = frozenset((int, float, bool, str, type(None), torch.dtype))
_SPECIAL: dict[Any, bool] = {}
_ITEM = torch.ops.aten._local_scalar_dense.default
# Operations whose result the host needs, so that it waits for the device. Sources: ATen's CUDA kernels.
WAITS = {
    "aten::_local_scalar_dense": "read",
    "aten::is_nonzero": "read",
    "aten::equal": "equal",
    "aten::nonzero": "nonzero",
    "aten::masked_select": "masked_select",
    "aten::_unique": "unique",
    "aten::_unique2": "unique",
    "aten::unique_dim": "unique",
    "aten::unique_consecutive": "unique",
    "aten::repeat_interleave": "repeat_interleave",
    "aten::bincount": "bincount",
    "aten::linalg_inv_ex": "linalg",
    "aten::_linalg_svd": "linalg",
    "aten::linalg_eig": "linalg",
    "aten::_linalg_eigh": "linalg",
    "aten::linalg_lstsq": "linalg",
}
_INDEXED = ("aten::index", "aten::index_put_", "aten::_index_put_impl_")
_RESULTS_ON_HOST = {"aten::_pack_padded_sequence": (1,), "aten::_pad_packed_sequence": (1,)}
# Operations that accept operands on several devices.
_ACROSS = frozenset(
    "aten::copy_ aten::_to_copy aten::index aten::index_put aten::index_put_ aten::_index_put_impl_ "
    "aten::_pack_padded_sequence aten::_pad_packed_sequence aten::set_ aten::_copy_from aten::_foreach_copy_ "
    "aten::embedding_renorm_ aten::_unsafe_index aten::_unsafe_index_put aten::resize_ aten::resize_as_ "
    "aten::lift_fresh".split()
)


class Labels(TorchDispatchMode):
    """The dispatch mode that propagates labels."""

    def __init__(self, simulation: Machine) -> None:
        super().__init__()
        self._sim = simulation

    def __torch_dispatch__(  # noqa: C901 - calls would take a good part of the time
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation on the CPU, and label its results with the device on which they would be.

        Most operations take the short path below, which is optimized: it runs for every operation of the program.
        """
        special = _SPECIAL.get(func)
        if special is None:
            special = _SPECIAL[func] = _is_special(func._schema.name)
        if func is _ITEM:
            if device_of(args[0]) is not None:
                self._sim.sync("read")
            return func(*args)
        if special or (kwargs and kwargs.get("device") is not None):
            return self._general(func, args, kwargs or {})
        index: int | None = None
        host = False
        operands = [*args, *kwargs.values()] if kwargs else [*args]
        for value in operands:
            kind = type(value)
            if kind is _TENSOR or kind is _PARAMETER:
                try:
                    label = getattr(_untyped_storage(value), LABEL, None)
                except (RuntimeError, NotImplementedError):  # sparse, or a wrapper
                    label = label_of(value)
                if label is None:
                    continue
                if label.device is None:
                    host = host or label.host
                elif index is None:
                    index = label.device
                elif label.device != index:
                    raise _mixed(f"cuda:{index}", f"cuda:{label.device}")
            elif kind is list or kind is tuple:
                if value and type(value[0]) is not int:
                    operands += value  # looked at in this loop, too
            elif kind not in _PLAIN:
                return self._general(func, args, kwargs or {})
        if host and index is not None:
            self._operands("", args, kwargs or {})  # raises where CUDA would
        out = func(*args, **kwargs) if kwargs else func(*args)
        if index is not None:
            _place_all(out, index)
        elif host:
            _keep_on_host(out)
        return out

    def _general(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The long path: operations that name a device, synchronize, or accept operands on several devices."""
        asked = kwargs.get("device")
        target = self._sim.index(asked) if asked is not None else None
        if target is not None:
            kwargs = {**kwargs, "device": _CPU}
        name = func._schema.name
        index, host = self._operands(name, args, kwargs)
        out = func(*args, **kwargs)
        if target is not None:
            _place_all(out, target)
        elif index is not None:
            self._watch(func, name, args)
            if asked is None or name == "aten::_to_copy":
                self._spread(name, out, index)
        elif host:
            _keep_on_host(out)
        return out

    def _operands(self, name: str, args: Any, kwargs: Any) -> tuple[int | None, bool]:
        """The device of the operands, and whether some are on the host.

        Raises like CUDA if there are operands on two devices. Zero-dimensional host tensors go with every device.
        """
        found: int | None = None
        host = solid = False
        across = name in _ACROSS
        for tensor in _tensors((args, kwargs)):
            label = label_of(tensor)
            if label is None:
                continue
            if label.device is None:
                host = host or label.host
                solid = solid or (label.host and tensor.dim() > 0 and tensor.numel() > 0)
            elif found is None:
                found = label.device
            elif label.device != found and not across:
                raise _mixed(f"cuda:{found}", f"cuda:{label.device}")
        if solid and found is not None and not across and self._sim.recorder.listening:
            raise _mixed(f"cuda:{found}", "cpu")
        if across and found is not None:
            return _of_target(name, args, found), host
        return found, host

    def _watch(self, func: Any, name: str, args: Any) -> None:
        """Record a synchronization if the operation causes one."""
        why = WAITS.get(name)
        if name == "aten::repeat_interleave" and func._overloadname != "Tensor":
            why = None
        if why is None and name in _INDEXED:
            why = _masks(name, args)
        if why is not None:
            self._sim.sync(why)

    def _spread(self, name: str, out: Any, index: int) -> None:
        if name in _RESULTS_ON_HOST:
            results = out if isinstance(out, (tuple, list)) else (out,)
            for number, result in enumerate(results):
                if isinstance(result, torch.Tensor):
                    place(result, None if number in _RESULTS_ON_HOST[name] else index)
            return
        _place_all(out, index)


def _is_special(name: str) -> bool:
    """Whether the operation needs the long path."""
    return name in WAITS or name in _ACROSS or name in _RESULTS_ON_HOST or name in _INDEXED


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _tensors(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _tensors(member)


def _of_target(name: str, args: Any, found: int) -> int | None:
    """Label the result of an operation across devices like the first operand; unlabelled memory gets a label."""
    if name in ("aten::_to_copy", "aten::set_", "aten::lift_fresh"):
        return found
    first = next(_tensors(args), None)
    label = label_of(first) if first is not None else None
    return found if label is None or not label.host else label.device


def _keep_on_host(value: Any) -> None:
    for tensor in _tensors(value):
        label = labelled(tensor)
        label.host = label.device is None


def _place_all(value: Any, index: int) -> None:
    kind = type(value)
    if kind is _TENSOR or kind is _PARAMETER:
        try:
            storage = _untyped_storage(value)
        except (RuntimeError, NotImplementedError):  # sparse, or a wrapper
            storage = storage_of(value)
        if storage is None:
            return
        label = getattr(storage, LABEL, None)
        if label is None:
            label = Label()
            setattr(storage, LABEL, label)
        if label.device != index:
            label.device, label.host = index, False
        return
    if kind is list or kind is tuple:
        for member in value:
            _place_all(member, index)
    elif isinstance(value, torch.Tensor) and storage_of(value) is not None:
        place(value, index)


def _masks(name: str, args: Any) -> str | None:
    """A boolean mask must be counted first; ``x[mask] = number`` needs no count."""
    masks = [i for i in args[1] if i is not None and i.dtype in (torch.bool, torch.uint8)]
    if not masks:
        return None
    if name != "aten::index" and args[2].numel() == 1:
        return None
    return "mask"


def _mixed(one: str, other: str) -> RuntimeError:
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    )

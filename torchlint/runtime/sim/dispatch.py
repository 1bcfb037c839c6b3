"""A dispatch mode that propagates labels from operands to results, and records copies and synchronizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchlint.runtime.labels import LABEL, device_of, label_of, place, plain, storage_of
from torchlint.runtime.sim import events, kinds, operands
from torchlint.runtime.sim.operands import CPU, mixed

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_untyped_storage = torch._C.TensorBase.untyped_storage
_PLAIN = frozenset((int, float, bool, str, type(None), torch.dtype))
_HOST = plain(None)
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
_KINDS: dict[Any, int] = {}


class Labels(TorchDispatchMode):
    """The dispatch mode that propagates labels."""

    simulates = True
    supports_higher_order_operators = True

    def __init__(self, simulation: Machine) -> None:
        super().__init__()
        self._sim = simulation

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Dynamo does not trace under a mode anyway, and the wrapper that this would install costs time."""
        return False

    def __torch_dispatch__(  # noqa: C901 - calls would take a good part of the time
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation on the CPU, and label its results with the device on which they would be.

        Most operations take a short path, which is optimized: this runs for every operation of the program.
        """
        if types and any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return self._wrapped(func, types, args, kwargs or {})
        kind = _KINDS.get(func)
        if kind is None:
            kind = _KINDS[func] = kinds.kind_of(func)
        if kind is kinds.ALIAS:
            return func(*args, **kwargs) if kwargs else func(*args)
        if kind is kinds.READ:
            if device_of(args[0]) is not None:
                self._sim.sync("read")
            return func(*args)
        if kind > kinds.SPECIAL:
            return self._deeper(kind, func, args, kwargs or {})
        if kind is kinds.SPECIAL or (kwargs and kwargs.get("device") is not None):
            return self._general(func, args, kwargs or {})
        index: int | None = None
        host = bare = False
        values = [*args, *kwargs.values()] if kwargs else [*args]
        for value in values:
            sort = type(value)
            if sort is _TENSOR or sort is _PARAMETER:
                try:
                    label = getattr(_untyped_storage(value), LABEL, None)
                except (RuntimeError, NotImplementedError):  # sparse, or a wrapper
                    label = label_of(value)
                if label is None:
                    bare = True
                elif label.device is None:
                    host = host or label.host
                elif index is None:
                    index = label.device
                elif label.device != index:
                    raise mixed(f"cuda:{index}", f"cuda:{label.device}")
            elif sort is list or sort is tuple:
                if value and type(value[0]) is not int:
                    values += value  # looked at in this loop, too
            elif sort not in _PLAIN:
                return self._general(func, args, kwargs or {})
        if host and index is not None:
            operands.found_in(self._sim, func._schema.name, args, kwargs or {})  # raises where CUDA would
        out = func(*args, **kwargs) if kwargs else func(*args)
        if kind is kinds.WRITE and not bare:
            return out
        if index is not None:
            _place_all(out, index)
        elif host:
            _keep_on_host(out)
        return out

    def _wrapped(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Operations of tensors that consist of others: their classes say what is done to those, in Python."""
        self._sim.watchful = True
        with self:
            for kind in types:
                if not hasattr(kind, "__tensor_flatten__"):
                    continue
                out = kind.__torch_dispatch__(func, types, args, kwargs)
                if out is not NotImplemented:
                    return out
        return NotImplemented

    def _deeper(self, kind: int, func: Any, args: Any, kwargs: Any) -> Any:
        """Operations whose parts are looked at, or that run functions."""
        if kind is kinds.COMPOSED:
            with self:
                return func.decompose(*args, **kwargs)
        index, _ = operands.found_in(self._sim, "", args, kwargs)
        if kind is kinds.FOREIGN and index is not None:
            with self:
                out = func.redispatch(_CUDA, *args, **kwargs)
        else:
            out = func(*args, **kwargs)
        if index is not None:
            _place_all(out, index)
        return out

    def _general(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The long path: operations that name a device, synchronize, copy, draw, or accept several devices."""
        asked = kwargs.get("device")
        target = self._sim.index(asked) if asked is not None else None
        if target is not None:
            kwargs = {**kwargs, "device": CPU}
        name = func._schema.name
        index, host = operands.found_in(self._sim, name, args, kwargs)
        if "generator" in kwargs:
            there = index if target is None else target
            operands.check_generator(self._sim, kwargs["generator"], there, asked)
        if index is not None or name in events.ACROSS:
            events.record(self._sim, func, name, args, kwargs)
        to_host = index is not None and name == "aten::_to_copy" and asked is not None and self._sim.to_host
        if name == "aten::_to_copy" and (to_host or (target is not None and index is None)):
            self._note_copy(args[0], to_host=to_host, non_blocking=bool(kwargs.get("non_blocking")))
        with self._sim.random.drawing(index if target is None else target):
            out = func(*args, **kwargs)
        if target is not None:
            _place_all(out, target)
        elif asked is not None and asked.type != "cpu":
            return out
        elif to_host:
            place(out, None)
        elif index is not None:
            if asked is None or name == "aten::_to_copy":
                self._spread(name, out, index)
        elif host:
            _keep_on_host(out)
        return out

    def _note_copy(self, tensor: torch.Tensor, *, to_host: bool, non_blocking: bool) -> None:
        """A copy that no method asks for: of a part of a tensor, or by C++."""
        note = self._sim.moves.note_down if to_host else self._sim.moves.note_up
        note(tensor, "to", non_blocking=non_blocking)

    def _spread(self, name: str, out: Any, index: int) -> None:
        if name in operands.RESULTS_ON_HOST:
            results = out if isinstance(out, (tuple, list)) else (out,)
            for number, result in enumerate(results):
                if isinstance(result, torch.Tensor):
                    place(result, None if number in operands.RESULTS_ON_HOST[name] else index)
            return
        _place_all(out, index)


def _keep_on_host(value: Any) -> None:
    for tensor in operands.tensors(value):
        storage = storage_of(tensor)
        label = getattr(storage, LABEL, None)
        if label is None:
            if storage is not None:
                setattr(storage, LABEL, _HOST)
        elif label.device is None and not label.host:
            label.host = True


def _place_all(value: Any, index: int) -> None:
    sort = type(value)
    if sort is _TENSOR or sort is _PARAMETER:
        try:
            storage = _untyped_storage(value)
        except (RuntimeError, NotImplementedError):  # sparse, or a wrapper
            storage = storage_of(value)
        if storage is None:
            return
        label = getattr(storage, LABEL, None)
        if label is None:
            setattr(storage, LABEL, plain(index))
        elif label.device != index:
            place(value, index)
        return
    if sort is list or sort is tuple:
        for member in value:
            _place_all(member, index)
    elif isinstance(value, torch.Tensor) and storage_of(value) is not None:
        place(value, index)

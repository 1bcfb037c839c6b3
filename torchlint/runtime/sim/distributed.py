"""Several processes and several devices: process groups, which use gloo, and ``DataParallel``."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

import torch

from torchlint.runtime.labels import device_of, label_of
from torchlint.runtime.sim.operands import tensors

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

# The tensors that they take, by position and name.
_COLLECTIVES = {
    "all_reduce": ("tensor",),
    "broadcast": ("tensor",),
    "reduce": ("tensor",),
    "all_gather": ("tensor_list", "tensor"),
    "all_gather_into_tensor": ("output_tensor", "input_tensor"),
    "reduce_scatter": ("output", "input_list"),
    "reduce_scatter_tensor": ("output", "input"),
    "all_to_all": ("output_tensor_list", "input_tensor_list"),
    "all_to_all_single": ("output", "input"),
    "gather": ("tensor", "gather_list"),
    "scatter": ("tensor", "scatter_list"),
    "send": ("tensor",),
    "recv": ("tensor",),
    "isend": ("tensor",),
    "irecv": ("tensor",),
}


def install(simulation: Machine) -> None:
    """Replace process groups and ``DataParallel``."""
    _groups(simulation)
    _parallel(simulation)


def _groups(simulation: Machine) -> None:
    import torch.distributed as dist

    if not dist.is_available():
        return
    begin, new, backend_of = dist.init_process_group, dist.new_group, dist.get_backend
    asked: list[str] = []

    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device_id", None)
        asked[:] = [str(backend or "nccl").lower()]  # such as cpu:gloo,cuda:nccl, which takes tensors of both
        made = begin("gloo", *args, **kwargs)
        _kept_for_good(dist.group.WORLD)
        return made

    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = new(ranks, timeout, "gloo" if backend == "nccl" else backend, *args, **kwargs)
        _kept_for_good(made)
        return made

    def get_backend(group: Any = None) -> str:
        return asked[0] if group is None and asked and dist.is_initialized() else str(backend_of(group))

    for owner in (dist, dist.distributed_c10d):
        simulation.patches.set_all(
            owner, init_process_group=init_process_group, new_group=new_group, get_backend=get_backend
        )
    simulation.patches.set(dist, "is_nccl_available", lambda: True)
    _collectives(simulation, asked)


def _collectives(simulation: Machine, asked: list[str]) -> None:
    """nccl refuses tensors of the host, and sends objects through the device."""
    import torch.distributed as dist

    def checked(real: Any, names: tuple[str, ...]) -> Any:
        @functools.wraps(real)
        def collective(*args: Any, **kwargs: Any) -> Any:
            if asked == ["nccl"] and kwargs.get("group") is None:
                values = [*args[: len(names)], *(kwargs[name] for name in names if name in kwargs)]
                if any(_on_host(tensor) for tensor in tensors(values)):
                    raise RuntimeError("No backend type associated with device type cpu")
            return real(*args, **kwargs)

        return collective

    for name, names in _COLLECTIVES.items():
        real = getattr(dist, name, None)
        if real is not None:
            wrapped = checked(real, names)
            for owner in (dist, dist.distributed_c10d):
                simulation.patches.set(owner, name, wrapped)
    named = "_get_object_coll_device"
    if not hasattr(dist.distributed_c10d, named):  # its name before torch 2.6
        named = "_get_pg_default_device"
    place_of = getattr(dist.distributed_c10d, named)

    def device_of_objects(group: Any = None) -> Any:
        return torch.device("cuda", simulation.current) if asked == ["nccl"] and group is None else place_of(group)

    simulation.patches.set(dist.distributed_c10d, named, device_of_objects)


def _on_host(tensor: Any) -> bool:
    label = label_of(tensor)
    return label is not None and label.host and label.device is None


def _kept_for_good(group: Any) -> None:
    """Never destroy a process group: that waits for gloo's threads while holding the GIL.

    These threads need the GIL to free tensors that Python has seen, which are all tensors under a dispatch mode.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def _parallel(simulation: Machine) -> None:
    """``DataParallel`` on one device calls its module."""

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*_moved(inputs), **_moved(kwargs))

    def data_parallel(
        module: Any,
        inputs: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        module_kwargs: Any = None,
    ) -> Any:
        """As a function, with the same arguments as torch's."""
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        return module(*_moved(given), **_moved(module_kwargs or {}))

    simulation.patches.set(torch.nn.DataParallel, "forward", forward)
    simulation.patches.set(torch.nn.parallel, "data_parallel", data_parallel)


def _moved(value: Any) -> Any:
    """What ``scatter`` makes of arguments: copies that the host does not wait for."""
    if isinstance(value, torch.Tensor):
        return value if device_of(value) is not None else value.to("cuda", non_blocking=True)
    if isinstance(value, dict):
        return type(value)((name, _moved(member)) for name, member in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_moved, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_moved, value))
    return value

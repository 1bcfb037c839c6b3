"""Probes of devices: creating and moving tensors, streams, several devices, aliasing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


def _made(*makers: Callable[[str], torch.Tensor]) -> Callable[[str], Any]:
    def probe(device: str) -> Any:
        tensors = [maker(device) for maker in makers]
        return [tensor.device.type == device for tensor in tensors], [float(tensor.sum()) for tensor in tensors]

    return probe


def _context(device: str) -> Any:
    with torch.device(device):
        made, layer, data = torch.ones(3), nn.Linear(3, 2), torch.tensor([1.0, 2.0])
    kinds = [x.device.type == device for x in (made, layer.weight, data)]
    return kinds, torch.ones(1).device.type


def _default(device: str) -> Any:
    torch.set_default_device(device)
    try:
        made = torch.ones(3)
        return made.device.type == device, float(made.sum())
    finally:
        torch.set_default_device(None)


def _moved(device: str) -> Any:
    x = torch.arange(6.0)
    y = x.to(device)
    forms = [
        y.to(torch.float64),
        x.to(device, torch.float16),
        x.to(device=device, dtype=torch.int32),
        x.to(torch.full((1,), 9).to(device)),
        x.type_as(torch.full((1,), 9.0).double().to(device)),
        x.to(torch.device(device), non_blocking=True),
        x.to(device, copy=True),
        x.double().to(device).half(),
    ]
    return [f.device.type == device for f in forms], [str(f.dtype) for f in forms], [float(f.sum()) for f in forms]


def _same(device: str) -> Any:
    """Moving a tensor to its own device returns the tensor itself."""
    x = torch.ones(2).to(device)
    return x.to(device) is x, x.to(x.device) is x, x.to(x.dtype) is x, x.to(device, copy=True) is x


def _apart(device: str) -> Any:
    """Copies share no memory; views do."""
    x = torch.zeros(4).to(device)
    x[:2].add_(1)
    host = x.cpu().clone()
    host.add_(5)
    return x.tolist(), x.view(2, 2).is_contiguous(), x.reshape(2, 2).data_ptr() == x.data_ptr()


def _strides(device: str) -> Any:
    x = torch.arange(6.0).reshape(2, 3).t().to(device)
    channels = torch.zeros(1, 2, 3, 3).to(device, memory_format=torch.channels_last)
    return x.stride(), channels.stride(), torch.zeros(2, 3).expand(4, 2, 3).to(device).sum().item()


def _attributes(device: str) -> Any:
    x = torch.ones(2, requires_grad=True).to(device)
    index = 0 if device == "cuda" else -1
    return x.is_cuda == (device == "cuda"), x.is_cpu == (device == "cpu"), x.requires_grad, x.get_device() == index


def _derived(device: str) -> Any:
    x = torch.ones(2, 3).to(device)
    made = [
        x.new_zeros(2),
        x.new_ones(1),
        x.new_tensor([1.0]),
        x.new_full((2,), 3.0),
        x.new_empty(1).fill_(2),
        torch.zeros_like(x),
        torch.rand_like(x).mul(0),
        torch.empty_like(x).zero_(),
        x.detach(),
        x.data,
        x.clone(),
        x[0],
        x.T,
        x + float(x.numpy(force=True).sum()),
    ]
    return [t.device.type == device for t in made], [float(t.sum()) for t in made]


def _host_like(device: str) -> Any:
    x = torch.ones(2).to(device)
    made = [torch.zeros_like(x, device="cpu"), x.new_zeros(2, device="cpu"), x.cpu(), x.to("cpu")]
    return [t.device.type for t in made]


def _round_trip(device: str) -> Any:
    x = torch.arange(3.0).to(device)
    array = x.detach().cpu().numpy() * 2
    back = torch.from_numpy(array).to(device)
    return back.device.type == device, back.tolist()


def _several(device: str) -> Any:
    """Two devices; on the CPU the same program with one."""
    first, second = ("cuda:0", "cuda:1") if device == "cuda" else ("cpu", "cpu")
    x = torch.ones(2, device=first)
    y = x.to(second)
    return str(y.device) == second, float((y + 1).sum()), float((x + y.to(first)).sum())


def _chosen(device: str) -> Any:
    if device == "cpu":
        return True, True
    with torch.cuda.device(1):
        made = torch.ones(1).cuda()
    torch.cuda.set_device(1)
    other = torch.zeros(1, device="cuda")
    torch.cuda.set_device(0)
    return made.device.index == 1, other.device.index == 1


def _streams(device: str) -> float:
    if device == "cpu":
        return 4.0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.ones(4).cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    x.record_stream(torch.cuda.current_stream())
    stream.synchronize()
    return float(x.sum())


def _events(device: str) -> bool:
    if device == "cpu":
        return True
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    torch.cuda.synchronize()
    return bool(start.elapsed_time(end) >= 0)


def _asked(device: str) -> Any:
    if device == "cpu":
        return (True,) * 6
    return (
        torch.cuda.is_available(),
        torch.cuda.device_count() > 0,
        isinstance(torch.cuda.get_device_name(), str),
        torch.cuda.get_device_capability() >= (7, 0),
        torch.cuda.memory_allocated() >= 0,
        torch.cuda.get_device_properties(0).total_memory > 0,
    )


def _accelerator(device: str) -> bool:
    if not hasattr(torch, "accelerator") or device == "cpu":
        return True
    current = torch.accelerator.current_accelerator()
    return current is not None and current.type == device and torch.accelerator.is_available()


def _generator(device: str) -> Any:
    generator = torch.Generator(device=device).manual_seed(1)
    made = torch.rand(3, generator=generator, device=device)
    return generator.device.type == device, made.device.type == device, float(made.sum())


def _thread(device: str) -> Any:
    x, seen = torch.ones(2).to(device), []

    def work() -> None:
        y = x * 2
        seen.append((y.device.type == device, float(y.sum())))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return seen


def _legacy(device: str) -> Any:
    if device == "cpu":
        return 2.0, True
    x = torch.cuda.FloatTensor([1, 1])
    return float(x.sum()), x.type() == "torch.cuda.FloatTensor"


def _profiled(device: str) -> bool:
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities):
        torch.ones(3, device=device).sum()
    return True


def _parallel(device: str) -> float:
    model: Any = nn.Linear(3, 2).to(device)
    if device == "cuda":
        model = nn.DataParallel(model)
    return float(model(torch.ones(2, 3).to(device)).sum())


def _default_type(device: str) -> tuple[bool, str]:
    if device == "cpu":
        return True, "torch.float32"
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        made = torch.ones(2)
        return made.device.type == "cuda", str(made.dtype)
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")


PROBES: dict[str, Callable[[str], Any]] = {
    "default_type": _default_type,
    "factories": _made(
        lambda d: torch.tensor([1.0, 2.0], device=d),
        lambda d: torch.zeros(2, device=d),
        lambda d: torch.full((2,), 3.0, device=d),
        lambda d: torch.arange(3, device=d),
        lambda d: torch.eye(2, device=d),
        lambda d: torch.linspace(0, 1, 3, device=d),
        lambda d: torch.randn(3, device=d),
        lambda d: torch.randperm(3, device=torch.device(d)),
        lambda d: torch.scalar_tensor(2.0, device=d),
        lambda d: torch.tril_indices(2, 2, device=d),
        lambda d: torch.normal(0.0, 1.0, (2,), device=d),
    ),
    "from_arrays": _made(
        lambda d: torch.as_tensor(np.ones(3, dtype="f4"), device=d),
        lambda d: torch.tensor(np.ones(3), device=d),
        lambda d: torch.asarray(np.ones(2), device=d),
        lambda d: torch.from_numpy(np.ones(2)).to(d),
    ),
    "context": _context,
    "default_device": _default,
    "moves": _moved,
    "moves_to_itself": _same,
    "memory_apart": _apart,
    "strides": _strides,
    "attributes": _attributes,
    "derived": _derived,
    "made_on_host": _host_like,
    "round_trip": _round_trip,
    "several_devices": _several,
    "current_device": _chosen,
    "streams": _streams,
    "events": _events,
    "queries": _asked,
    "accelerator": _accelerator,
    "generator": _generator,
    "threads": _thread,
    "legacy_types": _legacy,
    "profiler": _profiled,
    "data_parallel": _parallel,
    "isinstance": lambda device: isinstance(torch.ones(1).to(device), torch.Tensor),
    "module_cuda": lambda device: float((nn.Linear(2, 2).cuda() if device == "cuda" else nn.Linear(2, 2)).bias.sum()),
    "pin_memory": lambda device: torch.ones(2).pin_memory().is_pinned() if device == "cuda" else True,
    "copy_in": lambda device: torch.zeros(3, device=device).copy_(torch.arange(3.0)).tolist(),
    "fill": lambda device: torch.empty(2, device=device).fill_(3).tolist(),
    "repr": lambda device: repr(torch.ones(2).to(device)).replace(", device='cuda:0'", ""),
}

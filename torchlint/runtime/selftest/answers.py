"""Probes of answers: what ``torch.cuda``, streams, storages and tensors say on a machine with a GPU."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torchlint.runtime.selftest.running import gives, there


def _properties() -> bool:
    known = torch.cuda.get_device_properties(device="cuda")
    names = "name major total_memory multi_processor_count warp_size max_threads_per_multi_processor"
    return all(getattr(known, name) for name in names.split())


def _device_asked() -> bool:
    """Every function that takes a device takes it by its name."""
    names = (
        "get_device_name get_device_capability get_device_properties mem_get_info memory_allocated "
        "max_memory_allocated "
        "memory_reserved memory_stats memory_summary reset_peak_memory_stats synchronize get_rng_state current_stream "
        "default_stream set_device list_gpu_processes utilization"
    )
    for name in names.split():
        getattr(torch.cuda, name)(device="cuda:0")
    return True


def _contexts() -> list[int]:
    seen = []
    for device in (0, "cuda:1", torch.device("cuda", 1), -1, None):
        with torch.cuda.device(device):
            seen.append(torch.cuda.current_device())
    return seen


def _current_stream() -> list[bool]:
    stream, before = torch.cuda.Stream(priority=-1), torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        inside = torch.cuda.current_stream() == stream
    torch.cuda.set_stream(stream)
    chosen = torch.cuda.current_stream(device=0) == stream
    torch.cuda.set_stream(before)
    with torch.cuda.StreamContext(stream):
        again = torch.cuda.current_stream() == stream
    different = before != stream and before.cuda_stream != stream.cuda_stream
    return [inside, chosen, again, different, torch.cuda.current_stream() == before, stream.priority == -1]


def _stream_keywords() -> list[Any]:
    stream, event = torch.cuda.Stream(device="cuda", priority=0), torch.cuda.Event(enable_timing=True, blocking=True)
    event.record(stream=stream)
    stream.wait_event(event=event)
    stream.wait_stream(stream=torch.cuda.default_stream())
    event.wait(stream=stream)
    made = stream.record_event(event=None)
    there(2).record_stream(stream)
    return [event.elapsed_time(end_event=event) >= 0, made.query(), len({stream: 1, torch.cuda.Stream(): 2})]


def _stream_types() -> list[bool]:
    stream, event = torch.Stream(device="cuda"), torch.Event(device="cuda")
    event.record()
    own = isinstance(torch.cuda.Stream(), torch.Stream) and isinstance(torch.cuda.Event(), torch.Event)
    return [own, stream.device.type == "cuda", event.query()]


def _tools() -> bool:
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.mark("here")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("step"), torch.autograd.profiler.emit_nvtx():
        there(2).sum()
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()
    torch.cuda.cudart().cudaProfilerStart()
    torch.backends.cuda.cufft_plan_cache.clear()
    return True


def _memory() -> list[bool]:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.ipc_collect()
    torch.cuda.set_per_process_memory_fraction(0.5, 0)
    torch.cuda.memory._record_memory_history(max_entries=10)
    torch.cuda.memory._record_memory_history(enabled=None)
    free, total = torch.cuda.mem_get_info()
    numbers = torch.cuda.memory_stats()["allocated_bytes.all.current"]
    return [0 <= free <= total, isinstance(numbers, int), isinstance(torch.cuda.memory_snapshot(), list)]


def _debugging() -> int:
    torch.cuda.set_sync_debug_mode("error")
    try:
        there(1).item()
    except RuntimeError:
        return torch.cuda.get_sync_debug_mode()
    finally:
        torch.cuda.set_sync_debug_mode(0)
    return 0


def _storage() -> list[Any]:
    x = there(2)
    storage = x.untyped_storage()
    copied = copy.deepcopy(storage)
    return [storage.device.type, storage.is_cuda, x.is_shared(), copied.device.type, storage.cpu().device.type]


def _types() -> list[bool]:
    x, host = there(2), torch.ones(2)
    return [
        isinstance(x, torch.cuda.FloatTensor),
        not isinstance(host, torch.cuda.FloatTensor),
        isinstance(host, torch.FloatTensor),
        not isinstance(x, torch.FloatTensor),
        not isinstance(x, torch.cuda.LongTensor),
        torch.cuda.LongTensor([1, 2]).type() == "torch.cuda.LongTensor",
        torch.FloatTensor([1.0]).device.type == "cpu",
        torch.Tensor([1.0]).device.type == "cpu",
    ]


def _placed(made: Callable[[Any], Any]) -> Callable[[], str]:
    return lambda: str(made(there(4)).device)


def _pinned(made: Callable[[], Any]) -> Callable[[], bool]:
    return lambda: bool(made().is_pinned())


def _file(x: Any) -> Any:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def _subclass(x: Any) -> Any:
    class Named(torch.Tensor):
        """A subclass of a program."""

    return torch.ones(4).as_subclass(Named).cuda() + x.as_subclass(Named)


def _assigned(x: Any) -> Any:
    parameter = nn.Parameter(torch.ones(4))
    parameter.data = x
    return parameter


def _linear(x: Any) -> Any:
    return nn.Linear(4, 2).cuda()(x)


def _gradient(x: Any) -> Any:
    (x.requires_grad_() * 2).sum().backward()
    return x.grad


_ON_DEVICE: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "file": _file,
    "dlpack": lambda x: torch.from_dlpack(ext_tensor=x),
    "subclass": _subclass,
    "parameter_data": _assigned,
    "gradient": _gradient,
    "gradient_of": lambda x: torch.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0],
    "set": lambda x: torch.empty(0, device="cuda").set_(x),
    "resized": lambda x: torch.empty(0, device="cuda").resize_(5),
    "out": lambda x: torch.add(x, x, out=torch.empty(0, device="cuda")),
    "view": lambda x: x.detach().view(2, 2).t().contiguous().reshape(-1),
    "new": lambda x: x.new(2, 2),
    "new_of_size": lambda x: x.new(torch.Size((2, 2))),
    "type_as": lambda x: torch.zeros(2).type_as(x),
    "emptied": lambda x: nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight,
    "index": lambda x: torch.zeros(2, device=0),
    "host_number": lambda x: torch.tensor(1.0) + x,
    "inference": torch.inference_mode()(_linear),
}
_PINNED: dict[str, Callable[[], Any]] = {
    "empty": lambda: torch.empty(3, pin_memory=True),
    "zeros": lambda: torch.zeros(3, pin_memory=True),
    "tensor": lambda: torch.tensor([1.0], pin_memory=True),
    "empty_like": lambda: torch.empty_like(torch.ones(3), pin_memory=True),
    "view": lambda: torch.ones(4).pin_memory()[1:3],
    "device": lambda: torch.ones(4).pin_memory("cuda"),
}

PROBES: dict[str, Callable[[str], Any]] = {
    "properties": gives(True, _properties),
    "device_keyword": gives(True, _device_asked),
    "contexts": gives([0, 1, 1, 0, 0], _contexts),
    "current_stream": gives([True] * 6, _current_stream),
    "stream_keywords": gives([True, True, 2], _stream_keywords),
    "stream_types": gives([True] * 3, _stream_types),
    "tools": gives(True, _tools),
    "memory": gives([True] * 3, _memory),
    "sync_debug_mode": gives(2, _debugging),
    "storage": gives(["cuda", True, True, "cuda", "cpu"], _storage),
    "types": gives([True] * 8, _types),
    "cuda_version": gives(True, lambda: isinstance(torch.version.cuda, str)),
    "cudnn": gives(True, lambda: torch.backends.cudnn.is_available() and torch.backends.cudnn.version() > 0),
    "built": gives(True, lambda: torch.backends.cuda.is_built() is True),
    "architectures": gives(True, lambda: len(torch.cuda.get_arch_list()) > 0),
    "bfloat16": gives(True, lambda: torch.cuda.is_bf16_supported(including_emulation=False)),
    "nccl": gives(True, lambda: isinstance(torch.cuda.nccl.version(), tuple)),
    "lazy_call": gives([1], lambda: (seen := [], torch.cuda._lazy_call(lambda: seen.append(1)))[0]),
    "device_module": gives(True, lambda: torch.get_device_module() is torch.cuda),
    "same_device": gives(True, lambda: there(2).device == torch.device("cuda:0") != torch.device("cuda")),
    "meta": gives("meta", _placed(lambda x: x.to("meta"))),
    "dlpack_device": gives(2, lambda: int(there(2).__dlpack_device__()[0])),
    "array_interface": gives(True, lambda: hasattr(there(2), "__cuda_array_interface__")),
    **{f"on_device_{name}": gives("cuda:0", _placed(made)) for name, made in _ON_DEVICE.items()},
    **{f"pinned_{name}": gives(True, _pinned(made)) for name, made in _PINNED.items()},
}

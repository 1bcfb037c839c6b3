"""``torch.cuda`` and ``torch.accelerator`` as on a machine with GPUs."""

from __future__ import annotations

import sys
import uuid
import warnings
from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
import torch.cuda.profiler

from torchlint.runtime.sim.streams import Streams
from torchlint.runtime.sim.subset import refuse

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

NAME = "torchlint simulated GPU"
_MEMORY = 16 << 30
_ZERO = (
    "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
    "utilization temperature memory_usage device_memory_used power_draw clock_rate"
)
_NOTHING = (
    "empty_cache empty_host_cache reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached "
    "reset_accumulated_memory_stats reset_peak_host_memory_stats reset_accumulated_host_memory_stats ipc_collect init "
    "_lazy_init set_per_process_memory_fraction check_error _record_memory_history _set_memory_metadata"
)
_COUNTERS = "memory_stats host_memory_stats"
_NESTED = "memory_stats_as_nested_dict host_memory_stats_as_nested_dict"
_BINDINGS = ("_cuda_getDevice", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice")
_DEBUG = {"default": 0, "warn": 1, "error": 2}
_PROPERTIES = {
    "name": NAME,
    "major": 8,
    "minor": 0,
    "total_memory": _MEMORY,
    "multi_processor_count": 80,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "regs_per_multiprocessor": 65536,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 166912,
    "shared_memory_per_multiprocessor": 167936,
    "L2_cache_size": 40 << 20,
    "warp_size": 32,
    "clock_rate": 1410000,
    "memory_clock_rate": 1215000,
    "memory_bus_width": 5120,
    "pci_bus_id": 0,
    "pci_device_id": 0,
    "pci_domain_id": 0,
    "is_integrated": False,
    "is_multi_gpu_board": False,
    "gcnArchName": "",
}


def install(simulation: Machine) -> None:
    """Replace the functions with which programs query CUDA."""
    streams = Streams(simulation)
    answers = {**_queries(simulation), **_memory(), **streams.functions()}
    contexts: dict[str, Any] = {"device": _context(simulation), "device_of": _context(simulation), **streams.classes()}
    for module in _modules("torch.cuda"):
        for name, value in {**answers, **contexts}.items():
            if name in vars(module):
                simulation.patches.set(module, name, value)
    _builds(simulation)
    _tools(simulation)
    _accelerator(simulation, answers, streams)
    known = {*answers, *contexts, *_ELSEWHERE}
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.nccl):
        refuse(simulation, module, [name for name in module.__all__ if name not in known])


# Replaced by other modules of the simulation, or right as they are.
_ELSEWHERE = frozenset(
    "version amp memory nccl nvtx profiler random sparse streams tunable graphs has_half has_magma cudaStatus "
    "CudaError DeferredCudaCallError CUDAGraph graph make_graphed_callables default_generators get_rng_state "
    "get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all initial_seed".split()
) | {name for name in torch.cuda.__all__ if name.endswith(("Storage", "Tensor"))}


def _modules(package: str) -> list[Any]:
    """A package and its modules: they import functions from each other by name."""
    return [module for name, module in sorted(sys.modules.items()) if name == package or name.startswith(f"{package}.")]


def answering(value: Any) -> Any:
    """A function with any arguments that returns a value. A new one each time: Dynamo refuses one with two names."""
    return lambda *_, **__: value


def _queries(simulation: Machine) -> dict[str, Any]:
    known = SimpleNamespace(**_PROPERTIES, uuid=uuid.UUID(int=0))

    def properties(device: Any = None) -> Any:
        simulation.index(device)
        return known

    def set_device(device: Any) -> None:
        _use(simulation, device)

    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: simulation.devices,
        "current_device": lambda: simulation.current,
        "set_device": set_device,
        "get_device_name": lambda device=None: properties(device).name,
        "get_device_capability": lambda device=None: (properties(device).major, properties(device).minor),
        "get_device_properties": properties,
        "get_arch_list": lambda: ["sm_80"],
        "get_gencode_flags": lambda: "-gencode compute=compute_80,code=sm_80",
        "is_bf16_supported": answering(True),
        "is_tf32_supported": answering(True),
        "is_current_stream_capturing": answering(False),
        "can_device_access_peer": answering(False),
        "current_blas_handle": answering(1),
        "current_solver_handle": answering(1),
        "get_sync_debug_mode": lambda: simulation.debug,
        "set_sync_debug_mode": lambda debug_mode: _debug(simulation, debug_mode),
        "list_gpu_processes": lambda device=None: "no processes are running on a simulated device",
        "synchronize": _waiting(simulation),
        "cudart": lambda: _RUNTIME,
    }


def _memory() -> dict[str, Any]:
    """What programs ask about memory: the simulation knows nothing of it."""
    counters: dict[str, Any] = {name: lambda device=None: defaultdict(int) for name in _COUNTERS.split()}
    return {
        **{name: answering(0) for name in _ZERO.split()},
        **{name: answering(None) for name in _NOTHING.split()},
        **counters,
        **{name: lambda device=None: {} for name in _NESTED.split()},
        "mem_get_info": answering((_MEMORY, _MEMORY)),
        "memory_summary": answering("nothing is known of the memory of a simulated device"),
        "memory_snapshot": lambda *_, **__: [],
        "_snapshot": lambda *_, **__: {"segments": [], "device_traces": []},
        "get_per_process_memory_fraction": answering(1.0),
        "get_allocator_backend": answering("native"),
    }


def _builds(simulation: Machine) -> None:
    """What a build of torch with CUDA says of itself."""
    patches = simulation.patches
    for name in _BINDINGS:
        if not hasattr(torch._C, name):
            patches.set(torch._C, name, answering(0))
    if torch.version.cuda is None:
        patches.set(torch.version, "cuda", "12.6")
    patches.set_all(torch.backends.cudnn, is_available=answering(True), version=answering(90501))
    patches.set(torch.backends.cuda, "is_built", answering(True))
    plans = torch.backends.cuda.cuFFTPlanCache
    for name, value in (("size", 0), ("max_size", 4096)):
        patches.set(plans, name, property(answering(value), answering(None)))
    patches.set(plans, "clear", answering(None))
    patches.set_all(torch.cuda.nccl, version=answering((2, 21, 5)), is_available=answering(True))
    real = torch.get_device_module
    patches.set(torch, "get_device_module", lambda device=None: torch.cuda if device is None else real(device))


_RUNTIME = SimpleNamespace(
    cudaProfilerStart=answering(0),
    cudaProfilerStop=answering(0),
    cudaHostRegister=answering(0),
    cudaHostUnregister=answering(0),
    cudaMemGetInfo=answering((_MEMORY, _MEMORY)),
    cudaGetErrorString=answering("no error"),
    cudaError=SimpleNamespace(success=0),
)


def _tools(simulation: Machine) -> None:
    """NVIDIA's profilers are told nothing."""
    names = "rangePushA rangePop rangeStartA rangeEnd markA deviceRangeStart deviceRangeEnd"
    stub = SimpleNamespace(**{name: answering(0) for name in names.split()})
    simulation.patches.set(torch.cuda.nvtx, "_nvtx", stub)
    emit = torch.autograd.profiler.emit_nvtx

    def enter(self: Any) -> Any:
        if self.enabled:
            simulation.sync("synchronize")
        return self

    simulation.patches.set_all(emit, __enter__=enter, __exit__=answering(False))


def _waiting(simulation: Machine) -> Any:
    def synchronize(device: Any = None) -> None:
        simulation.index(device)
        simulation.sync("synchronize")

    return synchronize


def _debug(simulation: Machine, mode: Any) -> None:
    warnings.warn("Synchronization debug mode is a prototype feature", stacklevel=3)
    simulation.debug = _DEBUG.get(mode, 0) if isinstance(mode, str) else int(mode)


def _accelerator(simulation: Machine, answers: dict[str, Any], streams: Streams) -> None:
    if not hasattr(torch, "accelerator"):
        return
    more = {
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": answers["current_device"],
        "current_device_idx": answers["current_device"],
        "set_device_index": lambda device: _use(simulation, device),
        "set_device_idx": lambda device: _use(simulation, device),
        "device_index": _context(simulation),
        "get_memory_info": answers["mem_get_info"],
        "get_device_capability": lambda device=None: {"supported_dtypes": {torch.float32, torch.float16}},
    }
    every = {**answers, **streams.functions(), **more}
    for module in _modules("torch.accelerator"):
        for name in getattr(module, "__all__", ()):
            if name in every and name in vars(module):
                simulation.patches.set(module, name, every[name])
    refuse(simulation, torch.accelerator, [name for name in ("Graph",) if hasattr(torch.accelerator, name)])


def _use(simulation: Machine, device: Any) -> None:
    if isinstance(device, int) and device < 0:
        return
    index = simulation.index(device)
    if index is not None:
        simulation.current = index


def _context(simulation: Machine) -> Any:
    class Device:
        """``with torch.cuda.device(1):``."""

        def __init__(self, device: Any = None, obj: Any = None) -> None:
            if device is None or isinstance(device, torch.Tensor):  # ``device_of``
                device = getattr(obj if device is None else device, "device", None)
            self.idx = None if isinstance(device, int) and device < 0 else simulation.index(device)
            self.prev_idx = simulation.current

        def __enter__(self) -> None:
            self.prev_idx = simulation.current
            if self.idx is not None:
                simulation.current = self.idx

        def __exit__(self, *_: object) -> None:
            simulation.current = self.prev_idx

    return Device

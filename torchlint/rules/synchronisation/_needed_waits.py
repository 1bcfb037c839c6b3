"""Waits that a program may need: to measure time, or to share memory outside of the current stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, method

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# A function that contains one of these words may need to synchronize, to measure time or to share memory.
_EXEMPTING_WORDS = frozenset(
    "time times timer timers timing clock tic toc elapsed latency fps throughput duration stopwatch ms bench benchmark "
    "profile profiler profiling prof nvtx event events stream streams graph graphs cudagraph barrier queue process "
    "thread pipe conn socket ipc nvshmem shared fork spawn ptr ctypes cupy numba pycuda trt tensorrt dlpack cache "
    "memory debug perf monotonic speed warmup".split()
)
_AUTOGRAD_ARGUMENTS = frozenset({"create_graph", "retain_graph"})


def may_be_needed(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether the outermost function around a wait measures time, or shares memory outside of the current stream."""
    functions = [around for around in module.ancestors(node) if isinstance(around, cst.FunctionDef)]
    place = functions[-1] if functions else module.tree
    names = {name.value.lower() for name in module.within(place, cst.Name)} - _AUTOGRAD_ARGUMENTS
    words = {word for name in names for word in name.strip("_").split("_")}
    if not words.isdisjoint(_EXEMPTING_WORDS):
        return True
    return any(_copies_to_host(module, call) for call in module.within(place, cst.Call))


def _copies_to_host(module: SourceModule, call: cst.Call) -> bool:
    """Whether a call is an asynchronous copy that may go to the host."""
    if keyword(call, "non_blocking") is None or method(call) == "cuda":
        return False
    return not module.value(call).device.accelerated

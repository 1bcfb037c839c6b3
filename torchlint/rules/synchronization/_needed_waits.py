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


class NeededWaits:
    """Answers for one module whether waits may be needed; asked once for each outermost function."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._known: dict[tuple[cst.CSTNode, frozenset[str]], bool] = {}

    def may_include(self, node: cst.CSTNode, besides: frozenset[str] = frozenset()) -> bool:
        """Whether the outermost function around a wait measures time, or shares memory outside of its stream.

        The words ``besides`` tell of what the wait itself is about, and so of nothing else.
        """
        functions = [around for around in self._module.ancestors(node) if isinstance(around, cst.FunctionDef)]
        place = functions[-1] if functions else self._module.tree
        if (place, besides) not in self._known:
            self._known[place, besides] = self._measures_or_shares(place, besides)
        return self._known[place, besides]

    def _measures_or_shares(self, place: cst.CSTNode, besides: frozenset[str]) -> bool:
        names = {name.value.lower() for name in self._module.within(place, cst.Name)} - _AUTOGRAD_ARGUMENTS
        words = {word for name in names for word in name.strip("_").split("_")}
        if not words.isdisjoint(_EXEMPTING_WORDS - besides):
            return True
        return any(_copies_to_host(self._module, call) for call in self._module.within(place, cst.Call))


def _copies_to_host(module: SourceModule, call: cst.Call) -> bool:
    """Whether a call is an asynchronous copy that may go to the host."""
    if keyword(call, "non_blocking") is None or method(call) == "cuda":
        return False
    return not module.value(call).device.accelerated

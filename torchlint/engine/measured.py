"""Waits that a program may need: to measure time, or to share memory outside of the current stream."""

from __future__ import annotations

import ast

from torchlint.engine.uses import names_device
from torchlint.knowledge.forms import SYNCHRONIZE, Form

# A function that contains one of these words may need to synchronize, to measure time or to share memory.
_WORDS = frozenset(
    "time times timer timers timing clock tic toc elapsed latency fps throughput duration stopwatch ms bench benchmark "
    "profile profiler profiling prof nvtx event events stream streams graph graphs cudagraph barrier queue process "
    "thread pipe conn socket ipc nvshmem shared fork spawn ptr ctypes cupy numba pycuda trt tensorrt dlpack cache "
    "memory debug perf monotonic speed warmup".split()
)
# What a wait for a stream or an event is itself about, and so tells of nothing else.
_OF_STREAMS = frozenset({"stream", "streams", "event", "events"})
_OF_GRADIENTS = frozenset({"create_graph", "retain_graph"})


class Measured:
    """Answers for one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._known: dict[ast.AST, tuple[frozenset[str], bool]] = {}

    def needs(self, node: ast.AST, form: Form) -> bool:
        """Whether the outermost function around a wait measures time, or shares memory outside of its stream."""
        line = getattr(node, "lineno", 0)
        place = next((each for each in self._tree.body if line in range(each.lineno, (each.end_lineno or 0) + 1)), node)
        if isinstance(place, ast.ClassDef):
            place = next((each for each in place.body if each.lineno <= line <= (each.end_lineno or 0)), place)
        if not isinstance(place, (ast.FunctionDef, ast.AsyncFunctionDef)):
            place = self._tree
        if place not in self._known:
            self._known[place] = _words(place), any(map(_copies_to_host, ast.walk(place)))
        words, copies = self._known[place]
        return copies or not words.isdisjoint(_WORDS if form is SYNCHRONIZE else _WORDS - _OF_STREAMS)


def _words(place: ast.AST) -> frozenset[str]:
    names = (getattr(node, field, None) for node in ast.walk(place) for field in ("id", "attr", "arg", "name"))
    found = {name.lower() for name in names if isinstance(name, str)} - _OF_GRADIENTS
    return frozenset(word for name in found for word in name.replace(".", "_").strip("_").split("_"))


def _copies_to_host(node: ast.AST) -> bool:
    """Whether a call is an asynchronous copy that may go to the host."""
    if not isinstance(node, ast.Call) or all(given.arg != "non_blocking" for given in node.keywords):
        return False
    name = getattr(node.func, "attr", "")
    return name != "cuda" and not (name == "to" and names_device(node))

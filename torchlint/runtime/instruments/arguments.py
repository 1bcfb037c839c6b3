"""Watches ``torch.tensor``: arrays that are copied, and whether sharing their memory would have been safe."""

from __future__ import annotations

import functools
import weakref
import zlib
from collections import Counter
from time import perf_counter_ns
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.labels import labeled
from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Count
from torchlint.runtime.sites import Site

_WATCHED = 16
_SAMPLES = 5
_WATCHED_BYTES = 1 << 26
_KINDS = "fiubc"


class Arguments(Instrument):
    """Watches calls that convert data to tensors."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._sampled = watch.mode == "sim"
        self._raw: dict[str, Any] = {}
        self._samples: dict[Site, list[int]] = {}
        self._shared: dict[Site, _Watched] = {}
        self._bytes = 0
        self._counts: dict[tuple[int, bool, bool, bool], Count] = {}

    def prepare(self) -> None:
        """Keep the original factories, to measure their time where the simulation would distort it."""
        self._raw = {name: getattr(torch, name) for name in ("tensor", "as_tensor")}

    def install(self, patches: Patches) -> None:
        """Wrap the factories that copy."""
        for name in ("tensor", "as_tensor"):
            patches.set(torch, name, self._wrapped(name, getattr(torch, name)))

    def forked(self) -> None:
        """Begin anew in a child process."""
        self._shared, self._bytes, self._counts = {}, 0, {}

    def _wrapped(self, name: str, real: Any) -> Any:
        is_compiling = torch.compiler.is_compiling
        copies, ndarray = name == "tensor", _ndarray()

        @functools.wraps(real)
        def factory(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return real(*args, **kwargs)
            start = perf_counter_ns()
            made = real(*args, **kwargs)
            spent = perf_counter_ns() - start
            data = args[0] if args else kwargs.get("data")
            if copies and type(data) is ndarray:
                self._note_array(data, made, kwargs, spent)
            else:
                self._note(name, data, made, spent, copies=copies)
            return made

        return factory

    def _note(self, name: str, data: Any, made: Any, spent: int, *, copies: bool) -> None:
        if isinstance(data, (list, tuple)) and data and isinstance(data[0], _ndarray()):
            site = self._sites.here(3)
            size = made.numel() * made.element_size()
            self._recorder.add("arrays", site, size, self._honest(site, name, data, made.dtype, spent), how=name)
        elif copies:
            size = made.numel() * made.element_size()
            self._recorder.add("data", self._sites.here(3), size, spent, type=type(data).__name__)

    def _note_array(self, data: Any, made: Any, kwargs: Any, spent: int) -> None:
        """The most common case, kept short: programs may do this for every sample."""
        if not self._recorder.listening:
            return
        site = self._sites.here(3)
        same = kwargs.get("dtype") is None or _dtype_of(data) == made.dtype
        writable, on_host = data.flags.writeable, not made.is_cuda
        # There is one object per site, so identity is enough.
        key = (id(site), same, writable, on_host)
        count = self._counts.get(key)
        if count is None:
            facts = {"same_dtype": same, "writable": bool(writable), "on_host": on_host}
            count = self._counts[key] = self._recorder.counter("array", site, facts)
        if self._sampled:
            spent = self._honest(site, "tensor", data, made.dtype, spent)
        size = data.nbytes if same else made.numel() * made.element_size()
        count.add(size, 0 if self._recorder.excluded else spent)
        timeline = self._recorder.timeline
        if timeline is not None and timeline.recording:
            timeline.add("array", site, size, spent)
        if same and writable and on_host:
            self._watch(site, data, made)

    def _honest(self, site: Site, name: str, data: Any, dtype: Any, spent: int) -> int:
        """The time of a call without the simulation, from a few repeated calls."""
        if not self._sampled:
            return spent
        samples = self._samples.setdefault(site, [])
        if len(samples) < _SAMPLES:
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                start = perf_counter_ns()
                self._raw[name](data, dtype=dtype)
                samples.append(perf_counter_ns() - start)
        return sorted(samples)[len(samples) // 2]

    # -- later writes ------------------------------------------------------------------------------

    def _watch(self, site: Site, data: Any, made: Any) -> None:
        watched = self._shared.get(site)
        if watched is None:
            watched = self._shared[site] = _Watched()
        if watched.open:
            watched.look()
        elif watched.count >= _WATCHED:
            return
        if watched.count < _WATCHED and data.dtype.kind in _KINDS and self._bytes + data.nbytes <= _WATCHED_BYTES:
            self._bytes += data.nbytes
            watched.add(_Pair(data, made))

    def stepped(self, count: int) -> None:
        """At the end of a step: a tensor that was written to may be freed in the next one."""
        for watched in self._shared.values():
            for pair in watched.open:
                pair.look_at_tensor()

    def finish(self) -> None:
        """Compare all pairs for the last time, and record the outcomes."""
        for site, watched in self._shared.items():
            watched.look()
            for outcome, count in watched.outcomes().items():
                for _ in range(count):
                    self._recorder.add("shared", site, outcome=outcome)
        self._shared = {}


class _Watched:
    """The pairs of one call: those that may still change, and the outcomes of the others."""

    def __init__(self) -> None:
        self.open: list[_Pair] = []
        self.count = 0
        self._closed: Counter[str] = Counter()

    def add(self, pair: _Pair) -> None:
        """Watch one more pair."""
        self.open.append(pair)
        self.count += 1

    def look(self) -> None:
        """Look at those that may have changed."""
        for pair in self.open:
            pair.look()
        done = [pair for pair in self.open if pair.settled]
        if done:
            self._closed.update(pair.outcome for pair in done)
            self.open = [pair for pair in self.open if not pair.settled]

    def outcomes(self) -> Counter[str]:
        """The number of pairs by outcome."""
        return self._closed + Counter(pair.outcome for pair in self.open)


class _Pair:
    """An array and the tensor copied from it: was one of them written to while both existed?

    The memory of the array is kept until that of the tensor is freed; then they are compared for the last time.
    """

    def __init__(self, data: Any, made: Any) -> None:
        self._memory: Any = data.view()
        self._digest = _digest(data)
        self._made = weakref.ref(made)
        self._version = _version(made)
        self._end = weakref.finalize(labeled(made), self._gone)
        self._end.atexit = False
        self.outcome = "safe"

    def look(self) -> None:
        """Compare both with what they were."""
        self.look_at_tensor()
        if self._memory is not None and self.outcome == "safe" and _digest(self._memory) != self._digest:
            self.outcome = "array written"

    def look_at_tensor(self) -> None:
        """Compare the tensor's version counter, which is cheap."""
        made = self._made()
        if made is not None and self.outcome == "safe" and _version(made) != self._version:
            self.outcome = "tensor written"

    @property
    def settled(self) -> bool:
        """Nothing that happens from now on changes the outcome."""
        return self._memory is None or self.outcome != "safe"

    def _gone(self) -> None:
        """The tensor's memory was freed: later writes to the array do not matter."""
        self.look()
        self._memory = None


@functools.cache
def _ndarray() -> Any:
    """The class of NumPy arrays; without NumPy, a class without instances."""
    try:
        import numpy
    except ImportError:
        return _Nothing
    return numpy.ndarray


class _Nothing:
    """A class without instances."""


def _digest(data: Any) -> int:
    return zlib.crc32(data.tobytes())


def _version(made: Any) -> int:
    try:
        return int(made._version)
    except RuntimeError:  # tensors created in inference mode have no version counter
        return 0


def _dtype_of(data: Any) -> Any:
    import numpy

    try:
        return torch.from_numpy(numpy.empty(0, data.dtype)).dtype
    except (TypeError, ValueError):
        return None

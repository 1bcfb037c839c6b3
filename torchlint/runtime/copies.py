"""Copies between host and a real device: where tensors are, how long calls take, and which waits are theirs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any, TypeAlias

import torch

from torchlint.runtime.labels import PLAIN, function_modes, is_rewritten, labeled, origins, size_of
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites

T: TypeAlias = Any  # a tensor
TENSOR = torch.Tensor


def where(tensor: T) -> int | None:
    """The index of the device that a tensor is on; None for the host."""
    if type(tensor) in PLAIN and not function_modes():
        return int(tensor.get_device()) if tensor.is_cuda else None
    with torch._C.DisableTorchFunction():  # neither the program's subclasses nor its modes are to see this
        return int(tensor.get_device()) if tensor.is_cuda else None


class Copies:
    """Records copies, and counts synchronizations: those of copies are ``explained``, others become events."""

    def __init__(self, recorder: Recorder, sites: Sites) -> None:
        self._recorder = recorder
        self._sites = sites
        self._own = threading.local()
        self.explained = self.unexplained = 0

    @property
    def inside(self) -> bool:
        """Whether this thread is inside a call that is being recorded; nested calls belong to it."""
        return getattr(self._own, "inside", False)

    def timed(self, real: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, int]:
        """The result of a call, and its nanoseconds on the host."""
        own = self._own
        own.inside, own.waits = True, []
        start = perf_counter_ns()
        try:
            made = real(*args, **kwargs)
        finally:
            own.inside = False
        return made, perf_counter_ns() - start

    def waited(self, why: str) -> None:
        """Torch reports that this thread waits for the device."""
        if self.inside:
            self._own.waits.append(why)
        else:
            self._waited(why)

    def settle(self, copies: int) -> None:
        """The call is over, and has made some copies that wait: its other waits are events of their own."""
        waits = self._own.waits
        if waits:
            self._own.waits = []
            self.explained += min(len(waits), copies)
            for why in waits[copies:]:
                self._waited(why)

    def _waited(self, why: str) -> None:
        self.unexplained += self._recorder.listening
        self._recorder.add("sync", self._sites.here(3), why=why)

    def moved(self, source: T, target: T, how: str, spent: int, *, non_blocking: bool) -> bool:
        """Record a copy if the two are in different places. Returns whether it waits for the device."""
        there, here = where(source), where(target)
        if there == here:
            return False
        site, size = self._sites.here(3), size_of(source)
        if there is None:
            self.up(source, size_of(source, target.dtype), how, spent, non_blocking=non_blocking, dtype=target.dtype)
        elif here is None:
            self._recorder.add("download", site, size, spent, how=how, non_blocking=non_blocking)
            labeled(target).left = site
        else:
            self._recorder.add("peer", site, size, spent, how=how, non_blocking=non_blocking)
            return False
        return not non_blocking

    def up(
        self,
        source: Any,
        size: int,
        how: str,
        spent: int,
        *,
        non_blocking: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Record a copy to the device, from a tensor, or from something else of a size."""
        facts: dict[str, Any] = {"how": how, "pinned": False, "non_blocking": non_blocking}
        if isinstance(source, TENSOR):
            facts["pinned"] = _pinned(source) and not is_rewritten(source, dtype)
            facts |= origins(source)
        self._recorder.add("upload", self._sites.here(3), size, spent, **facts)

    def made(self, size: int, spent: int) -> None:
        """Record that something was made on the device."""
        self._recorder.add("made", self._sites.here(3), size, spent)


def _pinned(tensor: T) -> bool:
    """Whether the tensor is in pinned memory; False if that cannot be determined."""
    try:
        with torch._C.DisableTorchFunctionSubclass():
            return bool(TENSOR.is_pinned(tensor))
    except Exception:  # lazy parameters and some subclasses have no memory, or none of their own
        return False

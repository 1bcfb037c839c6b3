"""Watches copies between host and a real device at the calls that request them, and synchronizations reported by torch.

Nothing here synchronizes. Wrapped methods call the originals with the same arguments and return their results.
"""

from __future__ import annotations

import functools
import threading
from time import perf_counter_ns
from typing import Any, TypeAlias

import torch

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.labels import label_of, labelled, size_of
from torchlint.runtime.lazy import let_through
from torchlint.runtime.names import FACTORIES, OF_DATA
from torchlint.runtime.patches import Patches
from torchlint.runtime.trace import Trace

T: TypeAlias = Any  # a tensor
_TENSOR = torch.Tensor
_is_compiling = torch.compiler.is_compiling


class Transfers(Instrument):
    """Watches the methods and factories that copy between host and device."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._own = threading.local()
        self.trace = Trace()
        self._traced = False
        self.unexplained = 0
        self.explained = 0

    def install(self, patches: Patches) -> None:
        """Wrap methods and factories, and let torch report synchronizations if it can."""
        for name in ("to", "cuda", "cpu"):
            patches.set(_TENSOR, name, self._moving(name, getattr(_TENSOR, name)))
        patches.set(_TENSOR, "copy_", self._copying(_TENSOR.copy_))
        let_through(patches, "to", "cuda", "cpu", "copy_")
        patches.set(_TENSOR, "pin_memory", self._pinning(_TENSOR.pin_memory))
        for name in FACTORIES:
            if hasattr(torch, name):
                patches.set(torch, name, self._making(name, getattr(torch, name)))
        if not self.watch.order.get("untraced"):
            self._trace_or_note()

    def written(self) -> dict[str, Any]:
        """How many of the synchronizations reported by torch belong to copies; None if torch reported none at all."""
        counted = {"explained": self.explained, "unexplained": self.unexplained}
        return {"synchronisations": counted if self._traced else None}

    @property
    def _busy(self) -> bool:
        """Whether this thread is inside a copy that is being recorded."""
        return getattr(self._own, "inside", False)

    def _moving(self, name: str, real: Any) -> Any:
        @functools.wraps(real)
        def move(tensor: T, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or self._busy:  # nested calls belong to the outer one
                return real(tensor, *args, **kwargs)
            was, start = tensor.is_cuda, perf_counter_ns()
            self._own.inside = True
            try:
                made = real(tensor, *args, **kwargs)
            finally:
                self._own.inside = False
            if made.is_cuda != was:
                spent = perf_counter_ns() - start
                self._moved(tensor, made, name, spent, non_blocking=_asynchronous(name, args, kwargs))
            return made

        return move

    def _moved(self, source: T, made: T, how: str, spent: int, *, non_blocking: bool) -> None:
        site = self._sites.here(3)
        if made.is_cuda:
            label = label_of(source)
            known = {name: getattr(label, name) for name in ("born", "left", "loader")} if label is not None else {}
            facts: dict[str, Any] = {"how": how, "pinned": _pinned(source), "non_blocking": non_blocking, **known}
            self._recorder.add("upload", site, size_of(source), spent, **facts)
        else:
            self._recorder.add("download", site, size_of(source), spent, how=how, non_blocking=non_blocking)
            labelled(made).left = site

    def _copying(self, real: Any) -> Any:
        @functools.wraps(real)
        def copy_(tensor: T, *args: Any, **kwargs: Any) -> Any:
            source = args[0] if args else kwargs.get("other", kwargs.get("src"))
            moves = isinstance(source, _TENSOR) and source.is_cuda != tensor.is_cuda
            if _is_compiling() or self._busy or not moves:
                return real(tensor, *args, **kwargs)
            start = perf_counter_ns()
            self._own.inside = True
            try:
                made = real(tensor, *args, **kwargs)
            finally:
                self._own.inside = False
            asynchronous = bool(args[1] if len(args) > 1 else kwargs.get("non_blocking", False))
            self._moved(source, tensor, "copy_", perf_counter_ns() - start, non_blocking=asynchronous)
            return made

        return copy_

    def _pinning(self, real: Any) -> Any:
        @functools.wraps(real)
        def pin_memory(tensor: T, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return real(tensor, *args, **kwargs)
            start = perf_counter_ns()
            made = real(tensor, *args, **kwargs)
            if made is not tensor:
                self._recorder.add("pin", self._sites.here(2), size_of(tensor), perf_counter_ns() - start)
                old = label_of(tensor)
                if old is not None:
                    new = labelled(made)
                    new.born, new.loader, new.left = old.born, old.loader, old.left
            return made

        return pin_memory

    def _making(self, name: str, real: Any) -> Any:
        @functools.wraps(real)
        def factory(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or self._busy:
                return real(*args, **kwargs)
            start = perf_counter_ns()
            self._own.inside = True
            try:
                made = real(*args, **kwargs)
            finally:
                self._own.inside = False
            if type(made) is _TENSOR:
                self._made(name, args[0] if args else kwargs.get("data"), made, perf_counter_ns() - start)
            return made

        return factory

    def _made(self, name: str, first: Any, made: T, spent: int) -> None:
        data = first if name in OF_DATA else None
        if not made.is_cuda:
            if not isinstance(data, _TENSOR):
                label = labelled(made)
                label.born = label.born or self._sites.here(3)
        elif data is not None and not (isinstance(data, _TENSOR) and data.is_cuda):
            facts: dict[str, Any] = {"how": name, "pinned": False, "non_blocking": False}
            self._recorder.add("upload", self._sites.here(3), size_of(made), spent, **facts)
        else:
            self._recorder.add("made", self._sites.here(3), size_of(made), spent)

    # -- torch's own account -----------------------------------------------------------------------

    def _trace_or_note(self) -> None:
        try:
            self.trace.on(self._synchronised)
            self._traced = True
        except (ImportError, AttributeError) as error:
            self.watch.notes.append(
                f"torch {torch.__version__} reports no synchronisations ({error}): only copies are counted"
            )

    def stop(self) -> None:
        """End torch's reports, which would take time from then on."""
        self.trace.off()

    def _synchronised(self, why: str) -> Any:
        def synchronised(*_: Any) -> None:
            if self._busy:
                self.explained += 1
                return
            self.unexplained += 1
            self._recorder.add("sync", self._sites.here(2), why=why)

        return synchronised


def _asynchronous(name: str, args: Any, kwargs: Any) -> bool:
    if "non_blocking" in kwargs:
        return bool(kwargs["non_blocking"])
    if name == "cuda":
        return bool(args[1]) if len(args) > 1 else False
    return any(argument is True for argument in args[1:2] + args[2:3]) if name == "to" else False


def _pinned(tensor: T) -> bool:
    """Whether the tensor is in pinned memory; False if that cannot be determined."""
    try:
        with torch._C.DisableTorchFunctionSubclass():
            return bool(_TENSOR.is_pinned(tensor))
    except Exception:  # lazy parameters and some subclasses have no memory, or none of their own
        return False

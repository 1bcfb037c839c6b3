"""Watches what separates steps: optimizers, backward passes, batches of loaders, and calls of outermost modules."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from types import FrameType
from typing import Any, Protocol

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchlint.runtime.patches import Patches

_FRAMES = 16
_STORING = ("_save_to_state_dict", "get_extra_state")  # methods of modules that keep weights elsewhere
_is_compiling = torch.compiler.is_compiling
_is_grad_enabled = torch.is_grad_enabled


class Listener(Protocol):
    """What is told of boundaries; :class:`torchlint.runtime.steps.Steps` says what they mean."""

    def optimizer_made(self, optimizer: Any) -> None:
        """An optimizer has been constructed."""

    def optimized(self, optimizer: Any) -> None:
        """An optimizer has stepped."""

    def differentiated(self) -> None:
        """A backward pass is done."""

    @property
    def trains(self) -> bool:
        """Whether the program has an optimizer, or has made a backward pass."""

    def called(self, module: Any, *, place: int | None) -> None:
        """The outermost module is called: as part of a training, or else at a place."""

    def fetching(self, loader: int) -> None:
        """The next batch of a loader is requested."""

    def fetched(self, loader: int) -> None:
        """There was a batch."""

    def exhausted(self) -> None:
        """There was none."""


class Boundaries:
    """Reports the boundaries of steps.

    In a program that trains they are those of one thread: others load data, or run replicas. Where nothing is trained,
    calls of modules count in every thread: those of a server answer requests. Workers of loaders have no steps, a
    loader without workers makes none, and modules without parameters are none of a model: they are transforms, losses
    or metrics.
    """

    def __init__(self, steps: Listener) -> None:
        self._steps = steps
        self._handle: Any = None
        self.reset()

    def reset(self) -> None:
        """Begin anew, in a child process or at first."""
        self._thread = threading.get_ident()
        self._own = threading.local()  # ``inside``: whether this thread is in a module or a backward pass
        self._models: dict[int, weakref.ref[Any]] = {}
        self._turn = threading.RLock()  # a handler of a signal may call a module meanwhile

    def install(self, patches: Patches) -> None:
        """Wrap what separates steps."""
        self._handle = register_optimizer_step_post_hook(self._optimized)
        patches.set(Optimizer, "__init__", self._making(Optimizer.__init__))
        patches.set(torch.nn.Module, "__call__", self._calling(torch.nn.Module.__call__))
        patches.set(torch.autograd, "backward", self._backward(torch.autograd.backward))
        fetch = _BaseDataLoaderIter.__next__
        fetched = self._fetching(fetch)
        patches.set(_BaseDataLoaderIter, "__next__", fetched)
        if _BaseDataLoaderIter.__dict__.get("next") is fetch:
            patches.set(_BaseDataLoaderIter, "next", fetched)

    def remove(self) -> None:
        """Remove the hook; the wrapped functions are restored with all others."""
        if self._handle is not None:
            self._handle.remove()

    def _is_elsewhere(self) -> bool:
        return threading.get_ident() != self._thread or get_worker_info() is not None

    def _is_inside(self) -> bool:
        return getattr(self._own, "inside", False)

    def _is_counted(self, module: Any) -> bool:
        """Whether the call of a module may begin a step."""
        if get_worker_info() is not None or not self._is_model(module):
            return False
        return threading.get_ident() == self._thread or not (self._steps.trains or _is_replica(module))

    def _is_model(self, module: Any) -> bool:
        """Whether a module, or one in it, has a state, which it keeps: it is looked for once."""
        known = self._models.get(id(module))
        if known is not None and known() is module:
            return True
        found = _is_model(module)
        if found:
            self._models[id(module)] = weakref.ref(module)
        return found

    def _optimized(self, optimizer: Any, *_: Any) -> None:
        if not _is_compiling():
            self._steps.optimized(optimizer)

    def _making(self, real: Any) -> Any:
        @functools.wraps(real)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - the method's name
            real(optimizer, *args, **kwargs)
            self._steps.optimizer_made(optimizer)

        return __init__

    def _calling(self, real: Any) -> Any:
        @functools.wraps(real)
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - the method's name
            if _is_compiling() or self._is_inside() or not self._is_counted(module):
                return real(module, *args, **kwargs)
            place = None if _is_grad_enabled() and self._steps.trains else _place(sys._getframe(1))
            with self._turn:
                self._steps.called(module, place=place)
            self._own.inside = True
            try:
                return real(module, *args, **kwargs)
            finally:
                self._own.inside = False

        return __call__

    def _backward(self, real: Any) -> Any:
        @functools.wraps(real)
        def backward(*args: Any, **kwargs: Any) -> None:
            if _is_compiling() or self._is_inside() or self._is_elsewhere():
                real(*args, **kwargs)
                return
            self._own.inside = True  # recomputed modules are called in it
            try:
                real(*args, **kwargs)
            finally:
                self._own.inside = False
            self._steps.differentiated()

        return backward

    def _fetching(self, real: Any) -> Any:
        @functools.wraps(real)
        def fetched(iterator: Any) -> Any:
            if self._is_elsewhere():
                return real(iterator)
            self._steps.fetching(id(iterator))
            inside, self._own.inside = self._is_inside(), True
            try:
                batch = real(iterator)
            except StopIteration:
                self._steps.exhausted()
                raise
            finally:
                self._own.inside = inside
            self._steps.fetched(id(iterator))
            return batch

        return fetched


def _is_model(module: Any) -> bool:
    """Whether a module, or one in it, has a state. Its own methods are not called: the program may redefine them."""
    return any(map(_has_state, torch.nn.Module.modules(module)))


def _has_state(module: Any) -> bool:
    """Whether it has parameters or buffers, or keeps weights elsewhere, as TorchScript and quantized modules do."""
    if isinstance(module, torch.jit.ScriptModule):
        return True
    if any(one is not None for one in (*module._parameters.values(), *module._buffers.values())):
        return True
    return any(getattr(type(module), name) is not getattr(torch.nn.Module, name) for name in _STORING)


def _is_replica(module: Any) -> bool:
    """Whether a module is the copy for one device that ``DataParallel`` calls in a thread."""
    return bool(getattr(module, "_is_replica", False))


def _place(frame: FrameType | None) -> int:
    """Where a call stands, with the calls that led to it: in a loop it is the same each time."""
    found: list[tuple[int, int]] = []
    while frame is not None and len(found) < _FRAMES:
        found.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return hash(tuple(found))


def optimizers_alive() -> bool:
    """Whether the program has an optimizer, for an observation that begins in the middle of it."""
    import gc

    return any(issubclass(type(one), Optimizer) for one in gc.get_objects())

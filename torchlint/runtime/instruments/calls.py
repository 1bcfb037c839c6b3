"""Watches calls of the PyTorch functions that recipes name."""

from __future__ import annotations

import functools
import importlib
import weakref
from time import perf_counter_ns
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.patches import Patches
from torchlint.runtime.sites import Site


class Calls(Instrument):
    """Counts and times calls of functions, methods and constructors, by dotted name."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._made: weakref.WeakKeyDictionary[Any, Site] = weakref.WeakKeyDictionary()
        self._stepping: Any = None
        self._handles: list[Any] = []

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether a recipe of the order names a function."""
        return bool(watch.order.get("functions"))

    def install(self, patches: Patches) -> None:
        """Wrap the functions, and note which optimizer is stepping and where it was made."""
        patches.set(Optimizer, "__init__", self._making(Optimizer.__init__))
        self._handles = [
            register_optimizer_step_pre_hook(self._begins),
            register_optimizer_step_post_hook(self._ends),
        ]
        for name in self.watch.order["functions"]:
            owner, last = self._owner(name)
            real = getattr(owner, last, None)
            if real is None:
                continue  # this version of torch does not have the function
            if isinstance(real, type):
                owner, last, real = real, "__init__", real.__init__  # type: ignore[misc]
            try:
                patches.set(owner, last, self._counted(name, real))
            except (AttributeError, TypeError) as error:
                self.watch.notes.append(f"calls of {name} cannot be counted: {error}")

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    def _making(self, real: Any) -> Any:
        @functools.wraps(real)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - the method's name
            self._made[optimizer] = self._sites.here(2)
            real(optimizer, *args, **kwargs)

        return __init__

    def _begins(self, optimizer: Any, *_: Any) -> None:
        self._stepping = optimizer

    def _ends(self, *_: Any) -> None:
        self._stepping = None

    def _owner(self, name: str) -> tuple[Any, str]:
        """The module or class that has the function, and the function's name in it."""
        path, _, last = name.rpartition(".")
        try:
            return importlib.import_module(path), last
        except ImportError:
            outer, _, inner = path.rpartition(".")
            return (getattr(self._owner(path)[0], inner, None) if outer else None), last

    def _counted(self, name: str, real: Any) -> Any:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return real(*args, **kwargs)
            start = perf_counter_ns()
            made = real(*args, **kwargs)
            spent = perf_counter_ns() - start
            facts = {} if self._stepping is None else {"optimizer": self._made.get(self._stepping)}
            self._recorder.add("call", self._sites.here(2), 0, spent, function=name, **facts)
            return made

        return call

"""Watches calls of the PyTorch functions that recipes name."""

from __future__ import annotations

import functools
import importlib
from time import perf_counter_ns
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.patches import Patches


class Calls(Instrument):
    """Counts and times calls of functions, methods and constructors, by dotted name."""

    @classmethod
    def wanted(cls, watch: Watch) -> bool:
        """Whether a recipe of the order names a function."""
        return bool(watch.order.get("functions"))

    def install(self, patches: Patches) -> None:
        """Wrap the functions."""
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
            self._recorder.add("call", self._sites.here(2), 0, perf_counter_ns() - start, function=name)
            return made

        return call

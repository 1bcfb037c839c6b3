"""Records code that runs without its operations being observed: compiled, scripted, exported, or replayed."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument
from torchlint.runtime.patches import Patches


class Opaque(Instrument):
    """Counts requests for compilation, calls of TorchScript, exported programs that are made runnable, and replays."""

    def install(self, patches: Patches) -> None:
        """Wrap the functions that such code is made or called with."""
        self._wrap(patches, torch, "compile", "compiled")
        for owner in (torch.jit.ScriptModule, torch.jit.ScriptFunction):
            self._wrap(patches, owner, "__call__", "scripted")
        self._wrap(patches, torch.cuda.CUDAGraph, "replay", "replayed")
        exported = sys.modules.get("torch.export")  # imported by Dynamo
        if exported is not None:
            self._wrap(patches, exported.ExportedProgram, "module", "exported")

    def _wrap(self, patches: Patches, owner: Any, name: str, how: str) -> None:
        real = getattr(owner, name, None)
        if real is not None:  # the simulation has no graphs
            patches.set(owner, name, self._recorded(real, how))

    def _recorded(self, real: Any, how: str) -> Any:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(real)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                self._recorder.add("opaque", self._sites.here(2), how=how)
            return real(*args, **kwargs)

        return called

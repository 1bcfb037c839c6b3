"""Records code that runs without its operations being observed: compiled, scripted, exported, or replayed."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.patches import Patches
from torchlint.runtime.sites import NOWHERE


class Opaque(Instrument):
    """Counts requests for compilation, calls of TorchScript, exported programs that are made runnable, and replays.

    What was compiled before the observation began, as in an earlier cell of a notebook, is one event at its end.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._before = 0

    def install(self, patches: Patches) -> None:
        """Wrap the functions that such code is made or called with."""
        self._wrap(patches, torch, "compile", "compiled")
        for owner in (torch.jit.ScriptModule, torch.jit.ScriptFunction):
            self._wrap(patches, owner, "__call__", "scripted")
        self._wrap(patches, torch.cuda.CUDAGraph, "replay", "replayed")
        exported = sys.modules.get("torch.export")  # imported by Dynamo
        if exported is not None:
            self._wrap(patches, exported.ExportedProgram, "module", "exported")

    def forked(self) -> None:
        """Disregard what the parent has compiled."""
        self._before = _compiled()

    def finish(self) -> None:
        """Look for graphs whose compilation was requested before."""
        known = any(facts["how"] == "compiled" for _, facts, _ in self._recorder.of("opaque"))
        if not known and _compiled() > self._before:
            self._recorder.add("opaque", NOWHERE, how="compiled")

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


def _compiled() -> int:
    """The number of frames that Dynamo has compiled in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return int(dynamo.counters["frames"]["ok"]) if dynamo is not None else 0

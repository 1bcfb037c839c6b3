"""TL701: which requests for CUDA fail on a machine without it, and what kind of code they stand in."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.analysis.things.cuda_needs import CudaNeeds
from torchlint.analysis.things.cuda_request import CudaRequest, CudaRequests
from torchlint.knowledge import portability as known
from torchlint.knowledge.tensors import LIGHTNING_BASES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Hardcoded:
    """Judges the requests of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def requests(self) -> dict[cst.CSTNode, CudaRequest]:
        """The requests with no check for CUDA before them, by their nodes, in source order."""
        every = self._module.shared(CudaRequests).all()
        return {request.node: request for request in every if self._fails(request.node)}

    def _fails(self, node: cst.CSTNode) -> bool:
        """The place fails without CUDA, and nothing says that it is meant to."""
        if self.in_forward(node) == "lightning elsewhere":
            return False  # the framework places everything there
        if any(getattr(getattr(a, "name", None), "value", "") == "cuda" for a in self._module.ancestors(node)):
            return False  # a method of that name does what it says
        return self._cuda_only is None and not self._module.shared(CudaGuards).is_guarded(node)

    @cached_property
    def _cuda_only(self) -> str | None:
        """What makes the file CUDA-only by nature, in words; None when nothing does."""
        return self._module.shared(CudaNeeds).file_reason()

    def in_forward(self, node: cst.CSTNode) -> str | None:
        """``module``, ``lightning`` or ``function`` inside such a class's ``forward``; ``elsewhere`` in other methods.

        None outside of such classes.
        """
        owner = next((a for a in self._module.ancestors(node) if isinstance(a, cst.ClassDef)), None)
        if owner is None:
            return None
        if self._module.classes.derives(owner, LIGHTNING_BASES):
            kind = "lightning"
        elif self._module.classes.is_module(owner):
            kind = "module"
        elif self._module.classes.derives(owner, {"torch.autograd.Function"}):
            kind = "function"
        else:
            return None
        names = {a.name.value for a in self._module.ancestors(node) if isinstance(a, cst.FunctionDef)}
        return kind if names & {"forward", "training_step", "validation_step"} else f"{kind} elsewhere"

    def uses_ranks(self) -> bool:
        """Several processes run the file, one for each device."""
        return any(word in self._module.text for word in known.DISTRIBUTED_WORDS)

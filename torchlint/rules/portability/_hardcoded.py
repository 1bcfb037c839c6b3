"""TL701: requests for CUDA without a guard, and whether they are in a ``forward`` method."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.cuda.alternatives import CudaAlternatives
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.cuda.programs import CudaPrograms
from torchlint.analysis.things.cuda.request import CudaRequest, CudaRequests
from torchlint.knowledge.tensors import LIGHTNING_BASES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Hardcoded:
    """The unguarded requests of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def requests(self) -> dict[cst.CSTNode, CudaRequest]:
        """The requests that no check for CUDA precedes, by node, in source order."""
        every = self._module.shared(CudaRequests).all()
        return {request.node: request for request in every if self._is_unguarded(request.node)}

    def _is_unguarded(self, node: cst.CSTNode) -> bool:
        """Whether a request fails without CUDA, and nothing says that the code is for CUDA only."""
        if self.in_forward(node) == "lightning elsewhere":
            return False  # the framework moves everything there
        if any(getattr(getattr(a, "name", None), "value", "") == "cuda" for a in self._module.ancestors(node)):
            return False  # a method with this name is expected to move to CUDA
        if self._module.shared(CudaGuards).is_guarded(node) or self._module.shared(CudaAlternatives).has(node):
            return False
        return self._module.shared(CudaPrograms).reason(node) is None

    def in_forward(self, node: cst.CSTNode) -> str | None:
        """The kind of class that a node is in: ``module``, ``lightning`` or ``function``, or None.

        Outside of ``forward`` and the step methods, the kind is followed by ``elsewhere``.
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

"""Circumstances: why code of a step hardly matters in a normal run of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.model import Heat
from torchlint.project.followed import ASSUMED as ASSUMED_STEP
from torchlint.project.followed import NO_TRAINING

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.module import SourceModule

ASSUMED = "in programs that call this"
_EVALUATION = "only in evaluation"


class Circumstances:
    """Why code of one module that runs in every step hardly matters: it is off by default, evaluates, or is dead."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, node: cst.CSTNode) -> str | None:
        """The circumstance in words, such as ``only with `--debug```; None for code that a normal run executes."""
        return self.off(node) or self._evaluation(node)

    def off(self, node: cst.CSTNode) -> str | None:
        """Why a normal run does not get to code of a step at all."""
        function = self._module.function_of(node)
        if function is not None and not self._module.followed.is_reached(function):
            return ASSUMED
        unusual = self._module.followed.unusual(node)
        if unusual is not None or self._module.heat(node).rank < Heat.STEP.rank:
            return unusual
        return ASSUMED if self._module.followed.often(node).by == ASSUMED_STEP else None

    def _evaluation(self, node: cst.CSTNode) -> str | None:
        return _EVALUATION if self._module.followed.often(node).phase in NO_TRAINING else None

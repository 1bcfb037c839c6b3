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
_DEPTH = 3  # callers of callers


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
        return self._unused(node) or (ASSUMED if self._is_assumed(node) else None)

    def _is_assumed(self, node: cst.CSTNode) -> bool:
        """Whether nothing but an assumption says that the function around a node runs in every step."""
        return self._module.followed.often(node).by == ASSUMED_STEP

    def _evaluation(self, node: cst.CSTNode) -> str | None:
        return _EVALUATION if self._module.followed.often(node).phase in NO_TRAINING else None

    # -- functions that nothing calls --------------------------------------------------------------

    def _unused(self, node: cst.CSTNode, depth: int = _DEPTH) -> str | None:
        """The function around a node that nothing calls, although only this file could call it."""
        function = self._module.function_of(node)
        if function is None or depth == 0 or not self._is_internal(function):
            return None
        callers = self._module.functions.callers(function)
        if callers.escapes:
            return None
        others = [site.call for site in callers.sites if self._module.function_of(site.call) is not function]
        if not others:
            return f"nothing calls `{function.name.value}`"
        reasons = [self._unused(call, depth - 1) for call in others]
        return reasons[0] if None not in reasons else None

    def _is_internal(self, function: cst.FunctionDef) -> bool:
        """Whether only the file itself is meant to call a function: one inside another, or a private one."""
        if function.decorators or self._module.class_of(function) is not None:
            return False
        return self._module.function_of(function) is not None or function.name.value.startswith("_")

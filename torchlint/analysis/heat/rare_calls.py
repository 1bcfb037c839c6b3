"""Rare calls: functions whose calls are all under guards that rarely pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.knowledge import heat as known

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.heat.lifetimes import HeatQueries
    from torchlint.analysis.values.evaluate import Evaluator
    from torchlint.analysis.values.fixpoint import FixpointMemo

_BASES = 5  # of one another
_NEUTRAL_BASES = ("builtins.object", "torch.nn.Module")  # a module calls none of the methods that are hot by name


class RareCalls:
    """Decides which functions of one module are called rarely."""

    def __init__(self, code: Code, values: Evaluator, heat: HeatQueries, memo: FixpointMemo) -> None:
        self._code, self._values, self._heat = code, values, heat
        self._memo = memo

    def only(self, function: cst.FunctionDef) -> bool:
        """Whether all calls of a function are visible, and each, or its function, is under such a guard."""
        return self._memo.get_or_compute(("rarely", function), lambda: self._all_rare(function), False)

    def _all_rare(self, function: cst.FunctionDef) -> bool:
        callers = self._values.functions.callers(function)
        others = [site.call for site in callers.sites if self._code.function_of(site.call) is not function]
        if callers.escapes or not others:
            return False
        return not self._is_called_by_frameworks(function) and all(map(self._heat.runs_rarely, others))

    def _is_called_by_frameworks(self, function: cst.FunctionDef) -> bool:
        owner = self._code.class_of(function)
        return owner is not None and function.name.value in known.HOT_METHODS and self._has_foreign_base(owner, _BASES)

    def _has_foreign_base(self, owner: cst.ClassDef, depth: int) -> bool:
        """Whether a class may derive from one of a library or of another file."""
        for base in owner.bases:
            own = self._values.value(base.value).node
            if isinstance(own, cst.ClassDef) and depth:
                if self._has_foreign_base(own, depth - 1):
                    return True
            elif self._code.qualified(base.value) not in _NEUTRAL_BASES:
                return True
        return False

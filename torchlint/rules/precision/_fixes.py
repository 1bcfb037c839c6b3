"""Fixes of the rules about precision and inference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.analysis.syntax.calls import bind, keyword
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.knowledge.precision import GRAD_SCALERS
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.module import SourceModule

_NO_GRADIENTS = "results of the function no longer require gradients"
_MEMORY = "the program may run out of memory"
_SKIPPED = "steps with infinite gradients are no longer skipped"
_ROUNDING = "outputs differ by rounding, dropout draws other numbers, and fully masked rows are zero, not NaN"


@or_none
def without_gradients(module: SourceModule, function: cst.FunctionDef | None) -> Fix:
    """Decorate a function with ``@torch.no_grad()``, unless it trains as well."""
    if function is None or function.decorators or module.heat_analysis.trains(function):
        raise Unfixable
    name = module.shared(Speller).spell("torch.no_grad", function)
    edit = module.shared(Editor).insert_before(function, f"@{name.text}()")
    return Fix("decorate the function with `torch.no_grad()`", Safety.UNSAFE, (*name.edits, edit), _NO_GRADIENTS)


@or_none
def without_call(module: SourceModule, call: cst.Call) -> Fix:
    """Delete a call of ``empty_cache``."""
    return Fix("delete the call", Safety.UNSAFE, (module.shared(Editor).delete_call(call),), _MEMORY)


@or_none
def without_weights(module: SourceModule, call: cst.Call) -> Fix:
    """Let attention compute only its output."""
    edits = module.shared(Editor).add_argument(call, "need_weights=False")
    return Fix("pass `need_weights=False`", Safety.UNSAFE, edits, _ROUNDING)


@or_none
def without_scaling(module: SourceModule, scaler: cst.Call) -> Fix:
    """Make a gradient scaler hand everything through."""
    names = GRAD_SCALERS[module.qualified(scaler.func) or ""]
    if "enabled" in bind(scaler, names) and keyword(scaler, "enabled") is None:
        raise Unfixable  # it is passed by position
    edits = module.shared(Editor).set_argument(scaler, "enabled", "False")
    return Fix("pass `enabled=False`", Safety.UNSAFE, edits, _SKIPPED)

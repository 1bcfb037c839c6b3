"""Fixes of rules about training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, bind
from torchlint.edit.editor import Editor, or_none
from torchlint.knowledge.layers import CONVOLUTIONS
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.optimization._accumulated import KeptGraph

_UNCHECKED = "errors that the mode detects, such as gradients that are NaN, pass unnoticed"
_WITHOUT_GRADIENTS = (
    "parameters without a gradient are skipped by the optimizer, instead of being moved by weight decay and momentum, "
    "and their `grad` is None"
)
_TOGETHER = "more memory is needed, up to the size of all parameters, and sums may be rounded differently"
_FUSED = "results differ by rounding, and parameters on other devices or of other dtypes raise an error"
_WITHOUT_BIAS = "checkpoints have a key less, and fewer random numbers are drawn"
_WITHOUT_GRAPH = "what is kept no longer requires gradients, and is printed without `grad_fn`"


# -- losses that keep their graphs -----------------------------------------------------------------


@or_none
def detached(module: SourceModule, kept: KeptGraph) -> Fix:
    """Append ``.detach()`` to the loss that is kept."""
    edits = module.shared(Editor).append(kept.loss, ".detach()")
    return Fix("detach the loss", Safety.UNSAFE, edits, _WITHOUT_GRAPH)


# -- modes for debugging ---------------------------------------------------------------------------


@or_none
def switched_off(module: SourceModule, node: cst.CSTNode) -> Fix:
    """Delete the statement that switches a mode for debugging on, or pass ``False``."""
    editor = module.shared(Editor)
    arg = module.parent(node)
    if isinstance(arg, cst.Arg):
        edit = editor.replace(node, "False")
    elif isinstance(node, cst.Call):
        edit = editor.delete_call(node)
    else:
        edit = editor.delete(node)
    return Fix("switch the mode off", Safety.UNSAFE, (edit,), _UNCHECKED)


# -- gradients and updates -------------------------------------------------------------------------


@or_none
def dropping(module: SourceModule, call: cst.Call) -> Fix:
    """Pass ``set_to_none=True``."""
    editor, given = module.shared(Editor), argument(call, "set_to_none", 0)
    edits = editor.add_argument(call, "set_to_none=True") if given is None else (editor.replace(given, "True"),)
    return Fix("pass `set_to_none=True`", Safety.UNSAFE, edits, _WITHOUT_GRADIENTS)


@or_none
def without_opt_out(module: SourceModule, given: cst.BaseExpression) -> Fix:
    """Pass ``foreach=None``, which is the default."""
    edits = (module.shared(Editor).replace(given, "None"),)
    return Fix("let torch choose the implementation", Safety.UNSAFE, edits, _TOGETHER)


# -- convolutions ----------------------------------------------------------------------------------


@or_none
def without_bias(module: SourceModule, call: cst.Call) -> Fix:
    """Construct a convolution without a bias."""
    editor = module.shared(Editor)
    given = bind(call, CONVOLUTIONS[str(module.qualified(call.func))].parameters).get("bias")
    edits = (editor.replace(given, "False"),) if given is not None else editor.add_argument(call, "bias=False")
    return Fix("pass `bias=False`", Safety.UNSAFE, edits, _WITHOUT_BIAS)


# -- optimizers ------------------------------------------------------------------------------------


@or_none
def fused(module: SourceModule, call: cst.Call) -> Fix:
    """Construct an optimizer with its fused implementation."""
    return Fix("pass `fused=True`", Safety.UNSAFE, module.shared(Editor).add_argument(call, "fused=True"), _FUSED)

"""Intended writes of backend flags, judging by comments, names and conditions around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.flags.backend_flag import Conflict


def is_intended(module: SourceModule, conflict: Conflict) -> bool:
    """Whether a comment, docstring or name says so, or the code runs on ROCm or in a test."""
    nodes = (conflict.later.node, conflict.earlier.node)
    return any(module.in_test_function(n) or _is_for_rocm(module, n) or _is_documented(module, n) for n in nodes)


def _is_for_rocm(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether a condition checks for ROCm, where determinism alone selects the default algorithm."""
    for guard in module.guards(node):
        for part in descendants(guard.condition) if guard.condition is not None else ():
            if isinstance(part, cst.Attribute) and module.qualified(part) == "torch.version.hip":
                return True
            if isinstance(part, cst.Name) and "rocm" in part.value.lower():
                return True
    return False


def _is_documented(module: SourceModule, node: cst.CSTNode) -> bool:
    line = module.line(node)
    texts = [module.comments(line, line)]
    function = module.function_of(node)
    if function is not None:
        texts += [function.name.value.replace("_", " "), function.get_docstring() or ""]
    return any(word in text.lower() for text in texts for word in known.INTENT)


def is_conditional(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether a condition on a version, a machine or an option guards the node."""
    for guard in module.guards(node):
        if guard.kind in ("handler", "case"):
            return True
        for part in descendants(guard.condition) if guard.condition is not None else ():
            if isinstance(part, cst.Name) and not known.CHOICE_WORDS.isdisjoint(part.value.lower().split("_")):
                return True
    return False


def is_workaround(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether a comment beside the line mentions a bug that the write works around."""
    line = module.line(node)
    comments = module.comments(line, line).lower()
    return any(word in comments for word in known.BUG_WORDS)

"""How many rounds a loop makes, if that is written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal

if TYPE_CHECKING:
    from torchlint.analysis.code import Code


def rounds(code: Code, loop: cst.CSTNode) -> int | None:
    """The rounds of a loop or comprehension over ``range(3)``, ``range(1, 4)`` or ``(1, 2, 3)``; None if unknown."""
    iterable = loop.iter if isinstance(loop, cst.For) else None
    if isinstance(loop, cst.BaseComp):
        iterable = loop.for_in.iter
    if isinstance(iterable, (cst.List, cst.Tuple, cst.Set)):
        starred = any(isinstance(element, cst.StarredElement) for element in iterable.elements)
        return None if starred else len(iterable.elements)
    if not isinstance(iterable, cst.Call) or code.qualified(iterable.func) != "builtins.range":
        return None
    numbers = [literal(arg.value) for arg in iterable.args if not arg.star and arg.keyword is None]
    if not numbers or len(numbers) != len(iterable.args):
        return None
    known = [number for number in numbers if isinstance(number, int)]
    return len(range(*known)) if len(known) == len(numbers) and 0 not in known[2:] else None

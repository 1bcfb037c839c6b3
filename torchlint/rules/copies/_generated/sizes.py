"""Sizes and ranges as arguments for torch, and whether torch certainly accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable
from torchlint.rules.copies._generated.content import Count
from torchlint.rules.copies._integers import Integers, is_shape

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_ARRAY = "a shape that is an ndarray is not accepted"
_HANDLED = "a negative size raises a RuntimeError, which a handler for ValueError does not catch"


class Sizes:
    """Writes the sizes of one call of NumPy; ``caveats`` say what torch may not accept.

    ``has_dimensions`` becomes false if a shape may be empty.
    """

    def __init__(self, module: SourceModule, call: cst.Call) -> None:
        self._module, self._call = module, call
        self._editor, self._integers = module.shared(Editor), module.shared(Integers)
        self.caveats: list[str] = []
        self.has_dimensions = True

    def separate(self, node: cst.BaseExpression | None) -> str:
        """The sizes as separate arguments, if possible, which ``torch.zeros`` accepts."""
        text = self.shape(node, alone=True)
        elements = node.elements if isinstance(node, (cst.Tuple, cst.List)) else ()
        single = len(elements) == 1 and not self._integers.is_integer(elements[0].value)
        return text if not elements or single or "\n" in text else ", ".join(map(self._element, elements))

    def shape(self, node: cst.BaseExpression | None, *, alone: bool = False) -> str:
        """A shape as one argument; ``alone`` allows an integer."""
        if node is None or isinstance(literal(node), bool):
            raise Unfixable
        text = self._editor.argument(node)
        if isinstance(node, (cst.Tuple, cst.List)):
            self._check([e.value for e in node.elements])
            self.has_dimensions = any(not isinstance(e, cst.StarredElement) for e in node.elements)
            return text if self._editor.is_parenthesized(node) or isinstance(node, cst.List) else f"({text})"
        if is_shape(node):
            self.has_dimensions = False
            return text
        self._check([node])
        if self._integers.is_integer(node):
            return text if alone else f"({text},)"
        if not alone:
            raise Unfixable
        if self._module.value(node).kind is not Kind.SCALAR:
            self.caveats.append(_ARRAY)
            self.has_dimensions = False
        return text

    def one(self, node: cst.BaseExpression) -> str:
        """A single size."""
        self._check([node])
        return self._editor.argument(node)

    def _element(self, element: cst.BaseElement) -> str:
        star = "*" if isinstance(element, cst.StarredElement) else ""
        return f"{star}{self._editor.argument(element.value)}"

    def _check(self, sizes: Sequence[cst.BaseExpression]) -> None:
        proved = all(is_shape(size) or self._integers.is_size(size) for size in sizes)
        if not proved and any(guard.kind == "try" for guard in self._module.guards(self._call)):
            self.caveats.append(_HANDLED)


class RangeArguments:
    """The arguments of a range of integers."""

    def __init__(self, integers: Integers, numbers: Sequence[cst.BaseExpression]) -> None:
        self._integers, self._numbers = integers, numbers

    def numbers(self) -> Count:
        """The sequence of integers."""
        known = [self._integers.constant(number) for number in self._numbers]
        if None in known:
            return Count(from_zero=len(known) == 1)
        if len(known) == 3 and known[2] == 0:
            raise Unfixable
        counted = range(*known)  # type: ignore[arg-type]
        ends = (counted[0], counted[-1]) if counted else (0, 0)
        return Count((min(ends), max(ends)), from_zero=len(known) == 1)

    def is_ascending(self, *, strictly: bool = False) -> bool:
        """Whether the range certainly does not end before it starts; with ``strictly``, it is not empty either."""
        numbers, integers = self._numbers, self._integers
        if len(numbers) == 1:
            least = integers.lower_bound(numbers[0])
            return least is not None and least >= strictly
        step = integers.constant(numbers[2]) if len(numbers) == 3 else 1
        if step is None or step == 0:
            return False
        start, stop = (numbers[0], numbers[1]) if step > 0 else (numbers[1], numbers[0])
        return integers.is_ordered(start, stop, strictly=strictly)

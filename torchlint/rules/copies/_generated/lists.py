"""Content of lists, ranges and filled tensors, as arguments of torch factories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import literal, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.edit.editor import Editor, Unfixable
from torchlint.rules.copies._generated.content import DEFAULT, Constants, Content
from torchlint.rules.copies._generated.sizes import RangeArguments
from torchlint.rules.copies._integers import Integers, is_shape

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.copies._factories import GeneratedData

_NO_SIZES = "for a shape without dimensions the legacy constructor creates an empty tensor"
_EMPTY = "an empty list gives a float32 tensor of shape (0,), and a negative count does not raise an error"


class ListContent:
    """Reads one list, range or filled tensor.

    ``keeps_dtype`` is true if an empty list gets the same dtype.
    """

    def __init__(self, module: SourceModule, found: GeneratedData, *, keeps_dtype: bool) -> None:
        self._found, self._keeps_dtype = found, keeps_dtype
        self._editor, self._integers = module.shared(Editor), module.shared(Integers)

    def counted(self) -> Content:
        """The content of ``range(n)``, in whatever list."""
        data = self._found.data
        assert isinstance(data, cst.Call)
        numbers = [arg.value for arg in data.args]
        if any(arg.star or arg.keyword for arg in data.args) or not 1 <= len(numbers) <= 3:
            raise Unfixable
        counted = RangeArguments(self._integers, numbers)
        text = ", ".join(self._editor.argument(number) for number in numbers)
        content = Content("torch.arange", text, "int64", ("int64",), counted.numbers(), from_list=True)
        if not counted.is_ascending(strictly=not self._keeps_dtype):
            content.caveats.append(_EMPTY)
        return content

    def repeated(self) -> Content:
        """The content of ``[v] * n``, and of comprehensions of such lists."""
        value = self._found.constant
        if self._found.data is None or not isinstance(value, (bool, int, float)):
            raise Unfixable
        lengths = self._lengths(self._found.data)
        last = self._integers.lower_bound(lengths[-1])
        keeps = self._keeps_dtype or isinstance(value, float)
        sure = last is not None and last >= (not keeps)
        sure = sure and all(self._integers.is_positive(length) for length in lengths[:-1])
        own = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else DEFAULT
        sizes = ", ".join(self._editor.argument(length) for length in lengths)
        content = Content(self._found.factory, sizes, DEFAULT, (own,), from_list=True)
        content.numbers = Constants((value,), self._found.factory)
        content.caveats = [] if sure else [_EMPTY]
        if self._found.factory == "torch.full":
            content.arguments = f"({sizes},)" if len(lengths) == 1 else f"({sizes})"
            content.fill, content.own_dtype = value, own
        return content

    def _lengths(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The lengths of a list and of its nested lists."""
        if isinstance(node, cst.BinaryOperation):
            display, count = (node.left, node.right) if isinstance(node.left, cst.List) else (node.right, node.left)
            assert isinstance(display, cst.List)
            return [count]
        if not isinstance(node, cst.ListComp) or not isinstance(node.for_in.iter, cst.Call):
            raise Unfixable
        counts = [arg.value for arg in node.for_in.iter.args]
        inner = self._lengths(node.elt) if isinstance(node.elt, (cst.ListComp, cst.BinaryOperation)) else []
        names = {n.value for n in descendants(node.for_in.target) if isinstance(n, cst.Name)}
        used = {n.value for length in inner for n in descendants(length) if isinstance(n, cst.Name)}
        if len(counts) != 1 or names & used:
            raise Unfixable  # rows have different lengths
        return [counts[0], *inner]

    def filled(self) -> Content:
        """The content of ``torch.FloatTensor(n, m).fill_(v)``."""
        data, given = self._found.data, [arg.value for arg in self._found.call.args]
        assert isinstance(data, cst.Call)
        sizes = [f"{arg.star}{self._editor.argument(arg.value)}" for arg in data.args]
        content = Content(self._found.factory, ", ".join(sizes), from_list=True)
        if len(data.args) == 1 and data.args[0].star:
            content.caveats.append(_NO_SIZES)
        if self._found.source != "fill_":
            if given:
                raise Unfixable
            content.numbers = Constants((0,), self._found.factory) if self._found.source == "zero_" else None
            return content
        value = literal(positional(self._found.call, 0))
        if len(given) != 1 or not isinstance(value, (int, float)) or isinstance(value, bool):
            raise Unfixable
        content.numbers = Constants((value,), self._found.factory)
        if self._found.factory == "torch.full":
            single = len(sizes) == 1 and is_shape(data.args[0].value) and not data.args[0].star
            content.arguments = sizes[0] if single else f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
            content.fill, content.own_dtype = value, DEFAULT if isinstance(value, float) else "int64"
            content.fill_text = self._editor.argument(given[0])
        return content

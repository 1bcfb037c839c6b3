"""Content of NumPy calls, as arguments of the torch factories for the same content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import Arguments, bind, literal, method
from torchlint.edit.editor import Editor, Unfixable
from torchlint.rules.copies._factories import has_unknown_dtype
from torchlint.rules.copies._generated.content import DEFAULT, Constants, Content
from torchlint.rules.copies._generated.sizes import RangeArguments, Sizes
from torchlint.rules.copies._integers import Integers

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.copies._factories import GeneratedData

_RANDOM = "torch's generator draws different numbers than NumPy's, and is seeded separately"
_ROUNDED = "the last bits of the content may differ"
_FLOAT_ARGUMENTS = "with float arguments the dtype and the number of elements may differ"
_UNINITIALIZED = "uninitialized memory is filled where deterministic algorithms are required"
_BACKWARD = "a range that ends before it starts is empty in NumPy but an error in torch"


class ArrayContent:
    """Reads one call of NumPy, with the calls of ``reshape`` and ``astype`` on its result."""

    def __init__(self, module: SourceModule, found: GeneratedData) -> None:
        self._module, self._found = module, found
        self._editor, self._integers = module.shared(Editor), module.shared(Integers)
        self._sizes = Sizes(module, found.call)

    def read(self) -> Content:
        """The content. Raises :class:`Unfixable`."""
        data = self._found.data
        assert isinstance(data, cst.Call)
        builder = _BUILDERS.get(self._found.source.removeprefix("numpy."))
        if builder is None or any(arg.star for arg in data.args):
            raise Unfixable
        content = builder(self, data)
        dtype = self._module.value(data).dtype
        content.stages = (dtype,) if dtype is not None or has_unknown_dtype(self._module, data) else content.stages
        self._add_forms(content, data)
        content.caveats += self._sizes.caveats
        content.has_dimensions = self._sizes.has_dimensions and ".reshape(" not in content.form
        return content

    def _add_forms(self, content: Content, data: cst.Call) -> None:
        """Add ``.reshape(..)`` of the array as a method of the tensor, and ``astype`` as a conversion."""
        outer = self._module.parent(self._module.parent(data) or data)
        while isinstance(outer, cst.Call) and outer is not self._found.call:
            if method(outer) == "reshape":
                if any(arg.keyword is not None or arg.star for arg in outer.args):
                    raise Unfixable
                content.form += f".reshape({', '.join(self._editor.argument(arg.value) for arg in outer.args)})"
            elif len(outer.args) > (method(outer) == "astype"):
                raise Unfixable
            elif method(outer) == "astype":
                content.stages += (self._module.value(outer).dtype,)
            outer = self._module.parent(self._module.parent(outer) or outer)

    def _arguments(self, call: cst.Call, parameters: tuple[str, ...]) -> Arguments:
        """The arguments by name. Raises :class:`Unfixable` if the torch factory lacks one."""
        given = bind(call, parameters)
        if given.opaque or len(given.given) != len(call.args) or not set(given.given) <= set(parameters):
            raise Unfixable
        return given

    # -- functions ---------------------------------------------------------------------------------

    def constant(self, call: cst.Call) -> Content:
        """The content of ``np.zeros``, ``np.ones`` or ``np.empty``."""
        given = self._arguments(call, ("shape", "dtype"))
        values = {"zeros": (0,), "ones": (1,)}.get(self._found.source.rpartition(".")[2], ())
        content = self._content(self._sizes.separate(given.get("shape")))
        content.numbers = Constants(values, self._found.factory)
        content.caveats = [] if values else [_UNINITIALIZED]
        return content

    def full(self, call: cst.Call) -> Content:
        """The content of ``np.full``."""
        given = self._arguments(call, ("shape", "fill_value", "dtype"))
        filled = given.get("fill_value")
        value = literal(filled)
        if filled is None or not isinstance(value, (int, float)):
            raise Unfixable
        own = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        content = self._content(self._sizes.shape(given.get("shape")), own)
        content.own_dtype = DEFAULT if own == "float64" else own
        content.numbers, content.fill = Constants((value,), self._found.factory), value
        content.fill_text = self._editor.argument(filled)
        return content

    def eye(self, call: cst.Call) -> Content:
        """The content of ``np.eye`` without an offset, or of ``np.identity``."""
        given = self._arguments(call, ("N", "M", "k", "dtype") if self._found.source == "numpy.eye" else ("n", "dtype"))
        if given.get("k") is not None and literal(given.get("k")) != 0:
            raise Unfixable
        rows, columns = given.get("N") or given.get("n"), given.get("M")
        if rows is None:
            raise Unfixable
        listed = [rows, *([columns] if columns is not None and literal(columns) is not None else [])]
        content = self._content(", ".join(self._sizes.one(node) for node in listed))
        content.numbers = Constants((0, 1), self._found.factory)
        return content

    def arange(self, call: cst.Call) -> Content:
        """The content of ``np.arange``."""
        numbers = [arg.value for arg in call.args if arg.keyword is None]
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        if not 1 <= len(numbers) <= 3 or not keywords <= {"dtype"}:
            raise Unfixable
        counted = RangeArguments(self._integers, numbers)
        content = self._content(", ".join(self._editor.argument(number) for number in numbers), "int64")
        content.own_dtype, content.numbers = "int64", counted.numbers()
        if not all(self._integers.is_integer(number) for number in numbers):
            content.caveats.append(_FLOAT_ARGUMENTS)
        elif not counted.is_ascending():
            content.caveats.append(_BACKWARD)
        return content

    def linspace(self, call: cst.Call) -> Content:
        """The content of ``np.linspace`` that includes its end point."""
        given = self._arguments(call, ("start", "stop", "num", "endpoint", "retstep", "dtype"))
        ends = [given.get("start"), given.get("stop")]
        kept = {"endpoint": True, "retstep": False}
        if any(name in given and literal(given.get(name)) is not value for name, value in kept.items()):
            raise Unfixable
        number = given.get("num")
        texts = [self._editor.argument(end) for end in ends if end is not None]
        if len(texts) != 2:
            raise Unfixable
        content = self._content(", ".join([*texts, self._editor.argument(number) if number else "50"]))
        content.caveats = [_ROUNDED]
        return content

    # -- random numbers ----------------------------------------------------------------------------

    def sampled(self, call: cst.Call) -> Content:
        """The content of ``np.random.rand(2, 3)``, or of a function with one size argument."""
        if any(arg.keyword is not None and arg.keyword.value != "size" for arg in call.args) or not call.args:
            raise Unfixable
        if self._found.source in ("numpy.random.rand", "numpy.random.randn"):
            return self._random(", ".join(self._editor.argument(arg.value) for arg in call.args))
        return self._random(self._sizes.shape(call.args[0].value))

    def uniform_or_normal(self, call: cst.Call) -> Content:
        """The content of ``np.random.uniform`` from 0 to 1, or of ``np.random.normal``."""
        normal = self._found.source == "numpy.random.normal"
        first, second = ("loc", "scale") if normal else ("low", "high")
        given = self._arguments(call, (first, second, "size"))
        ends = [literal(given.get(name)) if name in given else default for name, default in ((first, 0), (second, 1))]
        size = self._sizes.shape(given.get("size"))
        if not all(isinstance(end, (int, float)) for end in ends) or (not normal and ends != [0, 1]):
            raise Unfixable
        return self._random(f"{float(str(ends[0]))}, {float(str(ends[1]))}, {size}" if normal else size)

    def randint(self, call: cst.Call) -> Content:
        """The content of ``np.random.randint``."""
        given = self._arguments(call, ("low", "high", "size", "dtype"))
        ends = [given.get("low"), given.get("high")]
        texts = [self._editor.argument(end) for end in ends if end is not None and literal(end) is not None]
        return self._random(", ".join([*texts, self._sizes.shape(given.get("size"))]), "int64")

    def permutation(self, call: cst.Call) -> Content:
        """The content of ``np.random.permutation(n)``."""
        if len(call.args) != 1:
            raise Unfixable
        return self._random(self._editor.argument(call.args[0].value), "int64")

    def _random(self, arguments: str, dtype: str = "float64") -> Content:
        content = self._content(arguments, dtype)
        content.own_dtype = DEFAULT if dtype == "float64" else dtype
        content.caveats = [_RANDOM]
        return content

    def _content(self, arguments: str, dtype: str = "float64") -> Content:
        return Content(self._found.factory, arguments, stages=(dtype,))


_BUILDERS: Mapping[str, Callable[[ArrayContent, cst.Call], Content]] = {
    "zeros": ArrayContent.constant,
    "ones": ArrayContent.constant,
    "empty": ArrayContent.constant,
    "full": ArrayContent.full,
    "eye": ArrayContent.eye,
    "identity": ArrayContent.eye,
    "arange": ArrayContent.arange,
    "linspace": ArrayContent.linspace,
    "random.rand": ArrayContent.sampled,
    "random.randn": ArrayContent.sampled,
    "random.random": ArrayContent.sampled,
    "random.random_sample": ArrayContent.sampled,
    "random.standard_normal": ArrayContent.sampled,
    "random.normal": ArrayContent.uniform_or_normal,
    "random.uniform": ArrayContent.uniform_or_normal,
    "random.randint": ArrayContent.randint,
    "random.permutation": ArrayContent.permutation,
}

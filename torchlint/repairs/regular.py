"""TL103: the torch factory that makes what NumPy or Python made, with its dtype written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.calls import Arguments, bind, keyword, literal, method, positional, receiver
from torchlint.analysis.factories import RegularData
from torchlint.analysis.integers import Integers, is_shape
from torchlint.analysis.moves import Moves
from torchlint.analysis.values import Kind
from torchlint.analysis.walk import descendants
from torchlint.knowledge.factories import CONSTRUCTORS
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.repairs.editor import Editor, Unfixable, or_none
from torchlint.repairs.names import Speller
from torchlint.repairs.targets import Targets

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_KEPT = ("dtype", "device", "requires_grad", "pin_memory")
# Factories whose dtype follows from their arguments.
_COUNTING = frozenset({"torch.arange", "torch.randint", "torch.randperm"})
_RANDOM = "torch's generator draws other numbers than NumPy's, and other seeds control it"
_ROUNDED = "the last bits of the content may differ"
_EMPTY = "an empty list gives a float32 tensor of shape (0,), and a negative count raises no error"
_ARRAY = "a shape that is an ndarray is not accepted"
_WHOLE = "with float arguments the dtype and the number of elements may differ"
_UNSET = "memory that nobody has set is filled where deterministic algorithms are demanded"


@dataclass
class _Content:
    """The arguments of the factory, the dtype of its content, and what may change."""

    arguments: str
    dtype: str | None = None
    caveats: list[str] = field(default_factory=list)
    form: str = ""


@or_none
def made_by_torch(module: SourceModule, found: RegularData) -> Fix:
    """``torch.tensor(np.zeros(n))`` becomes ``torch.zeros(n, dtype=torch.float64)``."""
    return _Regular(module, found).fix()


class _Regular:
    """Rewrites one constructor of regular content."""

    def __init__(self, module: SourceModule, found: RegularData) -> None:
        if found.data is None or not any(around is found.call for around in module.ancestors(found.data)):
            raise Unfixable  # the content is made in another statement
        self.module = module
        self.found = found
        self.data = found.data
        self.editor = module.shared(Editor)
        self.integers = module.shared(Integers)
        self.dtype = keyword(found.call, "dtype")

    def fix(self) -> Fix:
        content = self._content()
        made = receiver(self.found.call) if self.found.source.endswith("_") else self.found.call
        assert isinstance(made, cst.Call)
        legacy = self.module.qualified(made.func)
        if legacy not in LEGACY and legacy not in CONSTRUCTORS:
            raise Unfixable  # the type is chosen at run time
        arguments = [content.arguments, *self._dtype(content, legacy), *self._kept(made, legacy)]
        factory = module_name(self.module, made, self.found.factory)
        text = f"{factory}({', '.join(filter(None, arguments))}){content.form}"
        caveat = "; ".join(content.caveats) or None
        edit: Edit = self.editor.replace_inside(self.found.call, text)
        title = f"make it with `{self.found.factory}`"
        return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, (edit,), caveat)

    # -- keywords --------------------------------------------------------------------------------

    def _dtype(self, content: _Content, legacy: str | None) -> list[str]:
        """``dtype=``, as it was asked for or as NumPy or the list would have made it."""
        if self.dtype is not None:
            return [f"dtype={self.editor.argument(self.dtype)}"]
        if legacy in LEGACY:
            name = LEGACY_DTYPES[str(legacy).rpartition(".")[2].removesuffix("Tensor")]
            if str(legacy).rpartition(".")[2] == "Tensor":
                return self._default_dtype()
            return [f"dtype={module_name(self.module, self.found.call, f'torch.{name}')}"]
        if content.dtype is None:
            return []
        return [f"dtype={module_name(self.module, self.found.call, f'torch.{content.dtype}')}"]

    def _default_dtype(self) -> list[str]:
        """``torch.Tensor`` has the default dtype, as have factories that are not given whole numbers."""
        if self.found.factory in _COUNTING or (self.found.factory == "torch.full" and self.found.source != "fill_"):
            raise Unfixable
        return []

    def _kept(self, made: cst.Call, legacy: str | None) -> list[str]:
        """The other keywords of the constructor; the device of ``torch.cuda.FloatTensor``."""
        if legacy in LEGACY:
            return [] if legacy == "torch.Tensor" else self._device(LEGACY[str(legacy)], made)
        given = [arg for arg in made.args if arg.keyword is not None and arg.keyword.value not in ("data", "obj")]
        names = [arg.keyword.value for arg in given if arg.keyword is not None]
        if any(name not in _KEPT for name in names) or len(made.args) - len(given) != 1:
            raise Unfixable
        rest = [arg for arg, name in zip(given, names, strict=True) if name != "dtype"]
        kept = [f"{arg.keyword.value}={self.editor.argument(arg.value)}" for arg in rest if arg.keyword is not None]
        return [*kept, *(self._device("cpu", made) if legacy == "torch.from_numpy" else [])]

    def _device(self, device: str, made: cst.Call) -> list[str]:
        """The device of a constructor that heeds no default device; not written where a move follows anyway."""
        if device == "cpu" and self.module.shared(Moves).of(self.found.call) is not None:
            return []
        return [f"device={self.module.shared(Targets).quoted(device, made)}"]

    # -- content ---------------------------------------------------------------------------------

    def _content(self) -> _Content:
        if self.found.source.endswith("_"):
            return self._filled()
        if self.found.source == "range":
            return self._counted()
        if self.found.source == "a list":
            return self._repeated()
        assert isinstance(self.data, cst.Call)
        builder = _BUILDERS.get(self.found.source.removeprefix("numpy."))
        if builder is None or any(arg.star for arg in self.data.args):
            raise Unfixable
        content = builder(self, self.data)
        content.dtype = self.found.dtype or content.dtype
        if content.dtype is None and self.dtype is None and not self._is_legacy():
            raise Unfixable
        content.form = self._form()
        return content

    def _is_legacy(self) -> bool:
        return self.module.qualified(self.found.call.func) in LEGACY

    def _form(self) -> str:
        """``.reshape(..)`` of the array, as a method of the tensor; ``astype`` and ``copy`` have done their work."""
        text = ""
        outer = self.module.parent(self.module.parent(self.data) or self.data)
        while isinstance(outer, cst.Call) and outer is not self.found.call:
            if method(outer) == "reshape":
                if any(arg.keyword is not None or arg.star for arg in outer.args):
                    raise Unfixable
                text += f".reshape({', '.join(self.editor.argument(arg.value) for arg in outer.args)})"
            elif len(outer.args) > (method(outer) == "astype"):
                raise Unfixable
            outer = self.module.parent(self.module.parent(outer) or outer)
        return text

    def size(self, node: cst.BaseExpression | None, caveats: list[str], *, as_tuple: bool = False) -> str:
        """A shape: an integer, a display, ``x.shape``; anything else is not sure to be one for torch."""
        if node is None:
            raise Unfixable
        text = self.editor.argument(node)
        if isinstance(node, (cst.Tuple, cst.List)):
            return text if self.editor.is_bracketed(node) or isinstance(node, cst.List) else f"({text})"
        if is_shape(node):
            return text
        if self.integers.is_integer(node):
            return f"({text},)" if as_tuple else text
        if as_tuple:
            raise Unfixable
        if self.module.value(node).kind is not Kind.SCALAR:
            caveats.append(_ARRAY)
        return text

    def constant(self, call: cst.Call) -> _Content:
        """``np.zeros``, ``np.ones``, ``np.empty``."""
        given = self._bound(call, ("shape", "dtype"))
        caveats: list[str] = [_UNSET] if self.found.source == "numpy.empty" else []
        return _Content(self.size(given.get("shape"), caveats), caveats=caveats)

    def full(self, call: cst.Call) -> _Content:
        """``np.full``."""
        given = self._bound(call, ("shape", "fill_value", "dtype"))
        value = literal(given.get("fill_value"))
        if not isinstance(value, (int, float)) or isinstance(value, complex):
            raise Unfixable
        wanted = self.dtype if self.dtype is not None else given.get("dtype")
        name = self.module.value(wanted).literal if wanted is not None else self.found.dtype
        if isinstance(value, float) and name is not None and not name.startswith("float"):
            raise Unfixable  # NumPy cuts the fraction off
        shape = self.size(given.get("shape"), [], as_tuple=True)
        fill = given.get("fill_value")
        assert fill is not None
        dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
        return _Content(f"{shape}, {self.editor.argument(fill)}", None if "dtype" in given else dtype)

    def eye(self, call: cst.Call) -> _Content:
        """``np.eye`` without an offset, and ``np.identity``."""
        given = self._bound(call, ("N", "M", "k", "dtype") if self.found.source == "numpy.eye" else ("n", "dtype"))
        if literal(given.get("k")) not in (..., 0) or (given.get("k") is not None and literal(given.get("k")) != 0):
            raise Unfixable
        rows = given.get("N") or given.get("n")
        columns = given.get("M")
        if rows is None:
            raise Unfixable
        listed = [rows, *([columns] if columns is not None and literal(columns) is not None else [])]
        return _Content(", ".join(self.editor.argument(node) for node in listed))

    def arange(self, call: cst.Call) -> _Content:
        """``np.arange`` of whole numbers."""
        numbers = [arg.value for arg in call.args if arg.keyword is None]
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        if not 1 <= len(numbers) <= 3 or not keywords <= {"dtype"}:
            raise Unfixable
        whole = all(self.integers.is_integer(number) for number in numbers)
        text = ", ".join(self.editor.argument(number) for number in numbers)
        return _Content(text, "int64" if not keywords else None, [] if whole else [_WHOLE])

    def linspace(self, call: cst.Call) -> _Content:
        """``np.linspace`` with its end point."""
        given = self._bound(call, ("start", "stop", "num", "dtype"))
        ends = [given.get("start"), given.get("stop")]
        number = given.get("num")
        texts = [self.editor.argument(end) for end in ends if end is not None]
        if len(texts) != 2:
            raise Unfixable
        return _Content(", ".join([*texts, self.editor.argument(number) if number else "50"]), caveats=[_ROUNDED])

    def drawn(self, call: cst.Call) -> _Content:
        """``np.random.rand(2, 3)``, and functions that take one size."""
        if any(arg.keyword is not None and arg.keyword.value != "size" for arg in call.args) or not call.args:
            raise Unfixable
        if self.found.source in ("numpy.random.rand", "numpy.random.randn"):
            return _Content(", ".join(self.editor.argument(a.value) for a in call.args), "float64", [_RANDOM])
        return _Content(self.size(call.args[0].value, [], as_tuple=True), "float64", [_RANDOM])

    def between(self, call: cst.Call) -> _Content:
        """``np.random.uniform`` from 0 to 1, and ``np.random.normal``."""
        normal = self.found.source == "numpy.random.normal"
        first, second = ("loc", "scale") if normal else ("low", "high")
        given = self._bound(call, (first, second, "size"))
        ends = [literal(given.get(name)) if name in given else default for name, default in ((first, 0), (second, 1))]
        size = self.size(given.get("size"), [], as_tuple=True)
        if not all(isinstance(end, (int, float)) for end in ends) or (not normal and ends != [0, 1]):
            raise Unfixable
        text = f"{float(str(ends[0]))}, {float(str(ends[1]))}, {size}" if normal else size
        return _Content(text, "float64", [_RANDOM])

    def integers_drawn(self, call: cst.Call) -> _Content:
        """``np.random.randint``."""
        given = self._bound(call, ("low", "high", "size", "dtype"))
        ends = [self.editor.argument(end) for name in ("low", "high") if (end := given.get(name)) is not None]
        return _Content(", ".join([*ends, self.size(given.get("size"), [], as_tuple=True)]), "int64", [_RANDOM])

    def permutation(self, call: cst.Call) -> _Content:
        """``np.random.permutation(n)``."""
        if len(call.args) != 1:
            raise Unfixable
        return _Content(self.editor.argument(call.args[0].value), "int64", [_RANDOM])

    def _bound(self, call: cst.Call, parameters: tuple[str, ...]) -> Arguments:
        """The arguments by name; raises :class:`Unfixable` for any that torch's factory lacks."""
        given = bind(call, parameters)
        if given.opaque or len(given.given) != len(call.args) or not set(given.given) <= set(parameters):
            raise Unfixable
        return given

    # -- lists -----------------------------------------------------------------------------------

    def _counted(self) -> _Content:
        """``range(n)``, whatever it is listed with."""
        assert isinstance(self.data, cst.Call)
        numbers = [arg.value for arg in self.data.args]
        if any(arg.star or arg.keyword for arg in self.data.args) or not numbers:
            raise Unfixable
        text = ", ".join(self.editor.argument(number) for number in numbers)
        sure = len(numbers) == 1 and self._is_count(numbers[0])
        return _Content(text, "int64", [] if sure else [_EMPTY])

    def _is_count(self, node: cst.BaseExpression) -> bool:
        """As many as that make the same tensor, also when there are none."""
        keeps = self.dtype is not None or self._is_legacy() or isinstance(self.found.constant, float)
        return self.integers.is_positive(node) or (keeps and self.integers.is_size(node))

    def _repeated(self) -> _Content:
        """``[v] * n``, and comprehensions of those."""
        lengths = self._lengths(self.data)
        sure = self._is_count(lengths[-1]) and all(self.integers.is_positive(length) for length in lengths[:-1])
        sizes = [self.editor.argument(length) for length in lengths]
        caveats = [] if sure else [_EMPTY]
        if self.found.factory != "torch.full":
            shape = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
            return _Content(shape, self.found.dtype, caveats)
        shape = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        return _Content(f"{shape}, {self.found.constant!r}", self.found.dtype, caveats)

    def _lengths(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """How long the list is, and each list in it."""
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
            raise Unfixable  # rows of different lengths
        return [counts[0], *inner]

    # -- filled in place -------------------------------------------------------------------------

    def _filled(self) -> _Content:
        """``torch.FloatTensor(n, m).fill_(v)``."""
        assert isinstance(self.data, cst.Call)
        sizes = [f"{arg.star}{self.editor.argument(arg.value)}" for arg in self.data.args]
        given = [arg.value for arg in self.found.call.args]
        if self.found.source != "fill_":
            if given:
                raise Unfixable
            return _Content(", ".join(sizes))
        value = literal(positional(self.found.call, 0))
        if len(given) != 1 or not isinstance(value, (int, float)) or isinstance(value, bool):
            raise Unfixable
        default = str(self.module.qualified(self.data.func)).endswith(".Tensor")
        written = repr(float(value)) if default else self.editor.argument(given[0])
        single = len(sizes) == 1 and is_shape(self.data.args[0].value) and not self.data.args[0].star
        shape = sizes[0] if single else f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        return _Content(f"{shape}, {written}")


def module_name(module: SourceModule, call: cst.Call, name: str) -> str:
    """The spelling of a name of torch at a call that is one of torch's own."""
    return module.shared(Speller).sibling(call, name).text


_BUILDERS: Mapping[str, Callable[[_Regular, cst.Call], _Content]] = {
    "zeros": _Regular.constant,
    "ones": _Regular.constant,
    "empty": _Regular.constant,
    "full": _Regular.full,
    "eye": _Regular.eye,
    "identity": _Regular.eye,
    "arange": _Regular.arange,
    "linspace": _Regular.linspace,
    "random.rand": _Regular.drawn,
    "random.randn": _Regular.drawn,
    "random.random": _Regular.drawn,
    "random.random_sample": _Regular.drawn,
    "random.standard_normal": _Regular.drawn,
    "random.normal": _Regular.between,
    "random.uniform": _Regular.between,
    "random.randint": _Regular.integers_drawn,
    "random.permutation": _Regular.permutation,
}

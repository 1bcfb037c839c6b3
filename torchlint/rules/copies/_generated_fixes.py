"""Fixes of TL103: content created by NumPy or by Python, as calls of torch factories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, bind, keyword, literal
from torchlint.analysis.things.defaults import Defaults
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.proof import Proof, fix
from torchlint.edit.targets import Targets
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Fix

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.rules.copies._factories import GeneratedData

# The parameters of functions of NumPy whose arguments torch's factory has as well, in the same order.
_PARAMETERS = {
    "numpy.zeros": ("shape", "dtype"),
    "numpy.ones": ("shape", "dtype"),
    "numpy.empty": ("shape", "dtype"),
    "numpy.full": ("shape", "fill_value", "dtype"),
    "numpy.eye": ("N", "M"),
    "numpy.identity": ("n", "dtype"),
    "numpy.arange": ("stop",),
    "numpy.random.random": ("size",),
    "numpy.random.random_sample": ("size",),
    "numpy.random.standard_normal": ("size",),
}
_FILLING = ("numpy.zeros", "numpy.ones")
_FLAT = ("numpy.random.rand", "numpy.random.randn")
_RANDOM = "torch's generator draws different numbers than NumPy's, and is seeded separately"
_SIZE = "what torch does not accept as a size, such as an array, raises an error; so does a negative size, another one"
_CONVERTED = "the numbers may be converted or rounded differently, and others may be out of the dtype's range"
_EMPTY = "an empty list gives a float32 tensor of shape (0,), and a negative count does not raise an error"
_STRIDES = "a tensor without elements gets other strides"


@or_none
def made_by_torch(module: SourceModule, found: GeneratedData) -> Fix:
    """Replace ``torch.tensor(np.zeros(n))`` by ``torch.zeros(n, dtype=torch.float64)``."""
    return _Rewrite(module, found).fix()


class _Rewrite:
    """The replacement of one constructor."""

    def __init__(self, module: SourceModule, found: GeneratedData) -> None:
        self._module, self._found = module, found
        self._editor, self._proof = module.shared(Editor), module.shared(Proof)
        self._call, self._constructor = found.call, str(module.qualified(found.call.func))
        self._caveats: list[str] = []

    def fix(self) -> Fix:
        given, dtype = self._content()
        arguments = ", ".join([*given, *([f"dtype={dtype}"] if dtype else []), *self._device()])
        factory = self._module.shared(Speller).sibling(self._call, self._found.factory).text
        edit = self._editor.replace_inside(self._found.call, f"{factory}({arguments})")
        caveats = [*self._caveats, *self._proof.around(self._call)]
        return fix(f"create it with `{self._found.factory}`", (edit,), caveats)

    def _content(self) -> tuple[list[str], str | None]:
        """The arguments of the factory, and the dtype if it is not the one that the factory chooses itself."""
        self._check_other_arguments()
        if self._found.source == "range":
            return self._counted()
        if self._found.source == "a list":
            return self._repeated()
        return self._from_numpy()

    # -- lists -------------------------------------------------------------------------------------

    def _counted(self) -> tuple[list[str], str | None]:
        """``range(n)``, in whatever list."""
        data = self._found.data
        assert isinstance(data, cst.Call)
        if any(arg.star or arg.keyword for arg in data.args) or not 1 <= len(data.args) <= 3:
            raise Unfixable
        self._caveats += [_EMPTY, _CONVERTED]
        return [self._editor.argument(arg.value) for arg in data.args], self._wanted(None)

    def _repeated(self) -> tuple[list[str], str | None]:
        """``[v] * n``."""
        data, value = self._found.data, self._found.constant
        if not isinstance(data, cst.BinaryOperation) or not isinstance(value, (bool, int, float)):
            raise Unfixable
        count = self._editor.argument(data.right if isinstance(data.left, cst.List) else data.left)
        self._caveats += [_EMPTY, _CONVERTED]
        own = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else None
        if self._found.factory != "torch.full":
            return [count], self._wanted(own)
        return [f"({count},)", repr(value)], self._wanted(None)

    # -- arrays ------------------------------------------------------------------------------------

    def _from_numpy(self) -> tuple[list[str], str | None]:
        """A call of NumPy that takes the arguments of torch's factory, without ``reshape`` and ``astype``."""
        data, source = self._found.data, self._found.source
        assert isinstance(data, cst.Call)
        if argument(self._call, "data", 0) is not data or any(arg.star for arg in data.args):
            raise Unfixable
        dtype = self._module.value(data).dtype
        if source in _FLAT and not any(arg.keyword for arg in data.args):
            sizes = [arg.value for arg in data.args]
        else:
            parameters = _PARAMETERS.get(source, ())
            given = bind(data, parameters)
            if len(given.given) != len(data.args) or not set(given.given) <= set(parameters):
                raise Unfixable
            sizes = [value for name, value in given.given.items() if name != "dtype"]
        if dtype is None or not sizes or self._constructor in LEGACY or dtype.startswith("uint"):
            raise Unfixable
        self._check_sizes(sizes[:1] if source == "numpy.full" else sizes, dtype)
        texts = [self._editor.argument(value) for value in sizes]
        return texts, self._wanted(None if self._found.factory == "torch.arange" and dtype == "int64" else dtype)

    def _check_sizes(self, sizes: list[cst.BaseExpression], dtype: str) -> None:
        """Note what is not certainly the same: unproved sizes, random numbers, and numbers that are converted."""
        members = [
            e.value for size in sizes for e in (size.elements if isinstance(size, (cst.Tuple, cst.List)) else [])
        ]
        if not all(map(self._proof.is_size, members or sizes)):
            self._caveats.append(_SIZE)
        elif len(members) > 1 and not all(literal(member) for member in members):
            self._caveats.append(_STRIDES)
        if self._constructor != "torch.tensor":
            self._caveats += self._proof.with_new_memory()
        if ".random." in self._found.source:
            self._caveats.append(_RANDOM)
        elif self._found.source not in _FILLING or not self._converts_alike(dtype):
            self._caveats.append(_CONVERTED)

    def _converts_alike(self, dtype: str) -> bool:
        """Whether zeros and ones of a dtype become those of the one that is asked for, without a warning."""
        asked = keyword(self._call, "dtype")
        return asked is None or (self._proof.dtype(asked) is not None and "complex" not in dtype)

    # -- other arguments ---------------------------------------------------------------------------

    def _check_other_arguments(self) -> None:
        given = {arg.keyword.value for arg in self._call.args if arg.keyword is not None} - {"data", "obj"}
        if not given <= {"dtype", "device"} or len(self._call.args) - len(given) != 1:
            raise Unfixable

    def _wanted(self, own: str | None) -> str | None:
        """The dtype that the constructor asks for, or else that of the content."""
        asked = keyword(self._call, "dtype")
        if asked is not None and literal(asked) is not None:
            return self._editor.argument(asked)
        if self._constructor in LEGACY:
            return self._of_legacy()
        return self._dtype(own) if own is not None else None

    def _of_legacy(self) -> str:
        """The dtype of a legacy constructor: that of ``torch.Tensor`` is the default dtype."""
        defaults = self._module.shared(Defaults)
        differs = defaults.sets_tensor_type or defaults.dtype_may_differ(self._call)
        default = self._constructor == "torch.Tensor" and differs
        return f"{self._dtype('get_default_dtype')}()" if default else self._dtype(LEGACY_DTYPES[self._constructor])

    def _dtype(self, name: str) -> str:
        return self._module.shared(Speller).sibling(self._call, f"torch.{name}").text

    def _device(self) -> list[str]:
        """The device that the constructor names, or the CPU where factories may have another default device."""
        given, targets = keyword(self._call, "device"), self._module.shared(Targets)
        if given is not None:
            return [f"device={self._editor.argument(given)}"]
        if LEGACY.get(self._constructor) == "cuda":
            return [f"device={targets.quoted('cuda', self._call)}"]
        ignores = self._constructor in LEGACY or self._constructor == "torch.from_numpy"
        if ignores and self._module.shared(Defaults).device_may_differ(self._call):
            return [f"device={targets.quoted('cpu', self._call)}"]
        return []

"""Replaces the conversion of generated content by a call of the torch factory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.values.dtypes import requested_dtype
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import Targets
from torchlint.knowledge.factories import CONSTRUCTORS
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._factories import GeneratedData
from torchlint.rules.copies._generated.arrays import ArrayContent
from torchlint.rules.copies._generated.content import DEFAULT, Content
from torchlint.rules.copies._generated.conversion import Conversion, DtypeText
from torchlint.rules.copies._generated.lists import ListContent

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Parameters of constructors that the factories have as well.
_SHARED_PARAMETERS = {
    "torch.tensor": frozenset({"dtype", "device", "requires_grad", "pin_memory"}),
    "torch.as_tensor": frozenset({"dtype", "device"}),
    "torch.asarray": frozenset({"dtype", "device", "requires_grad"}),
    "torch.from_numpy": frozenset[str](),
}
# Constructors whose tensors share the memory of the array.
_SHARING = frozenset({"torch.as_tensor", "torch.asarray", "torch.from_numpy"})
_SIZE = "a negative size raises a RuntimeError instead of a ValueError, which the file catches"
_RESIZED = "the memory of the tensor can be resized, which that of an array cannot"
_NUMBER = "an array without dimensions is interpreted as a size"


@or_none
def made_by_torch(module: SourceModule, found: GeneratedData) -> Fix:
    """Replace ``torch.tensor(np.zeros(n))`` by ``torch.zeros(n, dtype=torch.float64)``."""
    return _Rewrite(module, found).fix()


class _Rewrite:
    """The replacement of one constructor."""

    def __init__(self, module: SourceModule, found: GeneratedData) -> None:
        if found.data is None or not any(around is found.call for around in module.ancestors(found.data)):
            raise Unfixable  # the content is created in another statement
        self._module, self._found = module, found
        self._editor = module.shared(Editor)
        self._dtype = keyword(found.call, "dtype")
        made = receiver(found.call) if found.source.endswith("_") else found.call
        assert isinstance(made, cst.Call)
        self._call, self._constructor = made, str(module.qualified(made.func))
        if self._constructor not in LEGACY and self._constructor not in CONSTRUCTORS:
            raise Unfixable  # the type is selected at run time

    def fix(self) -> Fix:
        content = self._content()
        written = self._dtype_text(content)
        kept = self._other_arguments()
        if (written.method or content.form) and any(not text.startswith("device=") for text in kept):
            raise Unfixable  # integers have no gradients, and a view is not a leaf
        arguments = ", ".join(filter(None, [content.arguments, content.fill_argument(), written.keyword, *kept]))
        factory = self._module.shared(Speller).sibling(self._call, self._found.factory).text
        text = f"{factory}({arguments}){written.method}{content.form}"
        caveat = "; ".join(dict.fromkeys([*content.caveats, *self._other_behavior(content)])) or None
        edit: Edit = self._editor.replace_inside(self._found.call, text)
        title = f"create it with `{self._found.factory}`"
        return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, (edit,), caveat)

    def _other_behavior(self, content: Content) -> Iterator[str]:
        """What else may change: the class of an error that is caught, and memory of NumPy, which cannot be resized."""
        if not content.from_list and self._catches_sizes() and not self._has_known_sizes():
            yield _SIZE
        if self._constructor in _SHARING and "resiz" in self._module.text:
            yield _RESIZED

    def _catches_sizes(self) -> bool:
        """Whether the file catches what NumPy raises for a negative size, and not what torch raises as well."""
        handlers = self._module.nodes_of(cst.ExceptHandler, frozenset(("except",)))
        return any("ValueError" in self._module.code(one.type) for one in handlers if one.type is not None)

    def _has_known_sizes(self) -> bool:
        """Whether every number that is given is a literal or a length."""
        assert self._found.data is not None
        given = self._found.data.args if isinstance(self._found.data, cst.Call) else ()
        parts = (part for arg in given for part in (arg.value, *descendants(arg.value)))
        return not any(isinstance(part, (cst.Name, cst.Attribute, cst.BinaryOperation)) for part in parts)

    def _content(self) -> Content:
        asks = self._dtype is not None and requested_dtype(self._module.evaluator, self._dtype).sure
        content = ListContent(self._module, self._found, keeps_dtype=asks or self._constructor in LEGACY)
        if self._found.source.endswith("_"):
            return content.filled()
        if self._found.source == "range":
            return content.counted()
        return content.repeated() if self._found.source == "a list" else ArrayContent(self._module, self._found).read()

    def _dtype_text(self, content: Content) -> DtypeText:
        conversion = Conversion(self._module, self._call, content)
        if self._constructor not in LEGACY:
            return conversion.requested(self._dtype)
        if not content.from_list and not content.has_dimensions:
            content.caveats.append(_NUMBER)
        last = self._constructor.rpartition(".")[2].removesuffix("Tensor")
        return conversion.legacy(LEGACY_DTYPES[last] if last else DEFAULT)

    def _other_arguments(self) -> list[str]:
        """The other keyword arguments of the constructor, and its device if it ignores the default device."""
        if self._constructor in LEGACY:
            return self._legacy_device()
        keywords = {arg.keyword.value: arg.value for arg in self._call.args if arg.keyword is not None}
        given = {name: value for name, value in keywords.items() if name not in ("data", "obj")}
        if not _SHARED_PARAMETERS[self._constructor].issuperset(given) or len(self._call.args) - len(given) != 1:
            raise Unfixable
        kept = [f"{name}={self._editor.argument(value)}" for name, value in given.items() if name != "dtype"]
        return [*kept, *(self._cpu_device() if self._constructor == "torch.from_numpy" else [])]

    def _legacy_device(self) -> list[str]:
        if LEGACY[self._constructor] == "cuda":
            return [f"device={self._module.shared(Targets).quoted('cuda', self._call)}"]
        if self._constructor == "torch.Tensor" and self._module.shared(Defaults).sets_tensor_type:
            raise Unfixable  # it uses the default tensor type, and ignores the default device
        return self._cpu_device()

    def _cpu_device(self) -> list[str]:
        """The argument ``device="cpu"``, where factories may have another default device."""
        if not self._module.shared(Defaults).device_may_differ(self._call):
            return []
        return [f"device={self._module.shared(Targets).quoted('cpu', self._call)}"]

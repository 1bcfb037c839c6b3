"""TL103: replaces data created in NumPy or Python by a torch factory with the same dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.values.dtypes import requested_dtype
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import Targets
from torchlint.knowledge.factories import CONSTRUCTORS
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._factories import RegularData
from torchlint.rules.copies._regular.arrays import ArrayContent
from torchlint.rules.copies._regular.content import DEFAULT, Content
from torchlint.rules.copies._regular.conversion import Conversion, Written
from torchlint.rules.copies._regular.lists import ListContent

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Keyword arguments that constructors and factories have in common.
_KEPT = {
    "torch.tensor": frozenset({"dtype", "device", "requires_grad", "pin_memory"}),
    "torch.as_tensor": frozenset({"dtype", "device"}),
    "torch.asarray": frozenset({"dtype", "device", "requires_grad"}),
    "torch.from_numpy": frozenset[str](),
}
_NUMBER = "an array without dimensions is interpreted as a size"


@or_none
def made_by_torch(module: SourceModule, found: RegularData) -> Fix:
    """``torch.tensor(np.zeros(n))`` becomes ``torch.zeros(n, dtype=torch.float64)``."""
    return _Regular(module, found).fix()


class _Regular:
    """Rewrites one constructor with regular content."""

    def __init__(self, module: SourceModule, found: RegularData) -> None:
        if found.data is None or not any(around is found.call for around in module.ancestors(found.data)):
            raise Unfixable  # the content is created in another statement
        self._module, self._found = module, found
        self._editor = module.shared(Editor)
        self._dtype = keyword(found.call, "dtype")
        made = receiver(found.call) if found.source.endswith("_") else found.call
        assert isinstance(made, cst.Call)
        self._made, self._constructor = made, str(module.qualified(made.func))
        if self._constructor not in LEGACY and self._constructor not in CONSTRUCTORS:
            raise Unfixable  # the type is selected at run time

    def fix(self) -> Fix:
        content = self._content()
        written = self._converted(content)
        kept = self._kept()
        if (written.method or content.form) and any(not text.startswith("device=") for text in kept):
            raise Unfixable  # integers have no gradients, and a view is not a leaf
        arguments = ", ".join(filter(None, [content.arguments, content.repeated(), written.keyword, *kept]))
        factory = self._module.shared(Speller).sibling(self._made, self._found.factory).text
        text = f"{factory}({arguments}){written.method}{content.form}"
        caveat = "; ".join(dict.fromkeys(content.caveats)) or None
        edit: Edit = self._editor.replace_inside(self._found.call, text)
        title = f"create it with `{self._found.factory}`"
        return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, (edit,), caveat)

    def _content(self) -> Content:
        asks = self._dtype is not None and requested_dtype(self._module.evaluator, self._dtype).sure
        listed = ListContent(self._module, self._found, keeps=asks or self._constructor in LEGACY)
        if self._found.source.endswith("_"):
            return listed.filled()
        if self._found.source == "range":
            return listed.counted()
        return listed.repeated() if self._found.source == "a list" else ArrayContent(self._module, self._found).read()

    def _converted(self, content: Content) -> Written:
        conversion = Conversion(self._module, self._made, content)
        if self._constructor not in LEGACY:
            return conversion.asked(self._dtype)
        if not content.listed and not content.dimensions:
            content.caveats.append(_NUMBER)
        last = self._constructor.rpartition(".")[2].removesuffix("Tensor")
        return conversion.legacy(LEGACY_DTYPES[last] if last else DEFAULT)

    def _kept(self) -> list[str]:
        """The other keywords of the constructor, and the device of a constructor that ignores the default device."""
        if self._constructor in LEGACY:
            return self._legacy_device()
        given = [arg for arg in self._made.args if arg.keyword is not None and arg.keyword.value not in ("data", "obj")]
        names = [arg.keyword.value for arg in given if arg.keyword is not None]
        if not _KEPT[self._constructor].issuperset(names) or len(self._made.args) - len(given) != 1:
            raise Unfixable
        rest = [arg for arg, name in zip(given, names, strict=True) if name != "dtype"]
        kept = [f"{arg.keyword.value}={self._editor.argument(arg.value)}" for arg in rest if arg.keyword is not None]
        return [*kept, *(self._host() if self._constructor == "torch.from_numpy" else [])]

    def _legacy_device(self) -> list[str]:
        if LEGACY[self._constructor] == "cuda":
            return [f"device={self._module.shared(Targets).quoted('cuda', self._made)}"]
        if self._constructor == "torch.Tensor" and self._module.shared(Defaults).sets_tensor_type:
            raise Unfixable  # it uses the default dtype, but not the default device
        return self._host()

    def _host(self) -> list[str]:
        """``device="cpu"``, if factories may use another default device."""
        if not self._module.shared(Defaults).device_may_differ(self._made):
            return []
        return [f"device={self._module.shared(Targets).quoted('cpu', self._made)}"]

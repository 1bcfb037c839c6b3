"""The dtype of a new tensor: the argument or method that sets it, and whether it is certainly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.values.dtypes import requested_dtype
from torchlint.edit.editor import Editor, Unfixable
from torchlint.edit.names import Speller
from torchlint.knowledge.dtypes import COMPLEX, COUNTING, FLOATS
from torchlint.knowledge.tensors import CASTS
from torchlint.rules.copies._generated.content import DEFAULT, Constants, Content, Count

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_UNCERTAIN = "if the dtype is `None`, or cannot hold the numbers, the result or the error differs"
_UNSUPPORTED = "an array whose dtype torch lacks no longer raises an error"
_OUT_OF_RANGE = "numbers out of the dtype's range wrap instead of raising an error"
_METHODS = {dtype: method for method, dtype in CASTS.items()}


class DtypeText(NamedTuple):
    """How the dtype is set: by a keyword argument, or by a method after counting in int64."""

    keyword: str | None = None
    method: str = ""


class Conversion:
    """Chooses the dtype for one constructor, and adds caveats to the content."""

    def __init__(self, module: SourceModule, call: cst.Call, content: Content) -> None:
        self._module, self._call, self._content = module, call, content
        self._defaults = module.shared(Defaults)

    def requested(self, node: cst.BaseExpression | None) -> DtypeText:
        """The dtype for a constructor of torch with the argument ``dtype=node``."""
        if node is None or literal(node) is None:
            return self._inferred()
        wanted = requested_dtype(self._module.evaluator, node)
        text = self._module.shared(Editor).argument(node)
        if wanted.name is None:
            return self._unknown(text, sure=wanted.sure)
        self._check_stages(self._content.stages, wanted.name)
        return self._known(wanted.name, text)

    def legacy(self, dtype: str) -> DtypeText:
        """The dtype for a legacy constructor such as ``torch.FloatTensor``."""
        content = self._content
        if dtype == DEFAULT and content.own_dtype != DEFAULT and content.fill is None:
            if self._defaults.dtype_may_differ(self._call):
                raise Unfixable
            dtype = "float32"
        self._check_stages(content.stages, dtype)
        return self._known(dtype, None)

    def _inferred(self) -> DtypeText:
        """The dtype that torch infers from the array or list."""
        *before, dtype = self._content.stages
        if dtype is None:
            raise Unfixable
        self._check_stages(tuple(before), dtype)
        numbers = self._content.numbers
        if (
            not self._content.from_list
            and isinstance(numbers, Constants)
            and dtype == "float16"
            and not numbers.fits(dtype)
        ):
            raise Unfixable  # NumPy rounds once, torch rounds to float32 first
        return self._known(dtype, None, own=not self._content.from_list)

    def _unknown(self, text: str, *, sure: bool) -> DtypeText:
        """A dtype that is only known at run time."""
        self._check_stages(self._content.stages, None)
        numbers = self._content.numbers
        if sure and isinstance(numbers, Count) and not self._content.from_list:
            return DtypeText(method=f".to({text})")
        plain = isinstance(numbers, Constants) and self._content.factory in ("torch.zeros", "torch.ones")
        if not sure or not plain or self._content.stages == (DEFAULT,):  # a list of floats cannot become uint64
            self._content.caveats.append(_UNCERTAIN)
        return DtypeText(f"dtype={text}")

    def _check_stages(self, stages: tuple[str | None, ...], dtype: str | None) -> None:
        """Check that the previous conversions are exact. Raises :class:`Unfixable`."""
        numbers = self._content.numbers
        if numbers is None or self._content.from_list:
            return
        if None in stages:
            if not isinstance(numbers, Constants) or not set(numbers.values) <= {0, 1}:
                raise Unfixable
            self._content.caveats.append(_UNSUPPORTED)
        known = [stage for stage in stages if stage is not None]
        if not all(numbers.fits(stage) for stage in known) or (COMPLEX & set(known) and dtype not in COMPLEX):
            raise Unfixable

    # -- known dtypes ------------------------------------------------------------------------------

    def _known(self, dtype: str, text: str | None, *, own: bool = False) -> DtypeText:
        """A known dtype; ``own`` is true if NumPy has created the content in it."""
        numbers = self._content.numbers
        if isinstance(numbers, Count):
            return self._counted(numbers, dtype, text, own=own)
        if numbers is None:
            if self._content.own_dtype == DEFAULT and dtype not in (*FLOATS, DEFAULT):
                raise Unfixable
        elif not numbers.can_create(self._smallest_default() if dtype == DEFAULT else dtype):
            raise Unfixable
        return self._keyword(dtype, text)

    def _smallest_default(self) -> str:
        return "float16" if self._defaults.dtype_may_differ(self._call) else "float32"

    def _counted(self, count: Count, dtype: str, text: str | None, *, own: bool) -> DtypeText:
        if count.can_create(dtype):
            return self._keyword(dtype, text)
        counts_from_zero = count.from_zero and dtype == "float32"  # NumPy multiplies each number by one
        if own and not count.fits(dtype) and not counts_from_zero:
            raise Unfixable
        if count.fits(dtype) or not self._content.from_list or dtype in (*FLOATS, *COMPLEX, "bool"):
            return DtypeText(method=self._method(dtype))
        if count.bounds is not None or dtype not in COUNTING:
            raise Unfixable
        self._content.caveats.append(_OUT_OF_RANGE)
        return self._keyword(dtype, text)

    def _method(self, dtype: str) -> str:
        return f".{_METHODS[dtype]}()" if dtype in _METHODS else f".to({self._name(dtype)})"

    def _keyword(self, dtype: str, text: str | None) -> DtypeText:
        """The argument ``dtype=``, unless it is the default; ``text`` is kept as it is written in the program."""
        if text is not None:
            return DtypeText(f"dtype={text}")
        content = self._content
        if dtype in (*FLOATS, DEFAULT):
            content.fill_with_float()
        plain = content.own_dtype == DEFAULT and dtype == "float32" and not self._defaults.dtype_may_differ(self._call)
        return DtypeText() if plain or dtype == content.own_dtype else DtypeText(f"dtype={self._name(dtype)}")

    def _name(self, dtype: str) -> str:
        return self._module.shared(Speller).sibling(self._call, f"torch.{dtype}").text

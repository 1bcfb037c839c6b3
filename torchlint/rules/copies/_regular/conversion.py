"""The dtype of a fixed factory call: how it is written, and whether it is proved to be the same."""

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
from torchlint.rules.copies._regular.content import DEFAULT, Constants, Content, Count

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_ASKED = "if the dtype is `None`, or cannot hold the numbers, the result or the error differs"
_LACKED = "an array whose dtype torch lacks no longer raises an error"
_BEYOND = "numbers out of the dtype's range wrap instead of raising an error"
_METHODS = {dtype: method for method, dtype in CASTS.items()}


class Written(NamedTuple):
    """How the dtype is written: as a keyword, or as a method after a factory that creates int64."""

    keyword: str | None = None
    method: str = ""


class Conversion:
    """Determines the dtype for one constructor, and records in the content what may change."""

    def __init__(self, module: SourceModule, call: cst.Call, content: Content) -> None:
        self._module, self._call, self._content = module, call, content
        self._defaults = module.shared(Defaults)

    def asked(self, node: cst.BaseExpression | None) -> Written:
        """The dtype for a constructor of torch, given its ``dtype`` argument."""
        if node is None or literal(node) is None:
            return self._inferred()
        wanted = requested_dtype(self._module.evaluator, node)
        text = self._module.shared(Editor).argument(node)
        if wanted.name is None:
            return self._unknown(text, sure=wanted.sure)
        self._check_stages(self._content.stages, wanted.name)
        return self._to(wanted.name, text)

    def legacy(self, dtype: str) -> Written:
        """The dtype for a constructor such as ``torch.FloatTensor``, or ``torch.Tensor`` with the default dtype."""
        content = self._content
        if dtype == DEFAULT and content.natural != DEFAULT and content.fill is None:
            if self._defaults.dtype_may_differ(self._call):
                raise Unfixable
            dtype = "float32"
        self._check_stages(content.stages, dtype)
        return self._to(dtype, None)

    def _inferred(self) -> Written:
        """The dtype of the array, or of the numbers in a list."""
        *before, dtype = self._content.stages
        if dtype is None:
            raise Unfixable
        self._check_stages(tuple(before), dtype)
        numbers = self._content.numbers
        if (
            not self._content.listed
            and isinstance(numbers, Constants)
            and dtype == "float16"
            and not numbers.held(dtype)
        ):
            raise Unfixable  # NumPy rounds once, torch converts to float32 first
        return self._to(dtype, None, own=not self._content.listed)

    def _unknown(self, text: str, *, sure: bool) -> Written:
        """A dtype that is selected at run time."""
        self._check_stages(self._content.stages, None)
        numbers = self._content.numbers
        if sure and isinstance(numbers, Count) and not self._content.listed:
            return Written(method=f".to({text})")
        plain = isinstance(numbers, Constants) and self._content.factory in ("torch.zeros", "torch.ones")
        if not sure or not plain or self._content.stages == (DEFAULT,):  # not from a list of floats
            self._content.caveats.append(_ASKED)
        return Written(f"dtype={text}")

    def _check_stages(self, stages: tuple[str | None, ...], dtype: str | None) -> None:
        """Check that intermediate conversions are exact."""
        numbers = self._content.numbers
        if numbers is None or self._content.listed:
            return
        if None in stages:
            if not isinstance(numbers, Constants) or not set(numbers.values) <= {0, 1}:
                raise Unfixable
            self._content.caveats.append(_LACKED)
        known = [stage for stage in stages if stage is not None]
        if not all(numbers.held(stage) for stage in known) or (COMPLEX & set(known) and dtype not in COMPLEX):
            raise Unfixable

    # -- known dtypes ------------------------------------------------------------------------------

    def _to(self, dtype: str, text: str | None, *, own: bool = False) -> Written:
        """A conversion to a known dtype; ``own`` if NumPy created the content with it."""
        numbers = self._content.numbers
        if isinstance(numbers, Count):
            return self._counted(numbers, dtype, text, own=own)
        if numbers is None:
            if self._content.natural == DEFAULT and dtype not in (*FLOATS, DEFAULT):
                raise Unfixable
        elif not numbers.made(self._least_default() if dtype == DEFAULT else dtype):
            raise Unfixable
        return self._keyword(dtype, text)

    def _least_default(self) -> str:
        return "float16" if self._defaults.dtype_may_differ(self._call) else "float32"

    def _counted(self, count: Count, dtype: str, text: str | None, *, own: bool) -> Written:
        if count.made(dtype):
            return self._keyword(dtype, text)
        from_zero = count.upward and dtype == "float32"  # NumPy multiplies every number by one
        if own and not count.held(dtype) and not from_zero:
            raise Unfixable
        if count.held(dtype) or not self._content.listed or dtype in (*FLOATS, *COMPLEX, "bool"):
            return Written(method=self._method(dtype))
        if count.span is not None or dtype not in COUNTING:
            raise Unfixable
        self._content.caveats.append(_BEYOND)
        return self._keyword(dtype, text)

    def _method(self, dtype: str) -> str:
        return f".{_METHODS[dtype]}()" if dtype in _METHODS else f".to({self._name(dtype)})"

    def _keyword(self, dtype: str, text: str | None) -> Written:
        """``dtype=``, unless it is the factory's own. A written ``dtype`` argument is kept as it is."""
        if text is not None:
            return Written(f"dtype={text}")
        content = self._content
        if dtype in (*FLOATS, DEFAULT):
            content.repeat_float()
        plain = content.natural == DEFAULT and dtype == "float32" and not self._defaults.dtype_may_differ(self._call)
        return Written() if plain or dtype == content.natural else Written(f"dtype={self._name(dtype)}")

    def _name(self, dtype: str) -> str:
        return self._module.shared(Speller).sibling(self._call, f"torch.{dtype}").text

"""Defaults: whether the dtype and the device of factories that are given none may be others than torch's own.

A setting is looked for in the file and in the other files of the run. What a program that is no part of the run sets is
out of sight. Constructors of modules, which libraries run on the meta device or in half precision, are reckoned with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge.defaults import CONSTRUCTING_METHODS
from torchlint.prefilter import concepts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Defaults:
    """Answers for the places of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @property
    def device_set(self) -> bool:
        """The file itself sets or scopes the default device."""
        return self._module.text_index.has(concepts.SETS_DEVICE)

    @property
    def meta_set(self) -> bool:
        """The default device may be ``meta`` somewhere, from which nothing can be moved."""
        return self._module.text_index.has(concepts.META)

    @property
    def type_set(self) -> bool:
        """The file sets the type that ``torch.Tensor`` stands for."""
        return self._module.text_index.has(concepts.SETS_TYPE)

    def device_differs(self, node: cst.CSTNode) -> bool:
        """The default device may not be the CPU where a node runs."""
        return self.device_set or self._constructs(node) or self._module.project.sets_device()

    def dtype_differs(self, node: cst.CSTNode) -> bool:
        """The default dtype may not be float32 where a node runs."""
        sets = self._module.text_index.has(concepts.SETS_DTYPE)
        return sets or self._constructs(node) or self._module.project.sets_dtype()

    def _constructs(self, node: cst.CSTNode) -> bool:
        """The node belongs to a module and may run when that is made: on the meta device, or in half precision."""
        function = self._module.function_of(node)
        owner = self._module.class_of(function) if function is not None else None
        if owner is None or function is None or not self._module.classes.is_module(owner):
            return False
        name = function.name.value
        return name in CONSTRUCTING_METHODS or name in self._called_by_constructor(owner)

    def _called_by_constructor(self, owner: cst.ClassDef) -> set[str | None]:
        constructor = self._module.classes.method(owner, "__init__")
        return {method(part) for part in descendants(constructor.body)} if constructor is not None else set()

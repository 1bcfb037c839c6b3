"""Defaults: whether factories may have another default dtype or default device than torch's own.

The defaults may be set in the file or in other files of the run; settings outside of the run are unknown. Constructors
of modules are special, since libraries run them on the meta device or in half precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.prefilter import concepts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Methods that construct a module: frameworks may call them with another default device or dtype.
_CONSTRUCTING = frozenset(
    "__init__ setup build reset_parameters init_weights _init_weights configure_model post_init __post_init__".split()
)


class Defaults:
    """The defaults that apply in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @property
    def sets_device(self) -> bool:
        """Whether the file itself sets the default device, or uses a device as a context manager."""
        return self._module.text_index.has(concepts.SETS_DEVICE)

    @property
    def may_use_meta_device(self) -> bool:
        """Whether the default device may be ``meta``; tensors cannot be moved from it."""
        return self._module.text_index.has(concepts.META)

    @property
    def sets_tensor_type(self) -> bool:
        """Whether the file sets the tensor type that ``torch.Tensor`` stands for."""
        return self._module.text_index.has(concepts.SETS_TYPE)

    def device_may_differ(self, node: cst.CSTNode) -> bool:
        """Whether the default device may be another one than the CPU where a node runs."""
        return self.sets_device or self._may_run_in_constructor(node) or self._module.project.sets_device()

    def dtype_may_differ(self, node: cst.CSTNode) -> bool:
        """Whether the default dtype may be another one than float32 where a node runs."""
        sets = self._module.text_index.has(concepts.SETS_DTYPE)
        return sets or self._may_run_in_constructor(node) or self._module.project.sets_dtype()

    def _may_run_in_constructor(self, node: cst.CSTNode) -> bool:
        """Whether a node may run in the constructor of a module: on the meta device, or in half precision."""
        function = self._module.function_of(node)
        owner = self._module.class_of(function) if function is not None else None
        if owner is None or function is None or not self._module.classes.is_module(owner):
            return False
        name = function.name.value
        return name in _CONSTRUCTING or name in self._called_by_constructor(owner)

    def _called_by_constructor(self, owner: cst.ClassDef) -> set[str | None]:
        constructor = self._module.classes.method(owner, "__init__")
        return {method(part) for part in descendants(constructor.body)} if constructor is not None else set()

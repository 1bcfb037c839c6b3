"""What makes the samples and batches of a loader: the methods of its dataset, and its ``collate_fn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import positional
from torchlint.analysis.things.loader import Loader, Loaders
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

SAMPLE_METHODS = ("__getitem__", "__getitems__")


class Samples:
    """The code of one module that its loaders run for samples and batches."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loaders = module.shared(Loaders)

    def loaders_of(self, owner: cst.ClassDef) -> list[Loader]:
        """The loaders of the file whose dataset is an instance of a class."""
        return [loader for loader in self._loaders.all() if owner in self.datasets(loader)]

    def datasets(self, loader: Loader) -> list[cst.ClassDef]:
        """The classes of the file that the dataset of a loader may be an instance of."""
        owners = (self._module.value(value).node for value in loader.arguments("dataset"))
        return [owner for owner in owners if isinstance(owner, cst.ClassDef)]

    def collates(self, loader: Loader) -> list[cst.FunctionDef | cst.Lambda]:
        """The functions of the file that a loader may get as ``collate_fn``."""
        found = (self.function(value) for value in loader.arguments("collate_fn"))
        return [function for function in found if function is not None]

    def function(self, node: cst.BaseExpression) -> cst.FunctionDef | cst.Lambda | None:
        """The function of the file that an argument for ``collate_fn`` is, or calls."""
        if isinstance(node, cst.Lambda):
            return node
        if isinstance(node, cst.Call) and self._module.qualified(node.func) == "functools.partial":
            first = positional(node, 0)
            return self.function(first) if first is not None else None
        value = self._module.value(node)
        if value.kind is Kind.FUNCTION and isinstance(value.node, cst.FunctionDef):
            return value.node
        if value.kind is not Kind.CLASS and isinstance(value.node, cst.ClassDef):
            return self._module.classes.method(value.node, "__call__")
        return None

"""What makes the samples and batches of a loader: the methods of its dataset, and its ``collate_fn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.things.loading.callables import called_function
from torchlint.analysis.things.loading.loader import DataLoaders, Loader

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

SAMPLE_METHODS = ("__getitem__", "__getitems__")


class Samples:
    """The code of one module that its loaders run for samples and batches."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loaders = module.shared(DataLoaders)

    def loaders_of(self, owner: cst.ClassDef) -> list[Loader]:
        """The loaders of the file whose dataset is an instance of a class."""
        return [loader for loader in self._loaders.all() if owner in self.datasets(loader)]

    def datasets(self, loader: Loader) -> list[cst.ClassDef]:
        """The classes of the file that the dataset of a loader may be an instance of."""
        owners = (self._module.value(value).node for value in loader.arguments("dataset"))
        return [owner for owner in owners if isinstance(owner, cst.ClassDef)]

    def collates(self, loader: Loader) -> list[cst.FunctionDef | cst.Lambda]:
        """The functions of the file that a loader may get as ``collate_fn``."""
        found = (called_function(self._module, value) for value in loader.arguments("collate_fn"))
        return [function for function in found if function is not None]

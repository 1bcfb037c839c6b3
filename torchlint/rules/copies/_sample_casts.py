"""TL107: samples of data sets that the CPU converts to a larger dtype, before their batches are moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.rules.copies._casts import HostWork, HostWorks

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.loading.loader import Loader


class SampleCasts:
    """The conversions of the data sets of one module, whose loaders leave them as they are."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._known: set[cst.BaseExpression] = set()

    def new(self, loader: Loader) -> Iterator[tuple[cst.BaseExpression, HostWork]]:
        """The conversions in the samples of a loader whose batches are moved, and that no other loader has shown."""
        if not loader.default_collation or not self._is_moved(loader):
            return
        works, owner = self._module.shared(HostWorks), self._module.value(loader.argument("dataset")).node
        method = self._module.classes.method(owner, "__getitem__") if isinstance(owner, cst.ClassDef) else None
        for part in self._parts(method) if isinstance(method, cst.FunctionDef) else ():
            made = works.assigned(part)
            work = works.converted(made)
            if work is not None and made not in self._known:
                self._known.add(made)
                yield made, work

    def _is_moved(self, loader: Loader) -> bool:
        return self._module.followed.feed(loader.call) is not None

    def _parts(self, method: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
        """What a sample consists of."""
        for returned in self._module.functions.body(method).returns:
            if isinstance(returned.value, (cst.Tuple, cst.List)):
                yield from (element.value for element in returned.value.elements)
            elif isinstance(returned.value, cst.Dict):
                yield from (element.value for element in returned.value.elements)
            elif returned.value is not None:
                yield returned.value

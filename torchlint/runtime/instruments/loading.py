"""Watches loaders: where they are constructed, how long the program waits for batches, and which tensors they yield."""

from __future__ import annotations

import weakref
from time import perf_counter_ns
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.labels import labeled, size_of
from torchlint.runtime.patches import Patches
from torchlint.runtime.sites import NOWHERE, Site
from torchlint.runtime.values import tensors_in


class Loading(Instrument):
    """Watches ``DataLoader``."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._made: weakref.WeakKeyDictionary[Any, Site] = weakref.WeakKeyDictionary()
        self._iterators: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def install(self, patches: Patches) -> None:
        """Wrap the constructor of loaders and the fetching of batches."""
        make, begin, fetch = DataLoader.__init__, _BaseDataLoaderIter.__init__, _BaseDataLoaderIter.__next__

        def made(loader: Any, *args: Any, **kwargs: Any) -> None:
            make(loader, *args, **kwargs)
            known = None if self._sites.directly(2) else self._original(loader)
            self._made[loader] = known or self._sites.here(2)

        def begun(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            begin(iterator, loader, *args, **kwargs)
            self._iterators[iterator] = loader

        def fetched(iterator: Any) -> Any:
            start = perf_counter_ns()
            batch = fetch(iterator)
            self._fetched(iterator, batch, perf_counter_ns() - start)
            return batch

        patches.set(DataLoader, "__init__", made)
        patches.set(_BaseDataLoaderIter, "__init__", begun)
        patches.set(_BaseDataLoaderIter, "__next__", fetched)
        if _BaseDataLoaderIter.__dict__.get("next") is fetch:
            patches.set(_BaseDataLoaderIter, "next", fetched)

    def _original(self, loader: Any) -> Site | None:
        """Where the loader was constructed that a framework replaces by this one, which has the same dataset."""
        return next((site for made, site in self._made.items() if made.dataset is loader.dataset), None)

    def _fetched(self, iterator: Any, batch: Any, spent: int) -> None:
        loader = self._iterators.get(iterator)
        site = self._made.get(loader, NOWHERE) if loader is not None else NOWHERE
        size = 0
        for tensor in tensors_in(batch):
            label = labeled(tensor)
            label.host = label.device is None
            label.loader = site
            size += size_of(tensor)
        workers = getattr(loader, "num_workers", 0)
        self._recorder.add(
            "batch", site, size, spent, workers=workers, pinned=bool(getattr(loader, "pin_memory", False))
        )

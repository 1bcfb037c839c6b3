"""Probes of data loading: loaders with and without workers and pinned memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class _Numbers(IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(8))


def _rows() -> TensorDataset:
    return TensorDataset(torch.arange(24.0).reshape(8, 3))


def _loaded(**options: Any) -> Callable[[str], Any]:
    def probe(device: str) -> Any:
        pins = options.get("pin_memory", False) and device == "cuda"
        loader = DataLoader(_rows(), batch_size=4, **{**options, "pin_memory": pins})
        total, pinned = 0.0, []
        for (batch,) in loader:
            pinned.append(batch.is_pinned() == pins)
            total += float(batch.to(device, non_blocking=True).sum())
        return total, pinned

    return probe


def _dictionaries(device: str) -> Any:
    samples = [{"x": torch.ones(2) * i, "y": i, "name": str(i)} for i in range(4)]
    pins = device == "cuda"
    batches = list(DataLoader(samples, batch_size=2, pin_memory=pins))
    moved = [batch["x"].to(device) for batch in batches]
    return [float(x.sum()) for x in moved], [batch["x"].is_pinned() == pins for batch in batches]


def _shuffled(device: str) -> Any:
    loader = DataLoader(_rows(), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(3))
    return [batch.to(device).tolist() for (batch,) in loader]


def _sampled(device: str) -> Any:
    sampler = torch.utils.data.WeightedRandomSampler([1.0] * 8, 4)
    return [float(batch.to(device).sum()) for (batch,) in DataLoader(_rows(), sampler=sampler)]


def _split(device: str) -> Any:
    parts = torch.utils.data.random_split(_rows(), [6, 2])
    return [float(torch.stack([row[0] for row in part]).to(device).sum()) for part in parts]


PROBES: dict[str, Callable[[str], Any]] = {
    "plain": _loaded(),
    "pinned": _loaded(pin_memory=True),
    "workers": _loaded(num_workers=2),
    "workers_pinned": _loaded(num_workers=2, pin_memory=True),
    "persistent": _loaded(num_workers=1, pin_memory=True, persistent_workers=True),
    "dictionaries": _dictionaries,
    "shuffled": _shuffled,
    "sampled": _sampled,
    "random_split": _split,
    "iterable": lambda device: [b.to(device).tolist() for b in DataLoader(_Numbers(), batch_size=4)],
}

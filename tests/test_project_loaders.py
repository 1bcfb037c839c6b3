"""Loaders that functions of other files return: iterating over one yields batches, pinned or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found, write
from tests.test_project_steps import run_with_cache

DATA = """
    import numpy as np
    from torch.utils.data import DataLoader

    def get_pinned_loader(d):
        return DataLoader(d, num_workers=2, pin_memory=True)

    def get_plain_loader(d):
        return DataLoader(d, num_workers=2)

    def get_any_loader(d, test):
        loader = DataLoader(d, num_workers=2, pin_memory=True)
        if test:
            loader = DataLoader(d, num_workers=2)
            return loader
        return loader

    def get_arrays_loader(d, test):
        return DataLoader(d, pin_memory=True) if test else [np.load(path) for path in d]

    def get_loader_of_unknown(d, kind):
        if kind == "stream":
            return kind.stream(d)
        return DataLoader(d, pin_memory=True)

    def get_unpinnable_loader(d):
        return DataLoader(d, pin_memory=True, collate_fn=lambda batch: batch[0].cuda())

    def pinned(d):
        return DataLoader(d, num_workers=2, pin_memory=True)
"""
EVALUATE = """
    import torch
    from tqdm import tqdm
    import data
    from data import *

    @torch.no_grad()
    def evaluate(net, d):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        source = {make}
        for i, x in enumerate({around}):
            x = x.to(device)
            net(x)
"""


def moves(folder: Path, make: str, around: str = "source") -> list[str]:
    files = {"data.py": DATA, "evaluate.py": EVALUATE.format(make=make, around=around)}
    return [f"{f.severity.value} {f.message}" for f in found(folder, files, "TL202")]


@pytest.mark.parametrize(
    "make",
    [
        "data.get_arrays_loader(d, False)",
        "data.get_loader_of_unknown(d, 'map')",
        "data.get_unpinnable_loader(d)",
        "data.get_missing_loader(d)",
        "d.get_pinned_loader(d)",
        "data.pinned(d)",  # not named like a function that makes a loader
    ],
)
def test_innocent_results_that_may_be_no_loaders_are_silent(tmp_path: Path, make: str) -> None:
    assert moves(tmp_path, make) == []


@pytest.mark.parametrize("make", ["data.get_plain_loader(d)", "data.get_any_loader(d, True)"])
def test_batches_of_a_loader_that_does_not_always_pin_are_notes(tmp_path: Path, make: str) -> None:
    assert [found.partition(" ")[0] for found in moves(tmp_path, make)] == ["info"]


@pytest.mark.parametrize("around", ["source", "tqdm(source, total=len(source))"])
@pytest.mark.parametrize("make", ["data.get_pinned_loader(d)", "get_pinned_loader(d)"])
def test_batches_of_a_pinned_loader_that_another_file_makes_are_found(tmp_path: Path, make: str, around: str) -> None:
    (message,) = moves(tmp_path, make, around)
    assert "data.py, line 6" in message


def test_a_cached_run_knows_the_same_loaders(tmp_path: Path) -> None:
    evaluate = EVALUATE.format(make="get_pinned_loader(d)", around="source")
    evaluate += "            print(net(x).sum().item())\n"
    paths = write(tmp_path, {"data.py": DATA, "evaluate.py": evaluate})
    first = run_with_cache(tmp_path, paths)
    assert [(Path(f.path).name, f.severity.value) for f in first.findings] == [("evaluate.py", "info")]
    assert run_with_cache(tmp_path, paths).findings == first.findings
    Path(paths[0]).write_text("def get_pinned_loader(d):\n    return [d]\n", encoding="utf-8")
    assert not run_with_cache(tmp_path, paths).findings

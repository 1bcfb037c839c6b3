"""Loaders that functions of other files return: what iterating over one yields is a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found, write
from tests.test_project_steps import run_with_cache

DATA = """
    import numpy as np
    from torch.utils.data import DataLoader

    def pinned(d):
        return DataLoader(d, num_workers=2, pin_memory=True)

    def plain(d):
        return DataLoader(d, num_workers=2)

    def either(d, test):
        loader = DataLoader(d, num_workers=2, pin_memory=True)
        if test:
            loader = DataLoader(d, num_workers=2)
            return loader
        return loader

    def paths(d):
        return [path.name for path in d]

    def unpinnable(d):
        return DataLoader(d, pin_memory=True, collate_fn=lambda batch: batch[0].cuda())
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

    evaluate(torch.nn.Linear(3, 2), open("data"))
"""


def moves(folder: Path, make: str, around: str = "source") -> list[tuple[str, str]]:
    """The findings where batches are moved, and those where loaders are made."""
    files = {"data.py": DATA, "evaluate.py": EVALUATE.format(make=make, around=around)}
    return [(Path(f.path).name, f"{f.rule} {f.severity.value}") for f in found(folder, files, "TL202", "TL401")]


@pytest.mark.parametrize("make", ["data.paths(d)", "data.unpinnable(d)"])
def test_innocent_results_that_are_no_loaders_or_cannot_be_pinned_are_silent(tmp_path: Path, make: str) -> None:
    assert moves(tmp_path, make) == []


@pytest.mark.parametrize("around", ["source", "tqdm(source, total=len(source))"])
@pytest.mark.parametrize("make", ["data.pinned(d)", "pinned(d)"])
def test_batches_of_a_loader_that_another_file_makes_are_found(tmp_path: Path, make: str, around: str) -> None:
    assert moves(tmp_path, make, around) == [("evaluate.py", "TL202 info")]


@pytest.mark.parametrize("make", ["data.plain(d)", "data.either(d, True)"])
def test_a_loader_that_does_not_pin_is_found_where_it_is_made(tmp_path: Path, make: str) -> None:
    assert moves(tmp_path, make) == [("data.py", "TL401 info"), ("evaluate.py", "TL202 info")]


def test_a_cached_run_knows_the_same_loaders(tmp_path: Path) -> None:
    paths = write(tmp_path, {"data.py": DATA, "evaluate.py": EVALUATE.format(make="plain(d)", around="source")})
    first = run_with_cache(tmp_path, paths, "TL401")
    assert [(Path(f.path).name, f.span.line) for f in first.findings] == [("data.py", 9)]
    assert run_with_cache(tmp_path, paths, "TL401").findings == first.findings
    write(tmp_path, {"evaluate.py": EVALUATE.format(make="pinned(d)", around="source")})
    assert not run_with_cache(tmp_path, paths, "TL401").findings

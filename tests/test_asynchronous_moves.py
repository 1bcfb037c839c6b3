"""TL202's fix adds ``non_blocking=True`` only where the memory of the loader may be pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git_help import isolate
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.model import Finding, Safety
from torchlint.run import session

TRAIN = """\
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def train(net, optimizer):
    data = datasets.MNIST("data", transform=transforms.ToTensor())
    loader = DataLoader(data, batch_size=64{more})
    for images, labels in loader:
        images = images.cuda()
        labels = labels.cuda()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
"""
PASSED = """\
def train(net, loader, optimizer):
    for images, labels in loader:
        images = images.cuda()
        net(images).sum().backward()
        optimizer.step()
"""


def moves(text: str) -> list[Finding]:
    """The findings of TL202."""
    return list(session.plan(Config(select=("TL202",))).lint(text.encode(), "train.py").findings)


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    isolate(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "train.py"


@pytest.mark.parametrize("more", ["", ", num_workers=4", ", pin_memory=False"])
def test_nothing_is_offered_where_the_loader_is_known_not_to_pin(more: str) -> None:
    found = moves(TRAIN.format(more=more))
    assert [(f.span.line, f.severity.value, f.fix) for f in found] == [(10, "info", None), (11, "info", None)]
    assert "set `pin_memory=True` in the loader first" in found[0].message


@pytest.mark.parametrize("more", [", pin_memory=True", ", pin_memory=torch.cuda.is_available()"])
def test_the_fix_is_safe_where_the_loader_pins(more: str) -> None:
    found = moves(TRAIN.format(more=more))
    assert [f.severity.value for f in found] == ["warning", "warning"]
    assert [f.fix.safety for f in found if f.fix is not None] == [Safety.SAFE] * 2


def test_what_may_be_pinned_keeps_its_fix() -> None:
    given = TRAIN.replace("optimizer):", "optimizer, pin, **more):")
    assert [f.fix.safety for f in moves(given.format(more=", pin_memory=pin")) if f.fix] == [Safety.SAFE] * 2
    assert [f.fix.safety for f in moves(given.format(more=", **more")) if f.fix] == [Safety.UNSAFE] * 2
    (passed,) = moves(f"import torch\nfrom torch.utils.data import DataLoader\n\n\n{PASSED}")
    assert passed.fix is not None
    assert passed.fix.safety is Safety.UNSAFE
    assert "nothing is gained unless the loader pins memory" in (passed.fix.caveat or "")


def test_a_tensor_that_the_program_pins_itself_is_not_known_to_be_pageable() -> None:
    text = TRAIN.format(more="").replace("images.cuda()", "images.pin_memory().cuda()")
    assert [f.fix is not None for f in moves(text)] == [True, False]


@pytest.mark.parametrize("pinned", [0, 1])
def test_batches_of_several_loaders_are_not_known_to_be_pageable(pinned: int) -> None:
    loaders = ["DataLoader(other)", "DataLoader(data, pin_memory=True)"]
    text = f"""\
import torch
from torch.utils.data import DataLoader


def train(net, data, other, optimizer):
    for (x, _), (y, _) in zip({loaders[pinned]}, {loaders[1 - pinned]}):
        net(x.cuda(), y.cuda()).sum().backward()
        optimizer.step()
"""
    assert all(finding.fix is not None for finding in moves(text))


def test_fix_without_a_fix_of_the_loader_changes_nothing(train: Path) -> None:
    text = TRAIN.format(more=", num_workers=4")
    train.write_text(text, encoding="utf-8")
    main(["--isolated", "--no-cache", "--select", "TL202", "--fix", "--unsafe-fixes", "train.py"])
    assert train.read_text(encoding="utf-8") == text


def test_one_run_pins_the_loader_and_then_makes_the_moves_asynchronous(train: Path) -> None:
    train.write_text(TRAIN.format(more=", num_workers=4"), encoding="utf-8")
    assert main(["--isolated", "--no-cache", "--select", "TL202,TL401", "--fix", "train.py"]) == 0
    fixed = train.read_text(encoding="utf-8")
    assert "num_workers=4, pin_memory=torch.cuda.is_available())" in fixed
    assert "images.cuda(non_blocking=True)" in fixed
    assert "labels.cuda(non_blocking=True)" in fixed

"""TL202's fix adds ``non_blocking=True`` only where the loader pins memory, or together with pinning it."""

from __future__ import annotations

import pytest

from torchlint.api import fix_source
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


def fixed(text: str, select: str, *, unsafe: bool = True) -> str:
    return fix_source(text, config=Config(select=tuple(select.split(","))), unsafe=unsafe).decode()


@pytest.mark.parametrize("more", ["", ", num_workers=0", ", num_workers=4, **more", ", num_workers=4, pin_memory=pin"])
def test_there_is_no_fix_where_the_loader_cannot_be_made_to_pin(more: str) -> None:
    found = moves(TRAIN.replace("optimizer):", "optimizer, pin, **more):").format(more=more))
    assert [(f.span.line, f.severity.value, f.fix) for f in found] == [(10, "warning", None)]
    assert "`pin_memory=True`" in found[0].message


def test_there_is_no_fix_where_the_loader_is_out_of_sight() -> None:
    (passed,) = moves(f"import torch\nfrom torch.utils.data import DataLoader\n\n\n{PASSED}")
    assert passed.fix is None
    assert "helps if a data loader with `pin_memory=True` makes it" in passed.message


def test_there_is_no_fix_where_the_loader_is_a_default_argument() -> None:
    text = TRAIN.replace("optimizer):", 'optimizer, loader=DataLoader(datasets.MNIST("data"), num_workers=4)):')
    text = "\n".join(line for line in text.splitlines() if "    data" not in line and "    loader" not in line)
    assert fixed(text, "TL202,TL401") == text


@pytest.mark.parametrize("more", [", pin_memory=True", ", pin_memory=torch.cuda.is_available()"])
def test_the_moves_are_fixed_where_the_loader_pins(more: str) -> None:
    text = TRAIN.format(more=more)
    found = moves(text)
    assert [f.severity.value for f in found] == ["warning", "warning"]
    assert [f.fix.safety for f in found if f.fix is not None] == [Safety.UNSAFE] * 2
    assert fixed(text, "TL202") == text.replace(".cuda()", ".cuda(non_blocking=True)")


@pytest.mark.parametrize("more", [", num_workers=4", ", num_workers=4, pin_memory=False"])
def test_the_moves_are_fixed_once_the_loader_pins(more: str) -> None:
    pinning = ", num_workers=4, pin_memory=torch.cuda.is_available()"
    expected = TRAIN.format(more=pinning).replace(".cuda()", ".cuda(non_blocking=True)")
    assert fixed(TRAIN.format(more=more), "TL202,TL401") == expected
    assert fixed(TRAIN.format(more=more), "TL202") == TRAIN.format(more=more)


def test_a_fix_of_moves_and_loaders_changes_all_of_them() -> None:
    text = """\
import torch
from torch.utils.data import DataLoader


def train(net, data, other, optimizer):
    for (x, _), (y, _) in zip(DataLoader(other, num_workers=2), DataLoader(data{more}, num_workers=2)):
        net(x.cuda(), y.cuda()).sum().backward()
        optimizer.step()
"""
    after = fixed(text.format(more=""), "TL202,TL401")
    assert after.count("pin_memory=torch.cuda.is_available()") == after.count(".cuda(non_blocking=True)")

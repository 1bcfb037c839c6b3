"""The oldest torch that a project supports decides which facts hold."""

from __future__ import annotations

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config

ZERO_GRAD = """
import torch

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader, wrapped):
    for x in loader:
        {reset}
        model(x).mean().backward()
        optimizer.step()
"""
AVERAGES = """
import torch


def soft_update(target, source):
    for t, s in zip(target.parameters(), source.parameters()):
        t.data.lerp_(s.data, 0.01)
"""
OPTED_OUT = """
import torch


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
"""


def _messages(rule: str, source: str, target: str | None) -> list[str]:
    found = lint_source(source, "a.py", Config(select=(rule,), target_torch=target)).findings
    return [finding.message for finding in found]


@pytest.mark.parametrize("target", [None, "2.0", "2.13", "1.6"])
def test_zero_grad_without_an_argument_is_innocent(target: str | None) -> None:
    assert not _messages("TL601", ZERO_GRAD.format(reset="optimizer.zero_grad()"), target)


@pytest.mark.parametrize("reset", ["wrapped.zero_grad()", "optimizer.zero_grad(True)", "model.zero_grad(*wrapped)"])
def test_other_calls_of_zero_grad_are_innocent_before_2_0(reset: str) -> None:
    assert not _messages("TL601", ZERO_GRAD.format(reset=reset), "1.12")


@pytest.mark.parametrize("target", ["1.7", "1.12", "1.13.1"])
@pytest.mark.parametrize("owner", ["optimizer", "model"])
def test_zero_grad_keeps_gradients_before_2_0(owner: str, target: str) -> None:
    [message] = _messages("TL601", ZERO_GRAD.format(reset=f"{owner}.zero_grad()"), target)
    assert "torch before 2.0" in message


@pytest.mark.parametrize(("source", "since", "before"), [(AVERAGES, "2.1", "2.0"), (OPTED_OUT, "2.0", "1.13")])
def test_functions_for_many_tensors_are_named_where_they_exist(source: str, since: str, before: str) -> None:
    assert not _messages("TL602", source, before)
    assert len(_messages("TL602", source, since)) == 1
    assert len(_messages("TL602", source, None)) == 1


INDICES = """
import torch


def train(model, loader, optimizer):
    model.cuda()
    seen = torch.zeros(9).cuda()
    for x, y in loader:
        {line}
        model(x.cuda()).mean().backward()
        optimizer.step()
"""
MASK = "keep = torch.rand(9) > 0.5; seen[keep] += 1"


@pytest.mark.parametrize(
    ("line", "target"),
    [
        *[(MASK, None), (MASK, "2.9"), ("seen[:1] = 0", None), ("seen[seen > 1] = 0", "2.0")],
        *[("seen[torch.randperm(9, device='cuda')] = 0", target) for target in (None, "2.13", "2.15")],
        *[("seen[3] = 0", target) for target in (None, "2.15")],
    ],
)
def test_masks_of_the_host_and_numbers_that_are_written_are_innocent(line: str, target: str | None) -> None:
    assert not _messages("TL305", INDICES.format(line=line), target)


@pytest.mark.parametrize("target", [None, "2.8", "2.15"])
def test_indices_of_the_host_are_copied_by_every_torch(target: str | None) -> None:
    [message] = _messages("TL305", INDICES.format(line="seen[torch.randperm(9)] += 1"), target)
    assert message.startswith("an index on the host: data is copied to the device")

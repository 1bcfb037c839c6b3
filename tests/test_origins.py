"""What a step copies: what a program has made itself on the host, and what it has not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from torchlint.config.config import Config
from torchlint.model import Finding
from torchlint.run import session

PROGRAM = """
import functools
import numpy as np
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")
loader = DataLoader(torch.load("data.pt"), pin_memory=True)
model = torch.nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
known = {{}}


@functools.lru_cache
def remembered(n):
    return torch.tril(torch.ones(n, n))


for number, batch in enumerate(loader):
{body}
    loss = model(batch.to(device, non_blocking=True)).mean() * x.mean()
    loss.backward()
    optimizer.step()
"""


def of(folder: Path, body: str, before: str = "") -> list[Finding]:
    """The findings of rules about copies in a step."""
    text = before + PROGRAM.format(body=indent(dedent(body), "    "))
    (folder / "train.py").write_text(text, encoding="utf-8")
    return list(session.run([str(folder / "train.py")], session.plan(Config(select=("TL1", "TL2")))).findings)


@pytest.mark.parametrize(
    ("body", "rule", "advice"),
    [
        ("x = torch.tril(torch.ones(len(batch), 4)).to(device)", "TL104", "create it on the device"),
        ("x = torch.triu(torch.ones(8, 8)).to(device)", "TL104", "only once"),
        ("x = (torch.rand(len(batch)) < 0.5).float().to(device)", "TL104", "other numbers"),
        ("x = torch.ones(8)\nx[0] = 0.5\nx = (x * 2).to(device)", "TL104", "only once"),
        ("x = torch.tensor([0.5, 0.2], device=device)", "TL105", "once"),
        ("x = torch.tensor([number, 2.0], device=device)", "TL105", "pinned memory"),
        ("x = torch.tensor(number / 2, device=device)", "TL105", "torch.full"),
        ("x = torch.as_tensor(np.triu(np.ones((4, 4)))).to(device)", "TL103", "factory of torch"),
        ("x = (torch.arange(len(batch)) < batch[0]).to(device)", "TL202", ""),
        ("x = torch.cat([torch.zeros(4), batch[0]]).to(device)", "TL202", ""),
        ("x = torch.zeros(4)\nx[: len(batch)] = batch[0]\nx = x.to(device)", "TL202", ""),
        ("x = torch.zeros(4) - 1\nx.view(-1)[0] = number\nx = x.to(device)", "TL104", "only once"),
        ("x = torch.randperm(8) // 2\nprint(x.tolist())\nx = x.to(device)", "TL202", ""),
        ("x = remembered(8).to(device)", "TL202", "before the step"),
        ("x = torch.zeros(4)\nx.add_(2)\nx = x.to(device)", "TL104", "only once"),
        ("x = torch.zeros(4)\nx.add_(batch[0])\nx = x.to(device)", "TL202", ""),
        ("x = torch.zeros(4)\nx[0] = model.weight.sum().item()\nx = x.to(device)", "TL201", ""),
        ("read = model.weight.sum(1).cpu()\nx = (batch[0] + read).to(device)", "TL201", ""),
        ("x = torch.ones(4)\nif number % 2:\n    x = model.weight.sum(1).cpu()\nx = x.to(device)", "TL202", ""),
    ],
)
def test_what_is_copied_decides_the_rule_and_what_to_do(tmp_path: Path, body: str, rule: str, advice: str) -> None:
    (finding,) = of(tmp_path, body)
    assert finding.rule == rule
    assert advice in finding.message


@pytest.mark.parametrize(("place", "found"), [("cuda", []), ("cpu", ["TL104"])])
def test_a_context_chooses_where_tensors_are_made(tmp_path: Path, place: str, found: list[str]) -> None:
    body = f'with torch.device("{place}"):\n    x = torch.tril(torch.ones(len(batch), 4))\nx = x.to(device)'
    assert [finding.rule for finding in of(tmp_path, body)] == found


def test_a_context_of_one_function_says_nothing_of_others(tmp_path: Path) -> None:
    other = 'import torch\n\n\ndef other():\n    with torch.device("cuda"):\n        return torch.ones(2)\n'
    (finding,) = of(tmp_path, "x = torch.tril(torch.ones(len(batch), 4)).to(device)", other)
    assert finding.rule == "TL104"


def test_what_fills_a_field_that_is_none_at_first_happens_once(tmp_path: Path) -> None:
    layer = """
    import torch


    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = None

        def forward(self, x):
            {guard}
                self.mask = torch.triu(torch.ones(x.size(1), x.size(1))).to(x.device)
            return x * self.mask
    """

    def found(guard: str) -> list[str]:
        (tmp_path / "layer.py").write_text(dedent(layer.format(guard=guard)), encoding="utf-8")
        return [f.rule for f in session.run([str(tmp_path / "layer.py")], session.plan(Config())).findings]

    assert found("if self.mask is None:") == []
    assert found("if x.size(1) > 1:") == ["TL104"]

"""Which memory of the host is copied from and to, through functions, objects and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.config.config import Config
from torchlint.run import session

TRAIN = """
import torch
from torch.utils.data import DataLoader

import feed

device = torch.device("cuda")
model = torch.nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = feed.Kept()

for batch in DataLoader(torch.load("data.pt"), pin_memory=True):
    out = model(batch.to(device, non_blocking=True))
    {step}
    out.mean().backward()
    optimizer.step()
"""
FEED = """
import torch


class Kept:
    def __init__(self):
        self.weights = torch.tensor([float(part) for part in open("weights.txt")])
        self.rows = torch.empty(8, 4, pin_memory=True)

    def fill(self, rows):
        self.rows[: len(rows)] = torch.tensor(rows)
        return self.rows


def lengths(batch):
    return torch.tensor([len(row) for row in batch])


def total(scores):
    return scores.sum()


def total_in_time(scores):
    torch.cuda.synchronize()
    return scores.sum()
"""


def found(folder: Path, step: str, *rules: str) -> list[tuple[str, int, str]]:
    """The rules, lines and messages of the findings in the program."""
    (folder / "train.py").write_text(TRAIN.format(step=step), encoding="utf-8")
    (folder / "feed.py").write_text(FEED, encoding="utf-8")
    every = session.run(
        [str(folder / "train.py"), str(folder / "feed.py")], session.plan(Config(select=rules))
    ).findings
    return [(one.rule, one.span.line, one.message) for one in every]


def test_innocent_uses_of_memory_are_no_findings(tmp_path: Path) -> None:
    for step in (
        "print(feed.total_in_time(out.to('cpu', non_blocking=True)))",
        "kept.rows.to(device, non_blocking=True); torch.cuda.synchronize(); kept.fill([1.0])",
        "feed.lengths(batch).pin_memory().to(device, non_blocking=True)",
        "kept.weights = feed.lengths(batch); out = out * kept.weights.to(device)",
    ):
        assert found(tmp_path, step, "TL204", "TL205", "TL207") == [], step


@pytest.mark.parametrize(
    ("step", "rule", "words"),
    [
        ("feed.lengths(batch).to(device, non_blocking=True)", "TL207", "the result of `torch.tensor` is not pinned"),
        ("feed.total(out.to('cpu', non_blocking=True))", "TL204", "reads it before anything waits"),
        ("kept.rows.to(device, non_blocking=True); kept.fill([1.0])", "TL204", "writes what it copies"),
        ("out = out * kept.weights.to(device)", "TL205", "`kept.weights` never changes"),
    ],
)
def test_memory_is_followed_through_functions_objects_and_files(
    tmp_path: Path, step: str, rule: str, words: str
) -> None:
    ((told, line, message),) = found(tmp_path, step, rule)
    assert (told, line) == (rule, 14)
    assert words in message


def test_what_is_wrong_wherever_it_stands_is_a_warning_outside_of_steps(tmp_path: Path) -> None:
    (tmp_path / "lone.py").write_text(
        "import torch\n\n\ndef upload(rows):\n    return torch.tensor(rows).to('cuda', non_blocking=True)\n",
        encoding="utf-8",
    )
    (finding,) = session.run([str(tmp_path / "lone.py")], session.plan(Config(select=("TL207",)))).findings
    assert (finding.severity.value, finding.heat.value if finding.heat else None) == ("warning", "once")
    assert "step" not in finding.message

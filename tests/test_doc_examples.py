"""What the pages show after commands that lint is what these commands print."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.git_help import Git, isolate
from torchlint.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ torchlint ?(.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, images, labels):
        target = torch.zeros(len(labels), 10).to(images.device)
        target.scatter_(1, labels.unsqueeze(1), 1.0)
        return (images.flatten(1)[:, :10] - target).square().mean()
"""
_TRAIN = """\
import torch
from torch.utils.data import DataLoader
from model import Net
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(data):
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for images, labels in DataLoader(data, batch_size=64, num_workers=4):
        loss = model(images.cuda(), labels.cuda())
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
_NEW = _TRAIN.replace("loss.backward()", "scale = torch.zeros(10).to(device)\n        (loss * scale).sum().backward()")


def shown(page: str, arguments: str) -> str:
    """What a page shows after the first ``torchlint`` with these arguments."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands: list[tuple[str, str]] = [found for block in _BLOCK.findall(text) for found in _COMMAND.findall(block)]
    return next(output for command, output in commands if command == arguments)


def printed(capsys: pytest.CaptureFixture[str], arguments: str) -> str:
    """What torchlint prints, the lines on standard error last."""
    main(shlex.split(arguments))
    return "".join(capsys.readouterr())


def check(capsys: pytest.CaptureFixture[str], page: str, arguments: str) -> None:
    """Run a command on a page, and compare what it prints; a line ``...`` stands for any lines."""
    output = printed(capsys, arguments)
    for part in re.split(r"^\.\.\.\n", shown(page, arguments), flags=re.MULTILINE):
        assert part in output, output


def test_suppressing_what_is_found_in_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples/train_cifar.py", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for arguments in ("--add-ignore --diff examples/", '--add-ignore --reason "not measured yet, see #12" examples/'):
        check(capsys, "configuration.md", arguments)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with the project of docs/adoption.md, as the current folder."""
    isolate(monkeypatch)
    repository = Git(tmp_path / "project")
    repository.commit(model=_MODEL, train=_TRAIN)
    monkeypatch.chdir(repository.folder)
    return repository


def test_a_baseline_from_its_beginning_on(project: Git, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/adoption.md").read_text(encoding="utf-8")
    check(capsys, "adoption.md", "--baseline baseline.json --write-baseline")
    assert f"```json\n{(project.folder / 'baseline.json').read_text(encoding='utf-8')}```" in page
    project.write("torchlint.toml", 'baseline = "baseline.json"\n')
    project.write("train.py", _NEW)
    check(capsys, "adoption.md", "--output-format concise")
    project.write("train.py", _TRAIN.replace("num_workers=4", "num_workers=4, pin_memory=True"))
    check(capsys, "adoption.md", "")
    check(capsys, "adoption.md", "--prune-baseline")


def test_changed_and_staged_lines(project: Git, capsys: pytest.CaptureFixture[str]) -> None:
    project("checkout", "-q", "-b", "change")
    project.write("train.py", _NEW)
    check(capsys, "adoption.md", "--changed-since main --output-format concise")
    project("add", "--all")
    project.write("train.py", f"{_NEW}\n\n")
    check(capsys, "adoption.md", "--staged --fix")

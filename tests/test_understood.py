"""Reports say which loops were recognized, since silence about one that was not seen says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.git_help import isolate
from torchlint.cli.main import main

TRAIN = """\
import torch
from torch.utils.data import DataLoader

from utils import evaluate


def main(model, dataset, optimizer):
    loader = DataLoader(dataset, pin_memory=True)
    model.to("cuda")
    for epoch in range(9):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x.to("cuda", non_blocking=True)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    evaluate(model, loader)
"""
UTILS = """\
import torch


@torch.no_grad()
def evaluate(model, loader):
    for x, _ in loader:
        model(x.cuda(non_blocking=True))
"""
MODEL = """\
import torch


def build(name):
    return torch.compile(torch.load(name, map_location="cuda").to("cuda"))
"""
READING_MODEL = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(10, 10).cuda()

    def forward(self, x):
        x = self.layer(x.cuda())
        if x.max() > 3:
            x = x / x.max().item()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return x[torch.tensor([0, 1])] + torch.distributions.Normal(x, x).sample()
"""
AGENT = """\
import torch


class Agent:
    def __init__(self):
        self.net = torch.nn.Linear(10, 10).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, x):
        loss = self.net(x.cuda()).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
"""
CALLER = """\
from agent import Agent
from rest import samples

agent = Agent()
for x in samples:
    print(agent.update(x))
"""
CALLBACK = """\
import torch
from transformers import AutoModel, Trainer, TrainerCallback


class Norms(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        print(sum(p.norm() for p in model.parameters()).item())


trainer = Trainer(model=AutoModel.from_pretrained("x"), train_dataset=[], callbacks=[Norms()])
trainer.train()
"""
LOSS = """\
import torch
from transformers import Trainer


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        loss = model(**inputs).loss.to("cuda")
        print(loss.item())
        return loss
"""
ON_THE_CPU = "import torch\n\n\ndef norm(x):\n    return torch.linalg.norm(x)\n"

NOTHING = {"waits": 0, "copies": 0, "warned": 0}


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    monkeypatch.chdir(tmp_path)


def report(capsys: pytest.CaptureFixture[str], *options: str, **files: str) -> str:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    main(["--isolated", "--no-cache", "--ignore", "TL701,TL4", *options])
    return capsys.readouterr().out


def understood(capsys: pytest.CaptureFixture[str], *options: str, **files: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(capsys, "--output-format", "json", *options, **files))["understood"]
    return found


def test_all_is_clear_without_an_accelerator(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, norms=ON_THE_CPU) == "All clear: 1 file checked.\n"


def test_all_is_clear_where_the_loops_were_recognized(capsys: pytest.CaptureFixture[str]) -> None:
    said = report(capsys, train=TRAIN, utils=UTILS)
    assert said == "All clear: 2 files checked.\nRecognized: training in train.py:11; evaluation in utils.py:6.\n"


def test_silence_without_a_loop_is_not_praise(capsys: pytest.CaptureFixture[str]) -> None:
    said = report(capsys, model=MODEL, norms=ON_THE_CPU)
    assert said == "Nothing found, but no training or inference loop was recognized in 2 files.\n"


def test_it_is_said_beside_other_findings_too(capsys: pytest.CaptureFixture[str]) -> None:
    said = report(capsys, model=MODEL, flags="import torch\n\ntorch.backends.cudnn.enabled = False\n")
    assert "No training or inference loop was recognized: what costs time in every step" in said


def test_imports_that_were_not_linted_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("utils.py").write_text(UTILS, encoding="utf-8")
    said = report(capsys, "train.py", train=TRAIN)
    assert "Imported there, but not linted: utils.evaluate in train.py." in said
    assert understood(capsys, "train.py")["unresolved"] == [{"path": "train.py", "module": "utils.evaluate"}]


def test_modules_of_other_packages_are_not_missed(capsys: pytest.CaptureFixture[str]) -> None:
    said = report(capsys, "train.py", train=TRAIN.replace("from utils import", "from timm.utils import"))
    assert "not linted" not in said


def test_programs_get_the_loops_with_their_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    found = understood(capsys, train=TRAIN, utils=UTILS)
    assert found == {
        "loops": [
            {"path": "train.py", "line": 11, "kind": "training", "cell": None, **NOTHING},
            {"path": "utils.py", "line": 6, "kind": "evaluation", "cell": None, **NOTHING},
        ],
        "unresolved": [],
        "on_accelerator": True,
        "unfinished": [],
    }


def test_methods_that_frameworks_call_and_loops_over_batches_count(capsys: pytest.CaptureFixture[str]) -> None:
    module = (
        "import pytorch_lightning as pl\nimport torch\n\n\nclass Net(pl.LightningModule):\n"
        "    def training_step(self, batch, index):\n        return self.net(batch.to(self.device)).sum()\n"
    )
    steps = TRAIN.replace("loss.backward()", "pass").replace("optimizer.step()", "pass")
    found = understood(capsys, module=module, steps=steps)["loops"]
    assert [(loop["path"], loop["line"], loop["kind"]) for loop in found] == [
        ("module.py", 6, "training"),
        ("steps.py", 11, "evaluation"),
    ]


def test_loops_of_a_notebook_have_cells(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in ("x = 1\n", UTILS)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("book.ipynb").write_text(json.dumps(book), encoding="utf-8")
    (loop,) = understood(capsys)["loops"]
    assert loop == {"path": "book.ipynb", "line": 6, "kind": "evaluation", "cell": 2, **NOTHING}


def test_a_model_without_a_loop_in_sight_runs_in_steps_of_no_kind(capsys: pytest.CaptureFixture[str]) -> None:
    said = report(capsys, "--show-info", "--output-format", "concise", model=READING_MODEL)
    assert said.count("in every step") >= 4
    assert "in every training step" not in said
    assert "No training or inference loop was recognized" in report(capsys, model=READING_MODEL)


@pytest.mark.parametrize(
    ("named", "files", "recognized"),
    [
        ((), {"agent": AGENT, "main": CALLER}, ["main.py:5"]),
        (("agent.py",), {"agent": AGENT, "main": CALLER}, ["main.py:5"]),
        ((), {"agent": AGENT}, ["agent.py:9"]),
        ((), {"train": CALLBACK}, ["train.py:11"]),
        ((), {"losses": LOSS}, ["losses.py:6"]),
    ],
)
def test_what_findings_call_a_training_step_is_recognized(
    capsys: pytest.CaptureFixture[str], named: tuple[str, ...], files: dict[str, str], recognized: list[str]
) -> None:
    Path(".git").mkdir()
    for name, text in files.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    said = " ".join(report(capsys, "--show-info", *named).split())
    assert "the host waits here for the device in every" in said
    assert "(in programs that call this)" in said or "in every training step" in said
    loops = understood(capsys, *named)["loops"]
    assert [f"{loop['path']}:{loop['line']}" for loop in loops if loop["kind"] == "training"] == recognized


# -- what was found in the steps -----------------------------------------------------------------------

READS = """
import torch
from torch.utils.data import DataLoader

from losses import Loss


def main(model, dataset, optimizer):
    loader = DataLoader(dataset, pin_memory=True)
    criterion = Loss()
    model.to("cuda")
    for x, y in loader:
        loss = criterion(model(x.to("cuda", non_blocking=True)), y.to("cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())


if __name__ == "__main__":
    main(torch.nn.Linear(4, 4), torch.randn(8, 4), torch.optim.SGD([torch.zeros(1)]))
"""
LOSSES = """
import torch


class Loss(torch.nn.Module):
    def forward(self, x, y):
        if (x - y).abs().max() > 9:
            x = x / 2
        return (x - y).abs().mean()
"""


def test_waits_and_copies_of_a_loop_are_counted_also_those_in_other_files(capsys: pytest.CaptureFixture[str]) -> None:
    (loop,) = understood(capsys, train=READS, losses=LOSSES)["loops"]
    assert (loop["path"], loop["waits"], loop["copies"], loop["warned"]) == ("train.py", 2, 1, 3)
    listed = json.loads(report(capsys, "--output-format", "json"))["findings"]
    assert len(listed) == loop["waits"] + loop["copies"], "the findings are what is counted"


def test_the_report_says_how_many_of_them_it_does_not_show(capsys: pytest.CaptureFixture[str]) -> None:
    checked = LOSSES.replace("if (x - y).abs().max() > 9", "if (x - y).isnan().any()")
    said = " ".join(report(capsys, train=READS, losses=checked).split())
    counted = "Recognized: training in train.py:12 (2 waits and 1 copy in its steps, 2 warned of)"
    assert f"{counted}; --show-info lists the others." in said
    assert f"{counted}." in " ".join(report(capsys, "--show-info").split())


def test_all_that_is_warned_of_needs_no_further_word(capsys: pytest.CaptureFixture[str]) -> None:
    reads = READS.replace('y.to("cuda")', "y")
    said = report(capsys, train=reads, losses=LOSSES.replace("if (x - y).abs().max() > 9", "if x.ndim > 9"))
    assert "Recognized: training in train.py:12 (1 wait in its steps).\n" in said


def test_loops_with_most_findings_are_named_first_and_all_with_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"a{number}": TRAIN for number in range(9)}
    said = " ".join(report(capsys, train=READS, losses=LOSSES, utils=UTILS, **files).split())
    assert "Recognized: training in train.py:12 (" in said
    assert " and 6 more; evaluation" in said
    verbose = " ".join(report(capsys, "-v").split())
    assert all(f"{name}.py:11" in verbose for name in files)
    assert " more; evaluation" not in verbose

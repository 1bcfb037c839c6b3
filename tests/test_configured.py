"""Classes that option files name, libraries whose users train, and what a step skips after its optimizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found

MAIN = """
import importlib
import sys
import pytorch_lightning as pl
from omegaconf import OmegaConf
from torch.utils.data import DataLoader

def get_class(dotted):
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(module, package=None), name)

def make(config):
    return get_class(config["target"])(**config.get("params", dict()))

if __name__ == "__main__":
    configs = [OmegaConf.load(path) for path in sys.argv[1:]]
    config = OmegaConf.merge(*configs)
    model = make(config.model)
    trainer = pl.Trainer.from_argparse_args(config.trainer, max_epochs=1)
    trainer.fit(model, DataLoader(make(config.data), num_workers=2, pin_memory=True))
"""
NETS = """
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn

class Named(pl.LightningModule):
    def __init__(self, width, remap=None, classes=4):
        super().__init__()
        self.layer = nn.Linear(width, 4)
        self.remap = remap
        self.classes = classes

    def training_step(self, batch, batch_idx):
        loss = self.layer(batch).mean()
        self.seen = loss.item()  # named
        if self.remap is not None:
            self.left = loss.item()  # remapped
        self.coded = F.one_hot(batch.long(), num_classes=self.classes)
        return loss

class Other(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = batch.mean()
        self.seen = loss.item()  # other
        return loss
"""
OPTIONS = "model:\n  target: nets.Named\n  params:\n    width: 4\ndata:\n  target: rows.Rows\n"
ROWS = """
import torch
from torch.utils.data import Dataset

class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.zeros(4)
"""


def marks(tmp_path: Path, files: dict[str, str]) -> dict[str, str]:
    """The comments of the lines with findings about waits, with the severity of each."""
    told = {}
    for finding in found(tmp_path, files, "TL301", "TL302", "TL304"):
        text = Path(finding.path).read_text().splitlines()
        for line in {finding.span.line, *(each.line for each in finding.evidence if not each.context)}:
            told[text[line - 1].partition("# ")[2] or text[line - 1].strip()] = finding.severity.value
    return told


def configured(options: str) -> dict[str, str]:
    """A program of Lightning that makes what an option file names."""
    return {"main.py": MAIN, "nets.py": NETS, "rows.py": ROWS, "configs/small.yaml": options}


def test_a_program_makes_the_classes_that_option_files_name(tmp_path: Path) -> None:
    assert marks(tmp_path, configured(OPTIONS)) == {"named": "warning", "other": "info"}


def test_parameters_that_no_option_file_mentions_have_their_defaults(tmp_path: Path) -> None:
    told = marks(tmp_path, configured(OPTIONS.replace("width: 4", "width: 4\n    remap: used.npy")))
    assert told == {"named": "warning", "remapped": "warning", "other": "info"}


LIBRARY = {
    "lib/__init__.py": "from lib.trainer import Trainer\n",
    "lib/net.py": """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    @classmethod
    def made(cls, width):
        return cls()

class Named(Net):
    @classmethod
    def made(cls, width):
        return super().made(width)

    def forward(self, x):
        y = self.layer(x)
        self.peak = y.max().item()  # forward
        return y
""",
    "lib/trainer.py": """
import torch
from lib.net import Named

class Trainer:
    def train(self, loader):
        net = Named.made(4).cuda()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x in loader:
            loss = net(x.cuda()).mean()
            loss.backward()
            optimizer.step()
""",
}
SHOW = """
import torch
from lib.net import Named

if __name__ == "__main__":
    net = Named.made(4).cuda()
    for row in range(9):
        print(net(torch.ones(4, device="cuda")).nonzero())  # shown
"""


def test_what_a_library_trains_with_is_a_step_if_no_program_trains(tmp_path: Path) -> None:
    assert marks(tmp_path, {**LIBRARY, "show.py": SHOW})["forward"] == "warning"


def test_what_a_library_trains_with_is_assumed_if_programs_train_in_another_way(tmp_path: Path) -> None:
    train = "import torch\nfrom lib.net import Net\n\nnet = torch.nn.Linear(4, 4).cuda()\nfor x in range(9):\n"
    train += "    net(torch.ones(4, device='cuda')).mean().backward()\n"
    assert marks(tmp_path, {**LIBRARY, "train.py": train})["forward"] == "info"


STEPS = """
import torch

net = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
seen = shown = 0
while True:
    loss = net(torch.ones(4, device="cuda")).mean()
    loss.backward()
    optimizer.step()
    seen += 4
    {skip}
    print(loss.item())  # after
    shown = seen
"""


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ("if seen < shown + 1000: continue", {}),
        ("if seen < shown + 1000: print(seen)", {"after": "warning"}),
        ("if seen in (4, 8): continue", {"after": "warning"}),
    ],
)
def test_what_follows_a_skip_behind_the_optimizer_is_in_few_steps(
    tmp_path: Path, skip: str, expected: dict[str, str]
) -> None:
    assert marks(tmp_path, {"train.py": STEPS.replace("{skip}", skip)}) == expected


def test_what_a_collective_fills_is_no_round_trip(tmp_path: Path) -> None:
    train = """
import torch

flag = torch.zeros(1)
net = torch.nn.Linear(4, 4).cuda()
for step in range(9):
    there = torch.tensor([step]).cuda()
    torch.distributed.broadcast(tensor=there, src=0)
    print(there.cpu())
    net(torch.ones(4, device="cuda")).mean().backward()
"""
    assert not found(tmp_path, {"train.py": train}, "TL201")
    assert found(tmp_path, {"train.py": train.replace("    torch.distributed", "    #")}, "TL201")

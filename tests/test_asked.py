"""Hot functions are followed first, and of modules and constructors what they ask for."""

from __future__ import annotations

import pytest

from torchlint.program.world import World
from torchlint.solution import solve

BUDGET = 400
LONG = "\n".join("print(torch.zeros(3))" for _ in range(1000))
LONG_BODY = LONG.replace("\n", "\n        ")
MODEL = """\
import torch
from elsewhere import data, device
from helpers import *
from large import count, table


class Base(torch.nn.Module):
    def __init__(self, sizes, where):
        super().__init__()
        {long}
        self.sizes = torch.as_tensor(sizes, device=where)
        self.lengths_cpu = self.sizes.cpu()
        self.model = None
        scale = torch.ones(3, device=device())
        self.scale, self.name = scale * 2, "base"
        self.register_buffer("table", torch.ones(4, device=device()))

    def load(self):
        self.model: torch.Tensor = data()


class Worker(Base):
    def step(self, x: torch.Tensor):
        {line}


def made():
    return Worker([1, 2], device())
"""
LARGE = f"""\
import torch
{LONG}
table = [torch.ones(3)]


def count(x):
    return x.sum().item()
"""
HELPERS = "def total(x):\n    return x.tolist()\n"


def waits(line: str) -> set[str]:
    """The lines at which the host waits or copies in a hot method and what it calls, in any file."""
    model = MODEL.replace("{line}", line).replace("{long}", LONG_BODY)
    files = {"model.py": model, "large.py": LARGE, "helpers.py": HELPERS}
    happened = solve({path: text.encode() for path, text in files.items()}, BUDGET, World(hot=("*.step",))).happened
    lines = {path: text.splitlines() for path, text in files.items()}
    events = [one.event for one in happened if one.frame.name != "<made>"]
    return {lines[event.path][getattr(event.node, "lineno", 0) - 1].strip() for event in events}


@pytest.mark.parametrize(
    "line",
    [
        "return self.name.count('a')",
        "return self.lengths_cpu.tolist()",
        "return table[0].tolist()",
        "return self.missing.name",
        "return self.sizes.to(x.dtype)",
    ],
)
def test_what_is_on_the_host_or_no_tensor_is_innocent(line: str) -> None:
    assert waits(line) == set()


@pytest.mark.parametrize(
    ("line", "waiting"),
    [
        ("return self.sizes.tolist()", "return self.sizes.tolist()"),
        ("return self.scale.tolist()", "return self.scale.tolist()"),
        ("return self.table.tolist()", "return self.table.tolist()"),
        ("return self.model.tolist()", "return self.model.tolist()"),
        ("return made().scale.tolist()", "return made().scale.tolist()"),
        ("return count(x)", "return x.sum().item()"),
        ("return total(x)", "return x.tolist()"),
    ],
)
def test_a_read_is_found_however_long_constructors_and_modules_are(line: str, waiting: str) -> None:
    assert waits(line) == {waiting}

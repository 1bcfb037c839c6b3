"""What annotations and names say of values about which nothing else is known."""

from __future__ import annotations

import pytest

from torchlint.program.world import World
from torchlint.solution import solve

BEFORE = """\
from __future__ import annotations
import dataclasses
import numpy as np
import torch
from elsewhere import Field, data, outputs


@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    lengths_cpu: torch.Tensor
    mask: torch.Tensor | None = None
    names: list[str] = dataclasses.field(default_factory=list)


class Buffer:
    def __init__(self, size: int, device: torch.device):
        self.cpu = torch.zeros(size, device="cpu")
        self.gpu = torch.zeros_like(self.cpu, device=device)


def fields():
    return dict(tokens=Field("text"), sizes=Field(flat(2), keep_on_cpu=True))


def made() -> list[torch.Tensor]:
    return outputs()


"""


def waits(code: str) -> list[str]:
    """The lines of a hot function, and what it calls, at which the host waits or copies."""
    text = BEFORE + code
    happened = solve({"model.py": text.encode()}, world=World(hot=("step",))).happened
    return sorted({text.splitlines()[getattr(one.event.node, "lineno", 0) - 1].strip() for one in happened})


@pytest.mark.parametrize(
    "code",
    [
        "def step(x: Unknown): x.tolist()",
        "def step(x: torch.Size): x.tolist()",
        "def step(x: list[int]): x.index(3)",
        "def step(x: dict[str, int]): x['a'].tolist()",
        "def step(x: list[int] | torch.Tensor): x.tolist()",
        "def step(x: np.ndarray): x.tolist()",
        "def step(x: Batch): x.names[0].item()",
        "def step(x: Batch): x.lengths_cpu.tolist()",
        "def step(sizes: torch.Tensor): sizes.tolist()",
        "def step(cpu_sizes: torch.Tensor): cpu_sizes.tolist()",
        "def step(x: Buffer): x.cpu.tolist()",
        "def step(x: torch.Tensor, index: torch.Tensor): x.gpu = Buffer(3, x.device).gpu[index]",
        "def step(x: torch.Tensor): y = x.numpy()",
        "def step(x: torch.Tensor): torch.zeros(3, pin_memory=True).tolist()",
        "@triton.jit\ndef step(x: torch.Tensor): x.item()",
        "def step(x: torch.Tensor): kernel(x)\n\n\n@helpers.jit\ndef kernel(x): x.item()",
    ],
)
def test_what_is_no_tensor_or_on_the_host_is_innocent(code: str) -> None:
    assert waits(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "def step(x: torch.Tensor): x.tolist()",
        "def step(x: 'torch.Tensor'): x.tolist()",
        "def step(x: Optional[torch.Tensor]): x.tolist()",
        "def step(x: list[torch.Tensor]): x[0].tolist()",
        "def step(x: dict[str, torch.Tensor]): x['a'].tolist()",
        "def step(x: tuple[int, torch.Tensor]): x[1].tolist()",
        "def step(x: torch.Tensor | list[torch.Tensor]): x[0].tolist()",
        "def step(x: Annotated[torch.Tensor, 3]): x.tolist()",
        "def step(x: Batch): x.tokens.tolist()",
        "def step(x: Batch | None): x.mask.tolist()",
        "def step(x): Batch(data(), data()).tokens.tolist()",
        "def step(tokens: torch.Tensor): tokens.tolist()",
        "def step(x: Buffer): x.gpu.tolist()",
        "def step(x): made()[0].tolist()",
        "def step(x): y: torch.Tensor = data(); y.tolist()",
    ],
)
def test_what_is_annotated_as_a_tensor_is_one(code: str) -> None:
    assert waits(code) == [code]


def test_objects_of_classes_that_make_one_another_end() -> None:
    classes = (
        "class One:\n    def __init__(self, other: Two): self.other = other\n\n\n"
        "class Two:\n    def __init__(self, other: One, x: torch.Tensor): self.other, self.x = other, x\n\n\n"
    )
    code = "def step(x: One): x.other.x.tolist()"
    assert waits(classes + code) == [code]


def test_dispatch_leads_to_methods_that_take_the_arguments_of_a_call() -> None:
    code = (
        "def step(x: torch.Tensor): data().build(x, n=3)\n\n\n"
        "class Right:\n    def build(self, x, n): x.sum().item()  # right\n\n\n"
        "class More:\n    def build(self, x, n, other): x.sum().item()\n\n\n"
        "class Less:\n    def build(self, x): x.sum().item()\n\n\n"
        "class Other:\n    def build(self, x, m=2): x.sum().item()\n"
    )
    assert waits(code) == ["def build(self, x, n): x.sum().item()  # right"]


def test_what_is_hot_is_followed_although_there_is_more_than_the_budget_allows() -> None:
    long = "\n".join("print(torch.zeros(3))" for _ in range(3000)) + "\n"
    code = (BEFORE + "def step(x: torch.Tensor): x.tolist()\n").encode()
    for name in ("a_first.py", "z_last.py"):
        files = {"model.py": code, name: f"import torch\n{long}".encode()}
        happened = solve(files, 800, World(hot=("step",))).happened
        assert [one.event.path for one in happened if one.frame.name == "step"] == ["model.py"]

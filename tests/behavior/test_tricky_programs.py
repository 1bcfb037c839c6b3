"""Programs in which something is not what it looks like: safe fixes leave them as they are, or change nothing.

Each program has a finding of its rule. Those with ``kept`` must not be changed by safe fixes at all; what a fix would
change is in its name.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from tests.behavior.observe import outcome  # noqa: E402 - these need torch
from tests.behavior.surroundings import simulated_cuda  # noqa: E402
from torchlint.api import lint_source  # noqa: E402
from torchlint.config.config import Config  # noqa: E402
from torchlint.model import Safety  # noqa: E402
from torchlint.program.world import World  # noqa: E402
from torchlint.run import session  # noqa: E402
from torchlint.run.fixing.fixer import fix_text  # noqa: E402

HEAD = "import numpy as np\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\n\n"
FLAG = """
torch.backends.cudnn.fastest = True


def run():
    return getattr(torch.backends.cudnn, "fast" + "est")
"""
DIMENSION = """
class Maker:
    dim, reads = 0, 0

    @property
    def {prop}(self):
        self.dim, self.reads = 1, self.reads + 1
        return {value}

    def make(self):
        return [{made}, self.reads]


def run():
    return Maker().make()
"""
LIKE = """
class Own(torch.Tensor):
    def to(self, *args):
        return 4


def run():
    x = torch.ones(2).as_subclass(Own)
    return torch.zeros_like(x).to("cuda")
"""
LOG = """
log = []


def where():
    log.append("where")
    return "cuda"


def run():
    try:
        torch.zeros(-1).to(where())
    except RuntimeError:
        return log
"""


# The rule, the program, and the simulation of CUDA that it needs.
BETWEEN = """
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def moved(device, done):
    x = torch.zeros(3)
    {between}
    x = x.to(device)
    return x


def run():
    done = []
    for device in "cuda warp".split():
        try:
            done.append(moved(device, done))
        except RuntimeError:
            done.append(None)
    return done
"""
INDEXED = """
def run():
    try:
        return torch.zeros(3).cuda(0)
    except RuntimeError:
        return None
"""
CAUGHT = """
def made(n):
    return torch.tensor(np.zeros({size})).to("cuda:0")


def run():
    try:
        return made(2)
    except {error}:
        return None
"""
RESIZED = """
def run():
    x = torch.from_numpy(np.zeros(3))
    x.to("cuda")
    try:
        return x.resize_(8).shape
    except RuntimeError as error:
        return type(error).__name__
"""
KEPT = {
    "a flag is read by a composed name": ("TL507", FLAG, None),
    "a property changes the dimension that is inserted": (
        "TL104",
        DIMENSION.format(prop="place", value='"cuda"', made="torch.zeros(3).unsqueeze(self.dim).to(self.place)"),
        simulated_cuda,
    ),
    "a property that counts its reads is read twice": (
        "TL104",
        DIMENSION.format(prop="other", value='torch.ones(2, device="cuda")', made="torch.zeros(3).type_as(self.other)"),
        simulated_cuda,
    ),
    "an assignment in the device changes the dimension": (
        "TL104",
        'def run():\n    d = 0\n    return torch.zeros(3).unsqueeze(d).to("cuda" if (d := 1) else "cpu")\n',
        simulated_cuda,
    ),
    "zeros_like makes an object of a subclass": ("TL104", LIKE, simulated_cuda),
    "an error of the move comes before a print": ("TL104", BETWEEN.format(between="done.append(1)"), simulated_cuda),
    "an index without CUDA is another error": ("TL104", INDEXED, None),
    "an error of NumPy is caught": ("TL103", CAUGHT.format(size="n", error="ValueError"), simulated_cuda),
    "memory of NumPy cannot be resized": ("TL103", RESIZED, simulated_cuda),
    "the device is computed after the constructor has failed": ("TL104", LOG, simulated_cuda),
}


def after_safe_fixes(rule: str, text: str) -> str:
    config = Config(select=(rule,), world=World(hot=("run",)))
    assert lint_source(text, config=config).findings, "nothing is found, so nothing is tested"
    data, run = fix_text(text.encode(), "program.py", session.plan(config), Safety.SAFE)
    assert not run.problems
    return data.decode()


@pytest.mark.parametrize("name", KEPT)
def test_a_safe_fix_leaves_a_program_that_it_would_change(name: str) -> None:
    rule, text, _ = KEPT[name]
    assert after_safe_fixes(rule, HEAD + text) == HEAD + text


@pytest.mark.parametrize("name", KEPT)
def test_the_programs_that_are_left_run(name: str) -> None:
    """Programs that fail for a reason of their own would show nothing."""
    _, text, simulation = KEPT[name]
    assert "exception" not in outcome(HEAD + text, {}, simulation)

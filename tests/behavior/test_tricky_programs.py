"""Programs in which something is not what it looks like: safe fixes leave them as they are, or change nothing.

Each program has a finding of its rule. Those with ``kept`` must not be changed by safe fixes at all; what a fix would
change is in its name.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from tests.behavior.observe import differences, outcome  # noqa: E402 - these need torch
from tests.behavior.surroundings import cuda_on_the_cpu, simulated_cuda  # noqa: E402
from torchlint.api import lint_source  # noqa: E402
from torchlint.config.config import Config  # noqa: E402
from torchlint.model import Safety  # noqa: E402
from torchlint.run import session  # noqa: E402
from torchlint.run.fixer import fix_text  # noqa: E402

HEAD = "import numpy as np\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\n\n"
TRAINING = """{classes}

def run():
    torch.manual_seed(3)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for x in DataLoader(torch.arange(12.0).reshape(6, 2), 2):
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        total += loss
        optimizer.step()
    return total.item()
"""
OWN_LOSS = """
class Loss:
    def __init__(self, value):
        self.value = value

    def backward(self):
        self.value.backward()

    def __radd__(self, other):
        return Loss(self.value + getattr(other, "value", other))

    __add__ = __iadd__ = __radd__

    def item(self):
        return self.value.item()


def made(value):
    return Loss(value)
"""
FLAG = """
torch.backends.cudnn.fastest = True


def run():
    return getattr(torch.backends.cudnn, "fast" + "est")
"""
ANNOTATED = """
def read(scores: torch.Tensor):
    return scores.to("cpu", non_blocking=True).tolist()


def run():
    return read(torch.ones(3))
"""
ELEMENTS = """
def run():
    y = torch.ones(3).cuda().flatten()
    return [v.item() for v in y]
"""
TRACKED = """
class Tracked(torch.Tensor):
    def detach(self):
        raise RuntimeError("a tracked tensor is not detached")
"""
SCORES = """
class Scores:
    def __init__(self, values):
        self.values = values

    def to(self, device, *, non_blocking):
        return self.values.to(device)


def read(scores):
    return scores.to("cpu", non_blocking=True).tolist()


def run():
    return read(Scores(torch.ones(3)))
"""
ROWS = """
class Rows(torch.Tensor):
    def tolist(self):
        return "other"


def run():
    y = torch.ones(3).as_subclass(Rows).cuda().flatten()
    return [v.item() for v in y]
"""
BOX = """
class Box:
    def __init__(self, number):
        self.number, self.device = number, torch.device("cuda")

    def cuda(self):
        return self

    def detach(self):
        return self

    float = clone = detach

    def item(self):
        return self.number

    def reshape(self, shape):
        return self


def run():
    y = Box(1.5).cuda().float()
    return torch.tensor(y.item(), device=y.device)
"""
NET = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.moved = 0

    def {name}(self, *args):
        self.moved += 1
        return super().{name}(*args)


class Net(Base):
    pass


def run():
    return Net().cuda().moved
"""
MAPPING = """
class Batch(dict):
    def cuda(self):
        return self


class Rows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return Batch(x=torch.ones(2)), 1


def run():
    model = torch.nn.Linear(2, 1)
    for batch, _ in DataLoader(Rows(), 2):
        moved = batch.cuda()
        model(moved["x"]).sum().backward()
    return moved["x"]
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
RESHAPED = """
def run():
    x = torch.arange(4.0).to("cuda").flatten()
    x.unsqueeze_(0)
    try:
        return [v.item() for v in x]
    except RuntimeError as error:
        return type(error).__name__
"""
FOLDED = """
def run():
    x = torch.arange(4.0).to("cuda").flatten()

    def fold():
        nonlocal x
        x = x.reshape(2, 2)

    fold()
    try:
        return [v.item() for v in x]
    except RuntimeError as error:
        return type(error).__name__
"""
CAUGHT = """
def made(n):
    return torch.tensor(np.zeros({size}))


def run():
    try:
        return made(2)
    except {error}:
        return None
"""
RESIZED = """
def run():
    x = torch.from_numpy(np.zeros(3))
    try:
        return x.resize_(8).shape
    except RuntimeError as error:
        return type(error).__name__
"""
KEPT = {
    "a loss of an own class has no detach": (
        "TL607",
        TRAINING.format(classes=OWN_LOSS, loss="made(model(x).mean())"),
        None,
    ),
    "a loss of a subclass has a detach of its own": (
        "TL607",
        TRAINING.format(classes=TRACKED, loss="torch.nn.functional.mse_loss(model(x.as_subclass(Tracked)), x[:, :1])"),
        None,
    ),
    "a method to needs its argument": ("TL204", SCORES, None),
    "a flag is read by a composed name": ("TL507", FLAG, None),
    "a subclass has a tolist of its own": ("TL302", ROWS, simulated_cuda),
    "an object with item gives another class than torch.tensor": ("TL201", BOX, simulated_cuda),
    "a module has a cuda of its own": ("TL701", NET.format(name="cuda"), simulated_cuda),
    "a module has a to of its own": ("TL701", NET.format(name="to"), simulated_cuda),
    "a mapping that collation keeps has a cuda of its own": ("TL202", MAPPING, cuda_on_the_cpu),
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
    "a tensor gets another shape in place": ("TL302", RESHAPED, simulated_cuda),
    "another function replaces the tensor": ("TL302", FOLDED, simulated_cuda),
    "an error of NumPy is caught": ("TL103", CAUGHT.format(size="n", error="ValueError"), None),
    "memory of NumPy cannot be resized": ("TL103", RESIZED, None),
    "the device is computed after the constructor has failed": ("TL104", LOG, simulated_cuda),
}
# Their innocent relatives, which are fixed.
FIXED = {
    "the result of a function of torch": (
        "TL607",
        TRAINING.format(classes="", loss="torch.nn.functional.mse_loss(model(x), x[:, :1])"),
        None,
    ),
    "the result of a layer of torch": (
        "TL607",
        TRAINING.format(classes="", loss="torch.nn.MSELoss()(model(x), x[:, :1])"),
        None,
    ),
    "a tensor by its annotation": ("TL204", ANNOTATED, None),
    "elements of a tensor": ("TL302", ELEMENTS, simulated_cuda),
    "a module with the moves of torch": ("TL701", NET.format(name="other"), simulated_cuda),
}


def after_safe_fixes(rule: str, text: str) -> str:
    options = {"hardcoded-cuda": {"portable": True}} if rule == "TL701" else {}
    config = Config(select=(rule,), rules=options)
    assert lint_source(text, config=config).findings, "nothing is found, so nothing is tested"
    data, run = fix_text(text.encode(), "program.py", session.plan(config), Safety.SAFE)
    assert not run.problems
    return data.decode()


@pytest.mark.parametrize("name", KEPT)
def test_a_safe_fix_leaves_a_program_that_it_would_change(name: str) -> None:
    rule, text, _ = KEPT[name]
    assert after_safe_fixes(rule, HEAD + text) == HEAD + text


@pytest.mark.parametrize("name", FIXED)
def test_the_innocent_relatives_are_fixed_and_do_the_same(name: str) -> None:
    rule, text, simulation = FIXED[name]
    after = after_safe_fixes(rule, HEAD + text)
    assert after != HEAD + text
    before, now = outcome(HEAD + text, {}, simulation), outcome(after, {}, simulation)
    assert not differences(before, now), after


@pytest.mark.parametrize("name", KEPT)
def test_the_programs_that_are_left_run(name: str) -> None:
    """Programs that fail for a reason of their own would show nothing."""
    _, text, simulation = KEPT[name]
    assert "exception" not in outcome(HEAD + text, {}, simulation)

"""Values: what is proved about expressions, and above all what is not."""

from __future__ import annotations

import textwrap

import pytest

from tests.analysis_help import find, parse
from torchlint.analysis.values.lattice import Device, Kind, Value

HEADER = "import numpy as np\nimport torch\nimport pandas as pd\nimport cv2\nfrom torch import nn\n"


def value(code: str) -> Value:
    """The value of the last ``it`` in the code."""
    module = parse(HEADER + code)
    return module.value(find(module, "it", -1))


@pytest.mark.parametrize(
    "code",
    [
        "def f(it):\n    return it",
        "it = unknown()\nit",
        "it = np.zeros(3) if c else unknown\nit",
        "it = [1, 2]\nif c:\n    it = np.zeros(3)\nit",
        "a = np.load(p)\nit = a[i]\nit",
        "def np(): ...\nit = np.zeros(3)\nit",
        "a = np.zeros(3)\nit = a * scale\nit",
        "import random\nit = random.choice(xs)\nit",
        "class A:\n  def f(self):\n    self.x = np.zeros(3)\n    self.x = other()\n    it = self.x\n    it",
    ],
)
def test_what_is_not_certain_on_every_path_is_unknown(code: str) -> None:
    assert value(code).kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("it = np.zeros(3).mean()\nit", Kind.NUMPY_SCALAR),
        ("it = np.zeros(3)[0]\nit", Kind.NUMPY_SCALAR),
        ("it = np.random.rand()\nit", Kind.NUMPY_SCALAR),
        ("it = np.zeros((2, 3))[0]\nit", Kind.NDARRAY),
        ("it = np.zeros((2, 3)).mean(axis=0)\nit", Kind.NDARRAY),
        ("it = np.random.randint(0, 3, size=5)\nit", Kind.NDARRAY),
        ("it = cv2.imread(p)[:, :, ::-1]\nit", Kind.NDARRAY),
        ("it = pd.read_csv(p)['a'].values\nit", Kind.NDARRAY),
        ("it = pd.read_csv(p)[['a', 'b']].to_numpy()\nit", Kind.NDARRAY),
        ("def f(it: np.ndarray):\n    it", Kind.NDARRAY),
        ("def f(it: 'np.ndarray | None' = None):\n    it", Kind.NDARRAY),
        ("def g():\n    return np.zeros(3), 1\nit, n = g()\nit", Kind.NDARRAY),
        ("for it in np.zeros((2, 3)):\n    it", Kind.NDARRAY),
        ("for i, it in enumerate(np.zeros((2, 3))):\n    it", Kind.NDARRAY),
        ("if (it := np.zeros(3)) is not None:\n    it", Kind.NDARRAY),
        (
            "class A:\n  def __init__(self):\n    self.x = np.load(p)\n  def f(self):\n    it = self.x\n    it",
            Kind.NDARRAY,
        ),
        ("it = np.zeros(3) + torch.zeros(3)\nit", Kind.TENSOR),
        ("it = torch.zeros(3).numpy()\nit", Kind.NDARRAY),
        ("it = x.detach().cpu().numpy()\nit", Kind.NDARRAY),
        ("it = torch.zeros(3).sum().item()\nit", Kind.SCALAR),
        ("it = nn.Linear(1, 2)\nit", Kind.MODULE),
        ("class Net(nn.Module): ...\nit = Net()\nit", Kind.MODULE),
        ("it = torch.utils.data.DataLoader(ds)\nit", Kind.LOADER),
    ],
)
def test_kinds_are_proved_through_names_calls_loops_and_attributes(code: str, kind: Kind) -> None:
    assert value(code).kind is kind


@pytest.mark.parametrize(
    ("code", "device"),
    [
        ("it = torch.zeros(3)\nit", Device.CPU),
        ("it = torch.zeros(3, device=d)\nit", Device.UNKNOWN),
        ("it = torch.zeros(3, device='cuda:0')\nit", Device.CUDA),
        (
            "d = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nit = torch.zeros(3).to(d)\nit",
            Device.VARIABLE,
        ),
        ("d = 'cuda' if ok else 'cpu'\nit = torch.zeros(3, device=d)\nit", Device.VARIABLE),
        ("it = torch.zeros(3).cuda().exp().cpu()\nit", Device.CPU),
        ("it = torch.zeros(3).cuda() * 2\nit", Device.CUDA),
        ("it = torch.zeros(3).cuda().to(torch.float16)\nit", Device.CUDA),
        ("x = torch.zeros(3).cuda()\nit = torch.ones(3).to(x.device)\nit", Device.CUDA),
        ("for it, y in torch.utils.data.DataLoader(ds):\n    it", Device.CPU),
    ],
)
def test_devices_follow_moves_and_factories(code: str, device: Device) -> None:
    found = value(code)
    assert (found.kind, found.device) == (Kind.TENSOR, device)


@pytest.mark.parametrize(
    ("code", "device"),
    [
        ("it = x.to(torch.device('cpu'))\nit", Device.CPU),
        ("model.to('cpu')\nit = model(x).logits[0]\nit", Device.CPU),
        ("model.to('cpu')\nit = model(x.cuda())\nit", Device.CUDA),
        ("it = model(x)\nmodel.to('cpu')\nit", Device.UNKNOWN),
        ("it = x.to('cpu') if c else x.cuda()\nit", Device.UNKNOWN),
        ("args.device = 'cpu'\nit = x.to(args.device)\nit", Device.CPU),
        ("if c:\n    args.device = 'cpu'\nit = x.to(args.device)\nit", Device.VARIABLE),
        ("args.device = 'cpu'\nother.device = 'cuda'\nit = x.to(args.device)\nit", Device.VARIABLE),
        ("args.device = 'cpu'\nargs.device += ':0'\nit = x.to(args.device)\nit", Device.VARIABLE),
        ("args.device, b = f()\nit = x.to(args.device)\nit", Device.VARIABLE),
        ("d = x.device\nit = y.to(d)\nit", Device.VARIABLE),
        ("d = torch.zeros(3).device\nit = y.to(d)\nit", Device.CPU),
        ("def g(x, d: torch.device):\n    it = x.to(d)\n    it", Device.VARIABLE),
        ("def g(d):\n    it = x.to(d)\n    it\ng(y.device)", Device.VARIABLE),
        ("def g(d: torch.device):\n    it = x.to(d)\n    it\ng(torch.device('cpu'))", Device.CPU),
        ("it = x.to('mps')\nit", Device.OTHER),
        ("it = x.to('mps' if c else 'cpu')\nit", Device.OTHER),
        ("it = x.to('mps' if c else 'cuda')\nit", Device.VARIABLE),
    ],
)
def test_of_what_is_moved_or_comes_from_a_model_the_device_is_known_and_no_more(code: str, device: Device) -> None:
    found = value(f"def f(x, y, c, model, args, other):\n{textwrap.indent(code, '    ')}")
    assert (found.kind, found.device) == (Kind.UNKNOWN, device)


@pytest.mark.parametrize(
    ("code", "fresh"),
    [
        ("it = np.zeros(3)\nit", True),
        ("a = np.zeros(3)\nit = a[1:]\nit", False),
        ("it = np.asarray(x)\nit", False),
        ("it = np.asarray([1, 2])\nit", True),
        ("it = np.load(p).astype(np.float32)\nit", True),
        ("a = np.load(p)\nit = a.astype(np.float32, copy=False)\nit", False),
        ("it = np.zeros((2, 2)).T\nit", False),
    ],
)
def test_an_array_is_fresh_when_nothing_else_refers_to_its_memory(code: str, fresh: bool) -> None:
    found = value(code)
    assert (found.kind, found.fresh) == (Kind.NDARRAY, fresh)


def test_a_class_that_contains_itself_and_a_function_that_calls_itself_end() -> None:
    assert value("def f():\n    return f()\nit = f()\nit").kind is Kind.UNKNOWN
    assert value("class A(A): ...\nit = A().x\nit").kind is Kind.UNKNOWN
    assert value("it = 1\nwhile c:\n    it = g(it)\nit").kind is Kind.UNKNOWN

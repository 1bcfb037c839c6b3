"""Programs for testing fixes: for each rule, code with safe fixes, and code without."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

_HEAD = "import numpy as np\nimport torch\n\n\ndef run({}):\n    {}\n"


# Content that torch's factories would create differently: no fix at all.
LEFT = [
    "torch.tensor(np.full(3, -1e9), dtype=torch.float16)",
    "torch.tensor(np.full(3, 2.5).astype(int).astype(np.float32))",
    "torch.tensor(np.arange(300, dtype=np.uint8))",
    "torch.tensor(np.arange(300).astype(np.uint8))",
    "torch.tensor(np.arange(300).astype(np.uint8), dtype=torch.int64)",
    "torch.tensor(np.eye(2, dtype=np.uint16))",
    "torch.tensor(np.arange(0, 5, 0))",
    "torch.as_tensor(np.zeros(3), requires_grad=True)",
    "torch.asarray(np.zeros(6).reshape(2, 3), requires_grad=True)",
    "torch.tensor(np.linspace(0, 1, 5, False))",
]


@dataclass(frozen=True)
class Program:
    """A program, the rule whose fix is tested, and the inputs.

    ``hot`` are its functions that run in every step. ``differs`` names what an unsafe fix changes in at least one run;
    ``caveat`` is a part of its caveat.
    """

    rule: str
    text: str
    inputs: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    caveat: str = ""
    differs: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    hot: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.rule} {' '.join(self.text.split()[8:20])}"


def body(rule: str, statements: str, **more: Any) -> Program:
    """A program with one function, whose parameters are the inputs; ``x`` is a tensor."""
    inputs = more.pop("inputs", {})
    parameters = ("x: torch.Tensor" if name == "x" else name for name in inputs)
    text = _HEAD.format(", ".join(parameters), statements.replace("\n", "\n    "))
    return Program(rule, text, inputs, **more)


def in_step(program: Program) -> Program:
    """The same, where a training calls the function in every step."""
    given = ", ".join({"x": "batch.cuda()", "device": "'cuda'"}[name] for name in program.inputs)
    step = f"model(batch.cuda()).sum().backward()\n        optimizer.step()\n        run({given})"
    training = f"def train(model, loader, optimizer):\n    for batch in loader:\n        {step}\n"
    return replace(program, text=f"{program.text}\n\n{training}")


_GRADIENTS = "model = torch.nn.Linear(3, 2).to(device)\nmodel(torch.rand(5, 3, device=device)).sum().backward()\n"
DEVICES = ("cpu", "meta")
# Arrays by name: various dtypes, memory orders and ranks, a transposed and an empty one. See `made` in the module for
# inputs.
ARRAYS = (
    "f16", "f32", "f64", "i8", "i32", "i64", "u8", "bool", "complex", "fortran", "transposed", "scalar", "empty", "nan",
)  # fmt: skip
SIZES = (0, 1, 7)

_MODULE = """
import functools
import numpy as np
import torch


class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.places = torch.from_numpy(np.arange(4))
        self.scale = torch.from_numpy(np.ones(2, dtype=np.float32))
        self.mask = torch.Tensor(np.ones((2, 2)))


def run():
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    table = Table()
    return [table.places, table.scale, table.mask]
"""

SAFE = [
    # TL101: one transfer
    *(
        body("TL101", statement, inputs={"data": ARRAYS, "x": ("tensor", "meta tensor")})
        for statement in (
            "a = np.array(data)\nreturn torch.tensor(a).to(x.device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).unsqueeze(0).to(x.device), [a]",
            "a = np.array(data)\nreturn [torch.tensor(a).to(x.device) for _ in range(2)], [a]",
            "a = np.array(data)\nreturn torch.tensor(a.T).permute(*range(a.ndim)).to(x.device), [a]",
        )
    ),
    # TL101: shared memory of new arrays
    *(
        body("TL101", statement, inputs={"data": ARRAYS})
        for statement in (
            "a = np.array(data)\nreturn torch.tensor(np.concatenate([a.reshape(-1), a.reshape(-1)])), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.stack([a, a])), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.abs(a)).reshape(-1), [a]",
        )
    ),
    body("TL101", "return torch.tensor(np.array([[1, 2], [3, 4]]))"),
    body("TL101", "return torch.tensor(data=np.array((0.5, 1.5), dtype=np.float32))"),
    body("TL101", "return torch.tensor(np.hanning(9))"),
    # TL102
    # TL103
    *(
        body("TL103", f"return {statement}")
        for statement in (
            "torch.tensor(np.zeros((3, 2)))",
            "torch.tensor(np.zeros(3, dtype=np.float32))",
            "torch.from_numpy(np.ones((2, 3), dtype=np.int64))",
        )
    ),
    body("TL103", "return torch.tensor(np.zeros((len(rows), 3)))", inputs={"rows": ([1], [1, 2], (1, 2, 3))}),
    body("TL103", "return torch.tensor(np.zeros(3, np.int32))"),
    *(
        body("TL103", f"return {statement}")
        for statement in (
            "torch.tensor(np.zeros(3, None))",
            "torch.from_numpy(np.ones((2, 1, 3), dtype=np.float32))",
        )
    ),
    *(
        body("TL103", f"{setting}\nreturn {statement}")
        for setting in ("torch.set_default_device('meta')", "torch.set_default_dtype(torch.float64)")
        for statement in (
            "torch.from_numpy(np.ones(2, dtype=np.float32))",
            "torch.tensor(np.zeros(2, dtype=np.float32))",
        )
    ),
    *(
        body("TL103", f"with torch.device('meta'):\n    return {statement}")
        for statement in (
            "torch.from_numpy(np.zeros((2, 2)))",
            "torch.tensor(np.zeros(2))",
        )
    ),
    Program("TL103", _MODULE),
    # TL104
    *(
        body("TL104", f"return {statement}", inputs={"x": ("tensor", "meta tensor")})
        for statement in (
            "torch.zeros(3).to(x.device)",
            "torch.zeros(2, 3, dtype=torch.int32).to(x.device)",
            "torch.ones((2, 3)).to(device=x.device)",
            "torch.ones(3).to(x.device, torch.float64)",
            "torch.ones(3).to(x.device, dtype=torch.bool)",
            "torch.ones(3, dtype=torch.int64).to(x.device, torch.float16)",
            "torch.full((2,), 0.1).to(x.device)",
            "torch.full((2,), 7).to(x.device, non_blocking=True)",
            "torch.eye(3).to(x.device).t()",
            "torch.arange(9).to(x.device)",
            "torch.arange(2, 20, 3).to(x.device)",
            "torch.ones(3, dtype=torch.float64).float().to(x.device)",
            "torch.ones(2, 3).long().t().half().to(x.device)",
            "torch.zeros(6).view(2, 3).to(x.device)",
            "torch.zeros(6).unsqueeze(0).bool().to(x.device)",
            "torch.zeros(2, 3).permute(1, 0).to(x.device)",
            "torch.ones(3).half().to(x.device)",
            "torch.autograd.Variable(torch.zeros(3)).to(x.device)",
            "torch.nn.Parameter(torch.zeros(3).to(x.device))",
            "[torch.zeros(n).to(x.device) for n in (1, 2)]",
            "(lambda n: torch.zeros(n).to(x.device))(3)",
        )
    ),
    *(
        body("TL104", f"y = x.to(device) * 1\nreturn {statement}, [x]",
             inputs={"x": ("tensor", "half"), "device": DEVICES})
        for statement in (
            "torch.zeros(3).to(y.device)",
            "torch.zeros(2).repeat(3).to(y.device)",
        )
    ),
]  # fmt: skip
_DATASET = """
import numpy as np
import torch


class Points(torch.utils.data.Dataset):
    def __init__(self, data):
        self.points = np.asarray(data)

    def __getitem__(self, index):
        return torch.tensor(self.points{part})


def run(data):
    return Points(data)[0], [data]
"""

_FOREIGN = """
import numpy as np
import torch


class Rows:
    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data


def run(data):
    return torch.tensor(np.array(Rows(data))), [data]
"""
# These return the same array if the values are integers already.
_ROUNDED = """
import numpy as np
import torch


def tensor(data: np.ndarray):
    return torch.tensor({})


def run(data):
    return tensor(data), [data]
"""

UNSAFE = [
    Program("TL101", _FOREIGN, {"data": ("f32",)}, caveat="share memory",
            differs="result after the sources were written to"),
    Program("TL101", _DATASET.format(part=""), {"data": ("f32",)},
            caveat="share memory", differs="result after the sources were written to"),
    Program("TL101", _DATASET.format(part="[1:, :2]"), {"data": ("f64",)},
            caveat="share memory", differs="sources after the result was written to"),
    body("TL102", "return torch.tensor([np.array(row) for row in rows])",
         inputs={"rows": ([[1.0], [2.0]], [], [[1], [2.5]])}, caveat="empty list", differs="result"),
    body("TL102", "return torch.FloatTensor([np.array(row) for row in rows])",
         inputs={"rows": ([[1.0], [2.0]], [[1], [2]], [])}, caveat="legacy"),
    body("TL103", "return torch.tensor(np.random.randn(3, 2)).to(device)", hot=("run",),
         inputs={"device": ("cpu",)}, caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.random.rand(3, 2)).to(device)", hot=("run",),
         inputs={"device": ("cpu",)}, caveat="different numbers", differs="numpy generator"),
    *(
        Program("TL101", _ROUNDED.format(rounded), {"data": ("i64", "f32")},
                caveat="share memory", differs="result after the sources were written to")
        for rounded in (
            "np.round(data)", "np.around(data, 2)", "data.round()", "np.nan_to_num(data, False)",
            "data.astype(np.int64, 'K', 'unsafe', True, False)",
        )
    ),
    body("TL101", "return torch.tensor(np.array(data) * 2).long().to(device)",
         inputs={"data": ("f32", "not a number"), "device": ("cpu",)}, caveat="conversion runs on the device"),
    body("TL102", "return torch.tensor([np.array(data)])", inputs={"data": ("f32", "scalar")},
         caveat="zero-dimensional", differs="exception"),
    body("TL201", "torch.set_default_dtype(torch.float64)\ny = x.to(device).float()\n"
         "return torch.tensor(y.item(), device=y.device)",
         inputs={"x": ("one",), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL507", "torch.backends.cudnn.fastest = True\nreturn torch.backends.cudnn.enabled", caveat="another file"),
    body("TL507", "calls = []\ntorch.backends.cudnn.fastest = calls.append(1)\nreturn calls",
         caveat="no longer computed", differs="result"),
    body("TL507", "torch.backends.cudnn.verbose = np.random.rand() > 0.5\nreturn 1",
         caveat="no longer computed", differs="numpy generator"),
    body("TL103", "return torch.tensor([0] * len(rows)).to(device)", hot=("run",),
         inputs={"rows": ([], [1]), "device": ("cpu",)}, caveat="empty list",
         differs="result"),
    body("TL103", "return torch.tensor(list(range(n))).to(device)", hot=("run",),
         inputs={"n": (3, 0, -1), "device": ("cpu",)}, caveat="negative count",
         differs="exception"),
    body("TL103", "try:\n    return torch.tensor(np.zeros(n)).to(device)\nexcept ValueError:\n    return None",
         hot=("run",), inputs={"n": (-1,), "device": ("cpu",)}, caveat="handler", differs="exception"),
    body("TL104", "def make(device):\n    with torch.device('meta'):\n        return other(device)\n"
         "def other(device):\n    return torch.zeros(3).to(device)\nother(device)\nreturn make(device)",
         inputs={"device": ("cpu",)},
         hot=("run",), caveat="meta", differs="exception"),
    body("TL104", "return torch.randn(3).to(device)", hot=("run",), inputs={"device": ("meta",)}, caveat="same seed",
         differs="torch generator"),
    body("TL104", "return torch.tril_indices(3, 3).to(device)", hot=("run",), inputs={"device": DEVICES},
         caveat="lack the operation"),
    body("TL104", "return torch.full((2,), 0.1, dtype=torch.float64).float().to(device)", inputs={"device": DEVICES},
         hot=("run",), caveat="lack"),
    body("TL104", "t = torch.zeros(3).requires_grad_().to(device)\nreturn t", inputs={"device": ("meta",)},
         hot=("run",), caveat="leaf", differs="result"),
    body("TL201", "y = x.to(device)\nreturn torch.tensor(y.item(), device=y.device), [x]",
         inputs={"x": ("one-half",), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL201", "y = x.to(device)\nreturn torch.tensor(y.tolist(), device=y.device), [x]",
         inputs={"x": ("none", "tensor"), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL201", "y = x.to(device)\nreturn y.cpu().flip(0).to(device), [x]",
         inputs={"x": ("tensor",), "device": ("cpu",)}, caveat="round"),
    body("TL201", "return x.cpu().flip(0).to(device), [x]",
         inputs={"x": ("tensor",), "device": ("meta",)}, caveat="stays on the device", differs="result"),
    in_step(body("TL302", "y = x.to(device) * 1\nreturn [v.item() for v in y], [x]",
         inputs={"x": ("integers", "zero-d", "matrix"), "device": ("cpu",)}, caveat="several numbers",
         differs="exception")),
    in_step(body("TL302", f"{_GRADIENTS}total = 0.0\nfor p in model.parameters():\n"
         "    total += p.grad.norm().item() ** 2\nreturn total",
         inputs={"device": ("cpu",)}, caveat="rounded", differs="result")),
    in_step(body("TL302", f"{_GRADIENTS}return sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5",
         inputs={"device": ("cpu",)}, caveat="rounded", differs="result")),
    body("TL501", "torch.backends.cudnn.deterministic = True\ntorch.backends.cudnn.benchmark = True\n"
         "return torch.backends.cudnn.benchmark", caveat="algorithms", differs="result",
         options={"benchmark-with-deterministic": {"prefer": "reproducible"}}),
    body("TL501", "torch.backends.cudnn.deterministic = True\ntorch.backends.cudnn.benchmark = True\n"
         "return torch.backends.cudnn.deterministic", caveat="algorithms", differs="result",
         options={"benchmark-with-deterministic": {"prefer": "fast"}}),
    body("TL502", "torch.use_deterministic_algorithms(True)\ntorch.backends.cudnn.benchmark = True\n"
         "return torch.are_deterministic_algorithms_enabled()", caveat="algorithms", differs="result",
         options={"benchmark-with-deterministic": {"prefer": "fast"}}),
    body("TL503", "torch.backends.cudnn.enabled = False\nmodel = torch.nn.Conv2d(3, 4, 3)\n"
         "return torch.backends.cudnn.enabled", caveat="round differently", differs="result"),
    body("TL507", "torch.backends.cudnn.benckmark = True\nreturn torch.backends.cudnn.benchmark",
         caveat="takes effect", differs="result"),
    body("TL507", "torch.backends.cudnn.deterministic == True\nreturn torch.backends.cudnn.deterministic",
         caveat="takes effect", differs="result"),
    body("TL507", "model = torch.nn.Linear(2, 2)\nmodel.eval\nreturn model.training",
         caveat="takes effect", differs="result"),
    body("TL508", "with torch.backends.cudnn.flags(benchmark=True):\n    return torch.backends.cudnn.enabled",
         caveat="round differently", differs="result"),
    body("TL701", "return torch.zeros(3).cuda()", caveat="without CUDA", differs="exception"),
    body("TL701", "return torch.zeros(3).to('cuda')", caveat="without CUDA", differs="exception"),
    body("TL701", "device = torch.device('cuda')\nreturn torch.zeros(3, device=device)", caveat="without CUDA",
         differs="exception"),
]  # fmt: skip

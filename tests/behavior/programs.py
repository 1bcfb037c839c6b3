"""Programs for testing fixes: for each rule, code with safe fixes, and code without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_HEAD = "import numpy as np\nimport torch\n\n\ndef run({}):\n    {}\n"


# Content that torch's factories would create differently: no fix at all.
LEFT = [
    "torch.tensor([-1e9] * 3, dtype=torch.float16)",
    "torch.tensor(np.full(3, -1e9), dtype=torch.float16)",
    "torch.tensor(np.full(3, -1e9, dtype=np.float16))",
    "torch.tensor(np.full(3, 0.1, dtype=np.float16), dtype=torch.float32)",
    "torch.tensor(np.full(3, 2.5, dtype=int), dtype=torch.float32)",
    "torch.tensor(np.full(3, 2.5).astype(int).astype(np.float32))",
    "torch.tensor([1e300] * 3)",
    "torch.tensor([1e999] * 3)",
    "torch.tensor([9223372036854775808] * 3)",
    "torch.tensor([300] * 3, dtype=torch.uint8)",
    "torch.tensor(list(range(300)), dtype=torch.uint8)",
    "torch.ByteTensor(range(300))",
    "torch.tensor(np.arange(300, dtype=np.uint8))",
    "torch.tensor(np.arange(300).astype(np.uint8))",
    "torch.tensor(np.arange(300).astype(np.uint8), dtype=torch.int64)",
    "torch.tensor(np.eye(2, dtype=np.uint16))",
    "torch.tensor(np.zeros(3, complex), dtype=torch.float32)",
    "torch.tensor(np.arange(0, 5, 0))",
    "torch.as_tensor(np.zeros(3), requires_grad=True)",
    "torch.asarray(np.zeros(6).reshape(2, 3), requires_grad=True)",
    "torch.ByteTensor(3).fill_(300)",
    "torch.tensor(np.zeros(True))",
    "torch.tensor(np.linspace(0, 1, 5, False))",
]


@dataclass(frozen=True)
class Program:
    """A program, the rule whose fix is tested, and the inputs.

    ``differs`` names what an unsafe fix changes in at least one run; ``caveat`` is a part of its caveat.
    """

    rule: str
    text: str
    inputs: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    caveat: str = ""
    differs: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule} {' '.join(self.text.split()[8:20])}"


def body(rule: str, statements: str, **more: Any) -> Program:
    """A program with one function, whose parameters are the inputs; ``x`` is a tensor."""
    inputs = more.pop("inputs", {})
    parameters = ("x: torch.Tensor" if name == "x" else name for name in inputs)
    text = _HEAD.format(", ".join(parameters), statements.replace("\n", "\n    "))
    return Program(rule, text, inputs, **more)


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
        self.scale = torch.FloatTensor(2).fill_(0.5)
        self.mask = torch.Tensor(np.ones((2, 2)))


def run():
    torch.set_default_dtype(torch.float64)
    table = getattr(torch, "set_default_" + "device")("meta") or Table()
    return [table.places, table.scale, table.mask]
"""

SAFE = [
    # TL101: one transfer
    *(
        body("TL101", statement, inputs={"data": ARRAYS, "device": DEVICES})
        for statement in (
            "a = np.array(data)\nreturn torch.tensor(a).to(device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a, dtype=torch.float32).to(device=device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).float().to(device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).double().to(device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).half().to(device, non_blocking=False), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).unsqueeze(0).to(device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).unsqueeze(0).long().to(device), [a]",
            "a = np.array(data)\nt = torch.tensor(a)\nt = t.to(device)\nreturn t, [a]",
            "a = np.array(data)\nt = torch.tensor(a)\nreturn t.to(device), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).to(device, torch.float64), [a]",
            "a = np.array(data)\nreturn torch.tensor(a).to(device, dtype=torch.int32), [a]",
            "a = np.array(data)\nreturn [torch.tensor(a).to(device) for _ in range(2)], [a]",
            "a = np.array(data)\nreturn torch.tensor(a.T).permute(*range(a.ndim)).to(device), [a]",
        )
    ),
    # TL101: shared memory of new arrays
    *(
        body("TL101", statement, inputs={"data": ARRAYS})
        for statement in (
            "a = np.array(data)\nb = a.astype(np.float32)\nreturn torch.tensor(b), [a]",
            "a = np.array(data)\nreturn torch.tensor(a + a), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.concatenate([a.reshape(-1), a.reshape(-1)])), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.stack([a, a])), [a]",
            "a = np.array(data)\nreturn torch.tensor(a.copy()), [a]",
            "a = np.array(data)\nreturn torch.tensor(a.flatten()), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.array(a, dtype=np.float32), dtype=torch.float32), [a]",
            "a = np.array(data)\nreturn torch.tensor(a.astype(np.int64), dtype=torch.int64), [a]",
            "a = np.array(data)\nreturn torch.tensor(np.abs(a)).reshape(-1), [a]",
            "a = np.array(data)\nreturn torch.tensor(a * 2).unsqueeze(0).to('meta', non_blocking=True), [a]",
        )
    ),
    body("TL101", "return torch.tensor(np.array([[1, 2], [3, 4]]))"),
    body("TL101", "return torch.tensor(data=np.array((0.5, 1.5), dtype=np.float32))"),
    body("TL101", "a = np.array([1.5, 2.5])\nb = np.array(a)\nreturn torch.tensor(b), [a]"),
    body("TL101", "return torch.tensor(np.random.rand(3, 2) * 2)"),
    body("TL101", "rng = np.random.default_rng(5)\nreturn torch.tensor(rng.normal(size=(3, 2)))"),
    body("TL101", "return torch.tensor(np.hanning(9))"),
    # TL102
    body("TL102", "return torch.tensor([np.zeros(3), np.ones(3)])"),
    body("TL102", "return torch.tensor([np.zeros((2, 3), dtype=np.float32) for _ in range(4)])"),
    body("TL102", "return torch.tensor([np.ones(3), np.zeros(3)], dtype=torch.float32)"),
    body("TL102", "a = np.zeros((2, 2), dtype=np.uint8)\nreturn torch.tensor([a, a]), [a]"),
    body("TL102", "a = np.zeros(3, dtype=bool)\nreturn torch.tensor([a, a], device='cpu'), [a]"),
    body("TL102", "a = np.ones((2, 2), dtype=np.float16)\nreturn torch.tensor([a]), [a]"),
    # TL103
    *(
        body("TL103", f"return {statement}")
        for statement in (
            "torch.tensor(np.zeros((3, 2)))",
            "torch.tensor(np.zeros(3, dtype=np.float32))",
            "torch.from_numpy(np.ones((2, 3), dtype=np.int64))",
            "torch.as_tensor(np.ones(4), dtype=torch.float32)",
            "torch.tensor(np.full((2, 2), 7))",
            "torch.tensor(np.full((2, 2), 0.1))",
            "torch.tensor(np.full((2, 2), 0.1), dtype=torch.float32)",
            "torch.tensor(np.full((2, 2), 0.1, dtype=np.float32))",
            "torch.tensor(np.full((2,), True))",
            "torch.tensor(np.full(3, -1, dtype=np.int64))",
            "torch.tensor(np.eye(3))",
            "torch.tensor(np.eye(3, 4, dtype=np.float32))",
            "torch.tensor(np.identity(2), device='cpu')",
            "torch.tensor(np.arange(5))",
            "torch.tensor(np.arange(2, 12, 3), dtype=torch.float32)",
            "torch.tensor(np.arange(12).reshape(3, 4))",
            "torch.tensor(np.arange(12).reshape((3, -1)).astype(np.float32))",
            "torch.tensor(np.zeros(3), requires_grad=True)",
            "torch.tensor([0] * 5)",
            "torch.tensor([0.0] * 5)",
            "torch.tensor([True] * 5)",
            "torch.tensor([1.5] * 3, dtype=torch.float32)",
            "torch.tensor([[0] * 3 for _ in range(2)])",
            "torch.tensor([[0.25] * 3 for _ in range(2)])",
            "torch.tensor([[-1 for _ in range(3)] for _ in range(2)])",
            "torch.tensor(list(range(6)))",
            "torch.tensor(range(6))",
            "torch.tensor([i for i in range(6)])",
            "torch.LongTensor(range(6))",
            "torch.LongTensor(list(range(6)))",
            "torch.FloatTensor([0] * 4)",
            "torch.FloatTensor(np.zeros((2, 3)))",
            "torch.FloatTensor(2, 3).fill_(0.5)",
            "torch.FloatTensor(4).zero_()",
            "torch.Tensor(4, 2).fill_(1)",
            "torch.Tensor(4, 2).zero_()",
            "torch.Tensor(3).uniform_()",
            "torch.Tensor([0] * 4)",
            "torch.Tensor(np.ones((2, 3)))",
            "torch.Tensor(np.eye(3))",
            "torch.Tensor([[1] * 3 for _ in range(2)])",
            "torch.DoubleTensor([3] * 4)",
            "torch.IntTensor(np.zeros(3))",
            "torch.HalfTensor([0.5] * 3)",
            "torch.BoolTensor([True] * 3)",
            "torch.FloatTensor(np.arange(5))",
            "torch.ByteTensor(range(6))",
            "torch.LongTensor(4).fill_(3)",
            "torch.FloatTensor(4, 2).uniform_()",
            "torch.FloatTensor(4, 5).normal_()",
            "torch.DoubleTensor(3).fill_(0.1)",
        )
    ),
    body("TL103", "return torch.tensor(np.zeros((len(rows), 3)))", inputs={"rows": ([1], [1, 2], (1, 2, 3))}),
    body("TL103", "return torch.tensor(np.zeros(3, np.int32))"),
    body("TL103", "return torch.tensor(np.ones(3).astype(np.int32).astype('float32'))"),
    body("TL103", "return torch.tensor([0] * len(rows), dtype=torch.int64)", inputs={"rows": ([], [1, 2])}),
    body("TL103", "return torch.tensor([0.5] * len(rows))", inputs={"rows": ([], [1, 2])}),
    body("TL103", "return torch.tensor(np.arange(len(rows)))", inputs={"rows": ([], [1, 2])}),
    body("TL103", "return torch.tensor(np.eye(n))", inputs={"n": (1, 3, "text", 2.5)}),
    body("TL103", "n = x.shape[0]\nreturn torch.from_numpy(np.arange(n)), [x]", inputs={"x": ("tensor",)}),
    *(
        body("TL103", f"return {statement}")
        for statement in (
            "torch.tensor(np.zeros(4), dtype=None)",
            "torch.tensor([0] * 4, dtype=None)",
            "torch.tensor(np.identity(2, int))",
            "torch.from_numpy(np.identity(2, np.float32))",
            "torch.tensor(np.eye(2, None, 0, int))",
            "torch.tensor(np.eye(2, 3, 0, np.float32))",
            "torch.tensor(np.full(3, 7, np.int16))",
            "torch.tensor(np.full(3, 7, None))",
            "torch.tensor(np.zeros(3, None))",
            "torch.tensor([-0.0] * 2)",
            "torch.tensor(np.full(2, -0.0))",
            "torch.FloatTensor(2).fill_(-0.0)",
            "torch.tensor(list(range(3)), dtype=torch.bool)",
            "torch.tensor(list(range(3)), dtype=torch.complex64)",
            "torch.tensor(list(range(3)), dtype=torch.uint16)",
            "torch.tensor(list(range(300)), dtype=torch.float16)",
            "torch.tensor(list(range(300)), dtype=torch.bfloat16)",
            "torch.tensor(np.arange(300), dtype=torch.uint8)",
            "torch.tensor(np.arange(70000), dtype=torch.float16)",
            "torch.tensor(np.arange(-5, 300), dtype=torch.bool)",
            "torch.tensor(np.arange(16777216, 16777225), dtype=torch.float32)",
            "torch.from_numpy(np.arange(3, dtype=np.uint32))",
            "torch.from_numpy(np.arange(3, dtype=np.float32))",
            "torch.BoolTensor(range(3))",
            "torch.Tensor(range(3))",
            "torch.Tensor([7] * 3)",
            "torch.Tensor(np.full(2, True))",
            "torch.HalfTensor(list(range(3000)))",
            "torch.tensor([-1e9] * 3)",
            "torch.tensor([65504] * 3, dtype=torch.float16)",
            "torch.tensor([255] * 3, dtype=torch.uint8)",
            "torch.tensor([2] * 3, dtype=torch.bool)",
            "torch.from_numpy(np.ones((2, 1, 3), dtype=np.float32))",
            "torch.tensor(np.zeros([2, 3], dtype=np.uint16))",
            "torch.tensor(np.full(3, 0.5, dtype=np.float16), dtype=torch.float32)",
            "torch.FloatTensor(2, 3).fill_(1)",
            "torch.LongTensor(2, 3).fill_(0)",
            "torch.tensor(4 * [0])",
        )
    ),
    *(
        body("TL103", statement, inputs={"rows": ([], [1, 2])})
        for statement in (
            "return torch.from_numpy(np.arange(1, len(rows) + 1))",
            "return torch.from_numpy(np.arange(len(rows) - 1, -1, -1))",
            "return [torch.tensor(np.arange(i, i + len(rows))) for i in range(-2, 2)]",
            "return torch.tensor(np.arange(len(rows)), dtype=torch.float32)",
            "return torch.tensor(list(range(len(rows))), dtype=torch.bool)",
            "return torch.tensor(list(range(len(rows) + 1)))",
            "return torch.tensor(np.zeros((*rows, 3)))",
            "kind = torch.int64 if rows else torch.int32\nreturn torch.tensor([0] * len(rows), dtype=kind)",
            "x = torch.ones(2, dtype=torch.uint8)\nreturn torch.tensor(np.arange(len(rows)), dtype=x.dtype)",
        )
    ),
    *(
        body("TL103", f"{setting}\nreturn {statement}")
        for setting in ("torch.set_default_device('meta')", "torch.set_default_dtype(torch.float64)")
        for statement in (
            "torch.Tensor(2, 2).zero_()",
            "torch.Tensor(np.zeros((2, 2)))",
            "torch.Tensor([7] * 2)",
            "torch.FloatTensor(2, 2).fill_(0.5)",
            "torch.FloatTensor(np.arange(3))",
            "torch.from_numpy(np.ones(2, dtype=np.float32))",
            "torch.from_numpy(np.arange(3)).to('cpu', torch.float32)",
            "torch.tensor(np.zeros(2, dtype=np.float32))",
            "torch.tensor([0.5] * 2)",
            "torch.as_tensor(np.eye(2))",
        )
    ),
    *(
        body("TL103", f"with torch.device('meta'):\n    return {statement}")
        for statement in (
            "torch.from_numpy(np.arange(3)).to('cpu')",
            "torch.Tensor(2, 2).zero_()",
            "torch.tensor(np.zeros(2))",
            "torch.IntTensor([1] * 3)",
        )
    ),
    body("TL103", "torch.set_default_dtype(torch.float16)\nreturn torch.tensor([2.5] * 2), torch.Tensor(2).fill_(7)"),
    Program("TL103", _MODULE),
    # TL104
    *(
        body("TL104", f"return {statement}", inputs={"device": DEVICES})
        for statement in (
            "torch.zeros(3).to(device)",
            "torch.zeros(2, 3, dtype=torch.int32).to(device)",
            "torch.ones((2, 3)).to(device=device)",
            "torch.ones(3).to(device, torch.float64)",
            "torch.ones(3).to(device, dtype=torch.bool)",
            "torch.ones(3, dtype=torch.int64).to(device, torch.float16)",
            "torch.full((2,), 0.1).to(device)",
            "torch.full((2,), 7).to(device, non_blocking=True)",
            "torch.eye(3).to(device).t()",
            "torch.arange(9).to(device)",
            "torch.arange(2, 20, 3).to(device)",
            "torch.arange(9).float().to(device)",
            "torch.arange(9, dtype=torch.float32).to(device)",
            "torch.ones(3, dtype=torch.float64).float().to(device)",
            "torch.ones(2, 3).long().t().half().to(device)",
            "torch.arange(9).unsqueeze(0).long().to(device)",
            "torch.zeros(6).view(2, 3).to(device)",
            "torch.zeros(6).unsqueeze(0).bool().to(device)",
            "torch.zeros(2, 3).permute(1, 0).to(device)",
            "torch.ones(3).half().to(device)",
            "torch.autograd.Variable(torch.zeros(3)).to(device)",
            "torch.nn.Parameter(torch.zeros(3).to(device))",
            "[torch.zeros(n).to(device) for n in (1, 2)]",
            "(lambda n: torch.zeros(n).to(device))(3)",
        )
    ),
    body("TL104", "h = torch.zeros(2, 3)\nh = h.to(device)\nreturn h", inputs={"device": DEVICES}),
    body("TL104", "h = torch.zeros(2, 3)\nreturn h.to(device)", inputs={"device": DEVICES}),
    *(
        body("TL104", f"y = x.to(device) * 1\nreturn {statement}, [x]",
             inputs={"x": ("tensor", "half"), "device": DEVICES})
        for statement in (
            "torch.zeros(3).to(y)",
            "torch.ones(3).type_as(y)",
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
    body("TL103", "return torch.tensor(np.random.randn(3, 2))", caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.random.rand(3, 2))", caveat="different numbers", differs="numpy generator"),
    body("TL103", "return torch.tensor(np.random.randint(0, 9, (40,)))", caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.random.permutation(40))", caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.random.normal(0.0, 1.0, (3)))", caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.random.uniform(size=(3, 2)))", caveat="different numbers", differs="result"),
    body("TL103", "return torch.tensor(np.linspace(-0.3, 0.7, 1001))", caveat="last bits", differs="result"),
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
    body("TL103", "return torch.BoolTensor(*x.shape).fill_(1)", inputs={"x": ("tensor", "zero-d")},
         caveat="without dimensions", differs="exception"),
    body("TL201", "torch.set_default_dtype(torch.float64)\ny = x.to(device).float()\n"
         "return torch.tensor(y.item(), device=y.device)",
         inputs={"x": ("one",), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL507", "torch.backends.cudnn.fastest = True\nreturn torch.backends.cudnn.enabled", caveat="another file"),
    body("TL507", "calls = []\ntorch.backends.cudnn.fastest = calls.append(1)\nreturn calls",
         caveat="no longer computed", differs="result"),
    body("TL507", "torch.backends.cudnn.verbose = np.random.rand() > 0.5\nreturn 1",
         caveat="no longer computed", differs="numpy generator"),
    body("TL103", "return torch.tensor([0] * len(rows))", inputs={"rows": ([], [1])}, caveat="empty list",
         differs="result"),
    body("TL103", "return torch.tensor(list(range(n)))", inputs={"n": (3, 0, -1)}, caveat="negative count",
         differs="exception"),
    *(
        body("TL103", f"return torch.{maker}({content}, dtype=kind)", inputs={"kind": (None,)}, caveat="`None`",
             differs="result")
        for maker, content in (("tensor", "[0] * 4"), ("tensor", "np.zeros(4)"), ("as_tensor", "np.ones(4)"))
    ),
    body("TL103", "return torch.tensor([0] * 4, dtype=settings.get('dtype'))", inputs={"settings": ({},)},
         caveat="`None`", differs="result"),
    body("TL103", "kind = torch.int64 if rows else None\nreturn torch.tensor([0] * 4, dtype=kind)",
         inputs={"rows": ([],)}, caveat="`None`", differs="result"),
    body("TL103", "return torch.tensor(np.zeros(3, dtype=kind), dtype=torch.float32)",
         inputs={"kind": ("i4", "f8", "O")}, caveat="lacks", differs="exception"),
    body("TL103", "return torch.tensor(np.eye(2).astype(kind), dtype=torch.int64)", inputs={"kind": ("i4", "O")},
         caveat="lacks", differs="exception"),
    body("TL103", "return torch.from_numpy(np.arange(1, len(rows)))", inputs={"rows": ([], [1])},
         caveat="ends before", differs="exception"),
    body("TL103", "return torch.from_numpy(np.arange(rows.shape[0] - 3))", inputs={"rows": ("one", "tensor")},
         caveat="ends before", differs="exception"),
    body("TL103", "def count(n: int):\n    return torch.tensor(np.arange(n))\nreturn count(size)",
         inputs={"size": (3, -1)}, caveat="ends before", differs="exception"),
    body("TL103", "return torch.tensor(list(range(len(rows))), dtype=torch.uint8)", inputs={"rows": (b"0" * 300,)},
         caveat="wrap", differs="exception"),
    body("TL103", "return torch.Tensor(np.ones(size, dtype=np.int64))", inputs={"size": (3, ())},
         caveat="without dimensions", differs="result"),
    body("TL103", "try:\n    return torch.tensor(np.zeros(n))\nexcept ValueError:\n    return None",
         inputs={"n": (-1,)}, caveat="handler", differs="exception"),
    body("TL104", "def make(device):\n    with torch.device('meta'):\n        return other(device)\n"
         "def other(device):\n    return torch.zeros(3).to(device)\nreturn make(device)", inputs={"device": ("cpu",)},
         caveat="meta", differs="exception"),
    body("TL103", "return torch.tensor(np.zeros(shape))", inputs={"shape": ((2, 3), 3, "shape array")},
         caveat="ndarray", differs="exception"),
    body("TL103", "return torch.tensor(np.arange(n))", inputs={"n": (3, 2.5)}, caveat="float arguments",
         differs="result"),
    body("TL104", "return torch.randn(3).to(device)", inputs={"device": ("meta",)}, caveat="same seed",
         differs="torch generator"),
    body("TL104", "return torch.tril_indices(3, 3).to(device)", inputs={"device": DEVICES},
         caveat="lack the operation"),
    body("TL104", "return torch.full((2,), 0.1, dtype=torch.float64).float().to(device)", inputs={"device": DEVICES},
         caveat="lack"),
    body("TL104", "t = torch.zeros(3, requires_grad=True).to(device)\nreturn t", inputs={"device": ("meta",)},
         caveat="leaf", differs="result"),
    body("TL104", "return torch.zeros(1, 3).expand(2, 3).to(device, torch.float64)", inputs={"device": ("cpu",)},
         caveat="share memory", differs="result"),
    body("TL201", "y = x.to(device)\nreturn torch.tensor(y.item(), device=y.device), [x]",
         inputs={"x": ("one-half",), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL201", "y = x.to(device)\nreturn torch.tensor(y.tolist(), device=y.device), [x]",
         inputs={"x": ("none", "tensor"), "device": ("cpu",)}, caveat="dtype", differs="result"),
    body("TL201", "y = x.to(device)\nreturn y.cpu().flip(0).to(device), [x]",
         inputs={"x": ("tensor",), "device": ("cpu",)}, caveat="round"),
    body("TL201", "return x.cpu().flip(0).to(device), [x]",
         inputs={"x": ("tensor",), "device": ("meta",)}, caveat="stays on the device", differs="result"),
    body("TL302", "y = x.to(device) * 1\nreturn [v.item() for v in y], [x]",
         inputs={"x": ("integers", "zero-d", "matrix"), "device": ("cpu",)}, caveat="several numbers",
         differs="exception"),
    body("TL302", "model = torch.nn.Linear(3, 2).to(device)\nmodel(torch.rand(5, 3, device=device)).sum().backward()\n"
         "total = 0.0\nfor p in model.parameters():\n    total += p.grad.norm().item() ** 2\nreturn total",
         inputs={"device": ("cpu",)}, caveat="rounded", differs="result"),
    body("TL302", "model = torch.nn.Linear(3, 2).to(device)\nmodel(torch.rand(5, 3, device=device)).sum().backward()\n"
         "return sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5",
         inputs={"device": ("cpu",)}, caveat="rounded", differs="result"),
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

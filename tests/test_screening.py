"""Prefilters: unformatted spellings pass them, and code that only looks similar is not parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from textwrap import indent

import pytest

from tests.growth import calls, is_even
from torchlint.config.config import Config
from torchlint.knowledge.heat import OPTIMIZER_NAMES, OPTIMIZER_WORDS
from torchlint.prefilter.concepts import STEPS as STEP_CONCEPT
from torchlint.prefilter.text_index import TextIndex
from torchlint.run.session import plan

RULES = plan(Config(select=("TL103", "TL502", "TL507")))
EVERYTHING = plan(Config(select=("TL",)))
MOVES = plan(Config(select=("TL104", "TL201", "TL401")))


# What gives such a name to NumPy, a part of it or a constructor.
NAMES = {
    "np": "import numpy as np\n",
    "xp": "import numpy\nxp = numpy\n",
    "either": "import numpy as onp\nif 1:\n    either = onp  # or another\n",
    "ones": "from numpy import ones\n",
    "fill": "import numpy as np\nfill = np.ones\n",
    "spread": "import numpy as np\nspread = (  # new\n    np.zeros\n)\n",
    "short": "from torch import tensor as short\n",
    "wrap": "wrap = torch.tensor\n",
}


def ids(text: str) -> list[str]:
    return [finding.rule for finding in RULES.lint(text.encode(), "x.py").findings]


@pytest.mark.parametrize(
    "expression",
    [
        "torch.from_numpy(np.zeros(3))",
        "torch . tensor (np.zeros(3))",
        "(torch.tensor)(np.ones(3))",
        "wrap(np.zeros(3))",
        "short(np.zeros(3))",
        "torch.tensor(xp.zeros(3))",
        "torch.tensor(either.zeros(3))",
        "torch.tensor(ones(3))",
        "torch.tensor(fill(3))",
        "torch.tensor(spread(3))",
    ],
)
def test_generated_content_survives_screening_however_it_is_laid_out(expression: str) -> None:
    names = "import builtins\nimport torch\n"
    for given, others in NAMES.items():
        if given + "." in expression or given + "(" in expression:
            names += others
    assert ids(f"{names}\n\ndef f(n: int):\n    return {expression}\n") == ["TL103"]


@pytest.mark.parametrize(
    "statement",
    [
        "torch.set_num_threads = 1",
        "torch.set_grad_enabled = False",
        "torch.set_float32_matmul_precision = 'high'",
        "torch.cuda.set_device = 0",
        "torch.autograd.set_detect_anomaly = True",
        "torch.inference_mode()",
        "torch.no_grad",
        "torch.manual_seed",
        "torch.cuda.manual_seed_all  # all of them",
        "torch.use_deterministic_algorithms",
        "torch.set_num_threads; torch.ones(3)",
        "torch.cuda.benchmark = True",
        "modules[0].eval = True",
        "ng = torch.no_grad; ng()",
        "torch.seed = 1",
        "modules[0].eval  # (no call)",
        "(modules[0].train)",
        "if True: modules[0].train; pass",
        "if __name__ == '__main__': modules[0].eval",
        "x = 1; modules[0].eval",
        "if x == 1 and y <= 2:\n    (modules[0]).eval",
        "torch.backends.cudnn.flags(enabled=False)",
        "from torch.backends import cuda\ncuda.allow_tf32 = True",
        "from torch.backends import mps, cuda as c\nc.enabled = True",
        "from torch.backends import (\n    cuda,  # (all)\n)\ndef f():\n    cuda.enabled = True",
        "import torch.backends as bk\nbk.cuda.enabled = True",
        "from torch import (\n    nn,  # layers\n    backends as bk,\n)\nbk.cuda.enabled = True",
        "from torch import nn, \\\n    backends as bk\ndef f():\n    bk.cuda.enabled = True",
        "bk = torch.backends\ndef f():\n    bk.cudnn.benckmark = True",
        "torch.nn.Linear(in_features=3, out_features=3).eval",
        "torch.backends.cudnn.benckmark = True",
        "torch.backends.cudnn.benchmark == True",
        "from torch import backends\nbackends.cudnn.benckmark = True",
        "from torch import backends as b\nb.cudnn.benckmark = True",
        "from torch.backends import cudnn\ncudnn.benckmark = True",
        "import torch.backends.cudnn as c\nc.benckmark = True",
        "b = torch.backends\nb.cudnn.benckmark = True",
        "(torch.backends).cudnn.benckmark = True",
        "from torch import backends, nn\nbackends .cudnn.benckmark = True",
        "os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
    ],
)
def test_statements_without_effect_survive_screening(statement: str) -> None:
    before = "import os\nimport torch\n\ntorch.cuda.init()\nmodules = [torch.nn.Linear(3, 3)]\n"
    assert ids(f"{before}{statement}\n") == ["TL507"]


@pytest.mark.parametrize(
    "text",
    [
        "class Net:\n    def f(self, inference_mode: bool = False,\n        autocast=True): ...\n",
        "import os\nos.environ['HOME'] = '/'\nreset_all = other\n",
        "# https://example.org/benchmark\n",
        "for i in range(3):\n    x = tensor(i)[0] * 3\n    init.trunc_normal_(x)\n",
        "blocks = tensor(1), list(Block(i) for i in range(3)), [0] * 3\n",
        "points = tensor(1), list(itertools.product(range(3), range(3)))\n",
        "from utils import requires_backends\nrequires_backends(f, ['torch'])\n",
    ],
)
def test_what_only_looks_alike_is_not_parsed(text: str) -> None:
    assert not RULES.screen(f"import torch\n{text}".encode(), "x.py").candidates


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("TL104", "x = torch.zeros(3).view(1, 3).cuda()\n"),
        ("TL104", "make = torch.zeros\nx = make(3).cuda()\n"),
        ("TL104", "from torch import zeros\nx = zeros(3).cuda()\n"),
        ("TL104", "from torch import (\n    ones,  # (all)\n    zeros as z,\n)\nx = z(3).cuda()\n"),
        ("TL104", "x = torch.zeros(\n    3,  # (three\n).cuda()\n"),
        ("TL201", "def f(x):\n    return x.cuda().cpu().cuda()\n"),
        ("TL201", "def f(x, device='cuda'):\n    return x.cuda().to(torch.device('cpu')).to(device)\n"),
        ("TL104", "make = (\n    # fresh\n    torch.zeros\n)\ndef f():\n    return make(3).cuda()\n"),
        (
            "TL401",
            "from torch.utils import (\n _a, # (b)\n data)\nfor x in data.DataLoader([1], num_workers=2): x.cuda()\n",
        ),
        (
            "TL401",
            "from torch.utils import hooks, \\\n    data\nfor x in data.DataLoader([1], num_workers=2): x.cuda()\n",
        ),
        (
            "TL401",
            "from torch.utils import data\nclass L(data.DataLoader): pass\nfor x in L([1], num_workers=2): x.cuda()\n",
        ),
    ],
)
def test_moves_survive_screening_however_they_are_written(rule: str, text: str) -> None:
    code = "def made():\n" + indent(text, "    ") if rule == "TL104" else text  # what a program makes once is no matter
    found = MOVES.lint(f"import torch\n{code}".encode(), "x.py").findings
    assert rule in {finding.rule for finding in found}


@pytest.mark.parametrize(
    "text",
    [
        "from torch import nn, Tensor\nmodel = nn.Linear(3, 3).to(device)\n",
        "x = torch.zeros(3)\nx = x.to(dtype=torch.float32)  # as `.to()` does\ny = x.to(out_dtype)\n",
    ],
)
def test_what_is_moved_elsewhere_is_not_parsed(text: str) -> None:
    assert not MOVES.screen(f"import torch\n{text}".encode(), "x.py").candidates


@pytest.mark.parametrize("name", ["model.cuda_dtype", "gpu_dtype", "dev_dtype"])
def test_names_of_dtypes_are_no_devices(name: str) -> None:
    text = f"import torch\ndef f(model, {name.rpartition('.')[2]}):\n    return torch.zeros(3).to({name})\n"
    assert MOVES._replace(exhaustive=True).lint(text.encode(), "x.py").findings == ()


def test_what_is_no_utf_8_is_screened_by_its_bytes() -> None:
    text = "# -*- coding: latin-1 -*-\n# größe\nimport torch\nx = torch.zeros(3).cuda()\n"
    assert "TL104" in {finding.rule for finding in MOVES.lint(text.encode("latin-1"), "x.py").findings}


@pytest.mark.parametrize(
    "calls",
    [
        "from benchmark import enable\nfrom seeds import fix\nenable()\nfix()\n",
        "import benchmark\nfrom seeds import fix\nbenchmark.enable()\nfix()\n",
        "from fast import enable_benchmark as fast\nfrom seeds import fix\nfast()\nfix()\n",
    ],
)
def test_flags_that_other_files_set_are_asked_for_by_names_that_say_so(calls: str) -> None:
    assert "TL502" in RULES.screen(f"import torch\n{calls}".encode(), "x.py").candidates


def test_fabric_needs_no_torch() -> None:
    text = "from lightning.fabric import Fabric\na = Fabric(deterministic=True)\nb = Fabric(benchmark=True)\n"
    assert "TL502" in RULES.screen(text.encode(), "x.py").candidates


STEPS = {
    "for x in DATA_ITER:\n    print(model(x.to(device)))\n": True,
    "for x in Train_Iter:\n    print(model(x.to(device)))\n": True,
    "for x in PreFetcher(y):\n    print(model(x.to(device)))\n": True,
    "for x in val_dL:\n    print(model(x.to(device)))\n": True,
    "for _ in range(9):\n    OPT.step()\n    print(f(x.to(device)))\n": True,
    "for _ in range(9):\n    Opt_g.step()\n    print(f(x.to(device)))\n": True,
    "for _ in range(9):\n    (opt).step()\n    print(f(x.to(device)))\n": True,
    "for x, y in train_loader:\n    print(model(x.to(device)))\n": True,
    "for x, y in DataLoader(data):\n    print(model(x.to(device)))\n": True,
    "for x in TRAIN_LOADER:\n    print(model(x.to(device)))\n": True,
    "for x, y in learn.dl:\n    print(model(x.to(device)))\n": True,
    "while running:\n    x = next(batches).to(device).item()\n": True,
    "while running:\n    x = next(iter(batches)).to(device).item()\n": True,
    "for _ in range(9):\n    loss = f(x.to(device))\n    loss.backward()\n    print(loss)\n": True,
    "for _ in range(9):\n    solver.step()\n    print(f(x.to(device)))\n": True,
    "o = torch.optim.SGD(p)\nfor _ in range(9):\n    o.step()\n    print(f(x.to(device)))\n": True,
    "class Net(nn.Module):\n    def forward(self, x):\n        print(x.to(device))\n": True,
    "class Net(nn.Module):\n    def training_step(self, x): return x.to(device).item()\n": True,
    "def collate_fn(batch):\n    print(batch.to(device))\n": True,
    "def f(x): return x.to(device).item()\n": False,
}


@pytest.mark.parametrize("cased", [str.lower, str.title, str.upper])
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("loader", "dataloaders", "data_iter", "train_iter", "prefetcher", "dl"), "for x in train_{}: f(x)\n"),
        ((*OPTIMIZER_WORDS, *OPTIMIZER_NAMES), "self.{}.step()\n"),
    ],
)
def test_no_name_of_loaders_and_optimizers_is_forgotten(
    words: Iterable[str], line: str, cased: Callable[[str], str]
) -> None:
    for word in words:
        assert TextIndex(line.format(cased(word)).encode()).has(STEP_CONCEPT), word


@pytest.mark.parametrize(("text", "repeats"), STEPS.items())
def test_moves_are_looked_for_where_something_may_run_every_step(text: str, repeats: bool) -> None:
    candidates = EVERYTHING.screen(f"import torch\n{text}".encode(), "x.py").candidates
    assert ("TL107" in candidates) is repeats


@pytest.mark.parametrize(
    "text",
    [
        "x.cuda()\n",
        "x.cuda ()\n",
        "(x.cuda)()\n",
        "x.cuda(  # all\n)\n",
        "x.to('cuda')\n",
        'x.to("cuda:0")\n',
        "DEVICE = 'cuda'\nx.to(DEVICE)\n",
        "torch.cuda.FloatTensor(3)\n",
        "from torch.cuda import (\n    FloatTensor,\n)\nFloatTensor(3)\n",
        "from torch import nn, cuda\ncuda.FloatTensor(3)\n",
        "import torch.cuda as tc\ntc.FloatTensor(3)\n",
        "Float = torch.cuda.FloatTensor\ndef f():\n    return Float(3)\n",
        "c = torch.cuda\ndef f():\n    return c.FloatTensor(3)\n",
        "torch.set_default_tensor_type('torch.cuda.FloatTensor')\n",
        "torch.set_default_tensor_type('torch.cuda.' 'FloatTensor')\n",
        "(x.\n cuda())\n",
        "torch.cuda. FloatTensor(3)\n",
        "Float = torch.cuda.FloatTensor\ndef f():\n    torch.set_default_tensor_type(Float)\n",
        "torch.set_default_tensor_type(\n    torch.cuda.FloatTensor\n)\n",
    ],
)
def test_devices_survive_screening_however_they_are_written(text: str) -> None:
    found = EVERYTHING.lint(f"import torch\nx = torch.ones(3)\n{text}".encode(), "x.py").findings
    assert "TL701" in {finding.rule for finding in found}


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "x.zeros(",
            "a.zeros()",
            ".zeros(" * 120 + ")" * 120 + ";",
            ".zeros()" * 29 + ";",
            "#.zeros()",
            "v = t.zeros(v)\n",
        ),
        *(
            "import " * 570 + "\n",
            "import(" * 500 + ")\n",
            "from a import b #\n",
            "from a import (#\n",
            "numpy as a{};",
        ),
        *(
            "oader",
            "loader ",
            "backends.",
            "next(",
            "next)(",
            "next(f(a)",
            "step  ",
            "x.cuda.",
            "noqa:",
            "def forward(",
        ),
        *(
            "a{} = DataLoader_a{}\n",
            "a{} = tensor_a{}\n",
            "v{} = t.zeros(1)\n",
            "x.tensor(f(x),",
            "class A{}(Tensor):\n",
        ),
    ],
)
def test_no_text_makes_screening_slow(unit: str) -> None:
    """Besides what regular expressions do, of which none can be slow (`test_regexes`)."""
    start = "import torch\nimport numpy\nx.cuda().cpu().to(d)\nloader\nensor(zeros(\n"

    def screen(length: int) -> None:
        text = start + "".join(unit.format(*(number,) * 2) for number in range(length // len(unit)))
        EVERYTHING.screen(text.encode(), "x.py")

    screen(100)
    assert is_even([calls(partial(screen, length), builtins=True) for length in (100_000, 200_000, 400_000)])

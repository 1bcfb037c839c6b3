"""Programs of several files: facts from other files count, in any order, with any cache, in all processes."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from torchlint.api import lint_paths, lint_source
from torchlint.config.config import Config
from torchlint.model import Finding, RunResult, Safety, Severity
from torchlint.prefilter.facts import from_bytes, needs_parsing
from torchlint.prefilter.text_index import TextIndex
from torchlint.project.merged import Project
from torchlint.run import session
from torchlint.run.cache import Cache

SEED = """
    import torch
    def seed_everything(seed, deterministic=True):
        torch.manual_seed(seed)
        if deterministic:
            torch.backends.cudnn.deterministic = True
"""
TRAIN = """
    import torch
    from utils.seed import seed_everything
    def main():
        seed_everything(1)
        torch.backends.cudnn.benchmark = True
    main()
"""
ENGINE = """
    import torch
    def train_one_epoch(model, data_loader, device):
        for x, y in data_loader:
            x = x.to(device)
            y = y.to(device)
            model(x, y).backward()
"""
MAIN = """
    import torch
    from torch.utils.data import DataLoader
    from engine import train_one_epoch
    def main(model, data, device):
        loader = DataLoader(data, num_workers=4{more})
        train_one_epoch(model, loader, device=device)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    main(torch.nn.Linear(3, 2), range(9), device)
"""


def write(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return [str(folder / name) for name in files]


def found(folder: Path, files: dict[str, str], *rules: str) -> list[Finding]:
    write(folder, files)
    run = lint_paths([folder], Config(select=rules, root=str(folder)))
    assert not run.problems
    return list(run.findings)


def test_a_flag_that_a_helper_of_another_file_sets_is_followed(tmp_path: Path) -> None:
    findings = found(tmp_path, {"train.py": TRAIN, "utils/seed.py": SEED, "utils/__init__.py": ""}, "TL501")
    assert [(Path(f.path).name, f.span.line) for f in findings] == [("train.py", 6)]
    assert "utils/seed.py, line 6" in findings[0].message


def test_one_file_alone_shows_only_what_it_holds(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": TRAIN, "utils/seed.py": SEED})
    assert not lint_paths([tmp_path / "train.py"], Config(select=("TL501",))).findings


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"train.py": TRAIN.replace("seed_everything(1)", "seed_everything(1, deterministic=False)")}, 0),
        ({"train.py": TRAIN.replace("seed_everything(1)", "seed_everything(1, False)")}, 0),
        ({"train.py": TRAIN.replace("benchmark = True", "benchmark = False")}, 0),
        ({"scripts/train.py": TRAIN}, 1),
        ({"train.py": TRAIN.replace("utils.seed", "utils"), "utils/__init__.py": "from .seed import *"}, 1),
        (
            {
                "train.py": TRAIN.replace("utils.seed import seed_everything", "utils import seed").replace(
                    "    seed_every", "    seed.seed_every"
                )
            },
            1,
        ),
        ({"utils/train.py": TRAIN.replace("utils.seed", ".seed")}, 1),
        ({"train.py": TRAIN.replace("utils.seed", "other.seed")}, 0),
    ],
)
def test_imports_lead_to_the_file_that_python_would_import(tmp_path: Path, files: dict[str, str], count: int) -> None:
    assert len(found(tmp_path, {"utils/seed.py": SEED, **files}, "TL501")) == count


def test_determinism_in_one_file_and_the_benchmark_in_another_conflict_for_algorithms_too(tmp_path: Path) -> None:
    seed = SEED.replace("torch.backends.cudnn.deterministic = True", "torch.use_deterministic_algorithms(True)")
    findings = found(tmp_path, {"train.py": TRAIN, "utils/seed.py": seed}, "TL502")
    assert len(findings) == 1
    assert "utils/seed.py" in findings[0].message


def test_a_loader_that_another_file_feeds_is_found_where_it_is_made(tmp_path: Path) -> None:
    findings = found(tmp_path, {"main.py": MAIN.format(more=""), "engine.py": ENGINE}, "TL401")
    assert [(Path(f.path).name, f.severity.value) for f in findings] == [("main.py", "warning")]
    assert "engine.py, line 5" in findings[0].message


@pytest.mark.parametrize("more", ["", ", pin_memory=True"])
def test_a_move_of_batches_from_a_loader_of_another_file(tmp_path: Path, more: str) -> None:
    findings = found(tmp_path, {"main.py": MAIN.format(more=more), "engine.py": ENGINE}, "TL202")
    assert [(Path(f.path).name, f.severity.value) for f in findings] == [("engine.py", "warning")] * (2 if more else 1)


@pytest.mark.parametrize("parameters", ["self, device", "self, device: Optional[torch.device]", "self, device=None"])
def test_a_container_of_the_project_makes_its_moves_unknown(tmp_path: Path, parameters: str) -> None:
    nested = (
        f"class Nested:\n    def to({parameters}):\n        import torch\n        return Nested()\n"
        "def collate(items):\n    return Nested(), Nested()\n"
    )
    main = f"    from nested import collate{MAIN.format(more=', pin_memory=True, collate_fn=collate')}"
    engine = f"    from nested import Nested{ENGINE}"
    assert not found(tmp_path, {"main.py": main, "engine.py": engine, "nested.py": nested}, "TL202")
    assert found(tmp_path, {"main.py": MAIN.format(more=", pin_memory=True"), "engine.py": ENGINE}, "TL202")


@pytest.mark.parametrize(
    "files",
    [
        {
            "data.py": "from torch.utils.data import DataLoader\ndef get_loaders(d):\n"
            "    return DataLoader(d, num_workers=2), DataLoader(d, num_workers=2, pin_memory=True)\n",
            "train.py": "from data import get_loaders\ndef main(d, device, net):\n    train, test = get_loaders(d)\n"
            "    for x in train:\n        net(x.to(device)).backward()\n",
        },
        {
            "data.py": "from torch.utils.data import DataLoader\ndef load_data(d):\n"
            "    loader = DataLoader(d, num_workers=2)\n"
            "    while True:\n        yield from loader\n",
            "loop.py": "class TrainLoop:\n    def __init__(self, *, net, data):\n"
            "        self.net = net\n        self.data = data\n"
            "    def run(self, device):\n        while True:\n            batch = next(self.data)\n"
            "            self.net(batch.to(device)).backward()\n",
            "main.py": "from data import load_data\nfrom loop import TrainLoop\ndata = load_data('x')\n"
            "TrainLoop(net=None, data=data).run('cuda')\n",
        },
        {
            "gail.py": "class Discriminator:\n    def update(self, expert_loader, rollouts):\n"
            "        for batch in expert_loader:\n            self.net(batch[0].to(self.device)).backward()\n",
            "main.py": "import gail\nimport torch\ndef main(d, r):\n    discr = gail.Discriminator()\n"
            "    loader = torch.utils.data.DataLoader(d, num_workers=2)\n    discr.update(loader, r)\n"
            "main(range(9), 0)\n",
        },
        {
            "loader.py": "from torch.utils.data import DataLoader\ndef get_data(d):\n"
            "    return DataLoader(d, num_workers=2)\n",
            "train.py": "import torch\nfrom loader import get_data\ndef main(d, net, device):\n    data = get_data(d)\n"
            "    for x in data:\n        net(x.to(device)).backward()\n",
        },
        {
            "evaluation.py": "import torch\ndef evaluate(model, data):\n"
            "    device = next(model.parameters()).device\n"
            "    for x in data:\n        model(x.cuda())\n",
            "main.py": "from torch.utils.data import DataLoader\nfrom evaluation import evaluate\ndef main(model, d):\n"
            "    loader = DataLoader(d, num_workers=2)\n    evaluate(model, loader)\nmain(Net(), range(9))\n",
        },
    ],
    ids=[
        "returned in a tuple",
        "generator given on",
        "method of another file",
        "from a module of that name",
        "fed to a function that asks for the device",
    ],
)
def test_ways_of_a_loader_through_several_files(tmp_path: Path, files: dict[str, str]) -> None:
    findings = found(tmp_path, files, "TL401")
    assert len(findings) == 1
    assert Path(findings[0].path).name in ("data.py", "loader.py", "main.py")


UNSEEDED = """
    import torch
    from helpers import model
    torch.backends.cudnn.deterministic = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(9):
        model(step).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("helpers", "count"),
    [
        ("model = None", 1),
        ("import numpy as np\nmodel = None\nnp.random.seed(0)", 0),
        ("model = None\ndef setup(): set_random_seed(3)", 0),
        (None, 0),
    ],
    ids=["seeded nowhere", "seeded elsewhere", "seeded by a helper", "import out of sight"],
)
def test_seeds_are_looked_for_in_all_files(tmp_path: Path, helpers: str | None, count: int) -> None:
    files = {"train.py": UNSEEDED, **({"helpers.py": helpers} if helpers is not None else {})}
    assert len(found(tmp_path, files, "TL505")) == count


def test_evidence_for_varying_shapes_may_stand_in_an_imported_file(tmp_path: Path) -> None:
    train = "import torch\nimport dataset\nnet = torch.nn.Conv1d(1, 2, 3)\ntorch.backends.cudnn.benchmark = True\n"
    padded = "from torch.nn.utils.rnn import pad_sequence\ndef collate(b):\n    return pad_sequence(b)\n"
    assert len(found(tmp_path, {"train.py": train, "dataset.py": padded}, "TL504")) == 1
    by_hand = "import torch\nclass Collate:\n    def __call__(self, b):\n        return max(len(x) for x in b)\n"
    assert len(found(tmp_path, {"dataset.py": by_hand}, "TL504")) == 1
    assert not found(tmp_path, {"dataset.py": "def collate(b):\n    return b\n"}, "TL504")


def test_a_module_that_needs_cuda_makes_its_importers_cuda_only(tmp_path: Path) -> None:
    use = "import torch\nimport kernels\ndef f(x):\n    return x.cuda()\n"
    assert not found(tmp_path, {"use.py": use, "kernels.py": "import torch\nimport triton\n"}, "TL701")
    assert len(found(tmp_path, {"kernels.py": "import torch\n"}, "TL701")) == 1


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"net/__init__.py": "from .ops import f\n", "net/ops.py": "import triton\n"}, 0),
        ({"net/__init__.py": "", "net/ops.py": "from net import low\n", "net/low.py": "import triton\n"}, 0),
        (
            {
                "net/__init__.py": "from .ops import f\n",
                "net/ops.py": "try:\n    import triton\nexcept ImportError: ...\n",
            },
            1,
        ),
        (
            {
                "net/__init__.py": "try:\n    from .ops import f\nexcept ImportError: ...\n",
                "net/ops.py": "import triton\n",
            },
            0,
        ),
        (
            {"net/__init__.py": "if 1:\n    from .fast import f\n", "net/ops.py": "", "net/fast.py": "import triton\n"},
            1,
        ),
        (
            {
                "net/__init__.py": "def f():\n    from . import fast\n",
                "net/ops.py": "",
                "net/fast.py": "import triton\n",
            },
            1,
        ),
        ({"net/__init__.py": "from . import ops, fast\n", "net/ops.py": "", "net/fast.py": "import triton\n"}, 0),
    ],
    ids=["package", "next module", "optional", "needed all the same", "condition", "function", "beside it"],
)
def test_what_an_import_runs_may_need_cuda(tmp_path: Path, files: dict[str, str], count: int) -> None:
    use = "import torch\nfrom net.ops import f\ndef g(x):\n    return f(x.cuda())\n"
    assert len(found(tmp_path, {"bench/use.py": use, **files}, "TL701")) == count


@pytest.mark.parametrize(("source", "count"), [("k.cu", 0), ("k.cpp", 1)])
def test_a_module_that_builds_an_extension_for_cuda_makes_its_importers_cuda_only(
    tmp_path: Path, source: str, count: int
) -> None:
    use = "import torch\nfrom .ops import f\ndef g(x):\n    return f(x.cuda())\n"
    ops = "import os\nfrom torch.utils.cpp_extension import load\n"
    ops += f"k = load('k', sources=[os.path.join('c', '{source}')])\n"
    assert len(found(tmp_path, {"net/__init__.py": "", "net/use.py": use, "net/ops.py": ops}, "TL701")) == count


def test_a_module_needs_what_its_package_needs(tmp_path: Path) -> None:
    files = {"net/__init__.py": "from .ops import f\n", "net/ops.py": "import triton\n"}
    use = "import torch\ndef g(x):\n    return x.cuda()\n"
    assert not found(tmp_path, {"net/use.py": use, **files}, "TL701")
    assert len(found(tmp_path, {"use.py": use, **files}, "TL701")) == 1


def test_a_module_of_the_project_is_not_the_package_for_cuda_of_the_same_name(tmp_path: Path) -> None:
    use = "import torch\nfrom utils import Scaler\ndef f(x):\n    return x.cuda()\n"
    utils = "import torch\nfrom .cuda import Scaler\ndef f(x):\n    return x.cuda()\n"
    scaler = "import torch\nclass Scaler: ...\n"
    alone = {"use.py": use, "utils/__init__.py": utils}
    assert not found(tmp_path, alone, "TL701")
    assert len(found(tmp_path, {"utils/cuda.py": scaler}, "TL701")) == 2
    assert not found(tmp_path, {"utils/cuda.py": f"import apex\n{scaler}"}, "TL701")


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"m.py": "from .triton import x\nfrom apex import amp\n", "triton.py": "x = 1\n"}, 0),
        ({"m.py": "from .triton import x\n", "triton.py": "from .apex import x\n", "apex.py": "x = 1\n"}, 1),
        ({"m.py": "from .triton import x\n", "triton.py": "from .apex import x\n", "apex.py": "import apex\n"}, 0),
        (
            {
                "m.py": "from .apex import x\n",
                "apex.py": "from .triton import x\n",
                "triton.py": "from .apex import x\n",
            },
            1,
        ),
        (
            {
                "m.py": "x = 1\n",
                "q/__init__.py": "",
                "q/m.py": "from .. import triton\ndef f(x):\n    return x.cuda()\n",
            },
            1,
        ),
    ],
    ids=["a package after a module", "modules of modules", "a package in the end", "a circle", "a package around"],
)
def test_what_a_module_needs_is_told_by_the_modules_that_it_imports(
    tmp_path: Path, files: dict[str, str], count: int
) -> None:
    use = "import torch\nfrom .m import x\ndef f(x):\n    return x.cuda()\n"
    every = {
        "p/use.py": use,
        "p/__init__.py": "",
        **{f"p/{name}": f"import torch\n{text}" for name, text in files.items()},
    }
    assert len(found(tmp_path, every, "TL701")) == count


def test_a_start_in_another_file_that_needs_nccl_makes_a_script_cuda_only(tmp_path: Path) -> None:
    use = "import torch\nimport utils\ndef main(args):\n    utils.start(args)\n    return torch.zeros(3).cuda()\n"
    start = "import torch.distributed as dist\ndef start(args):\n    dist.init_process_group(backend={})\n"
    assert not found(tmp_path, {"use.py": use, "utils.py": start.format('"nccl"')}, "TL701")
    assert len(found(tmp_path, {"utils.py": start.format('"gloo"')}, "TL701")) == 1


CHECKED = """import torch
{importing}
def main(x):
    {call}
    return x.cuda()
"""
LEAVES = """import sys
import torch
def {name}():
    if not torch.cuda.is_available():
        {action}
def setup():
    {name}()
"""


@pytest.mark.parametrize(
    ("importing", "call", "count"),
    [
        ("from checks import require_cuda", "require_cuda()", 0),
        ("import checks", "checks.require_cuda()", 0),
        ("from checks import setup", "setup()", 0),
        ("from checks import require_cuda", "print(require_cuda)", 1),
        ("from checks import require_cuda", "if x.ndim: require_cuda()", 1),
        ("from elsewhere import require_cuda", "require_cuda()", 1),
    ],
)
def test_what_runs_after_a_function_of_another_file_that_ends_the_program_without_cuda_is_silent(
    tmp_path: Path, importing: str, call: str, count: int
) -> None:
    checks = LEAVES.format(name="require_cuda", action="sys.exit('no CUDA')")
    files = {"main.py": CHECKED.format(importing=importing, call=call), "checks.py": checks}
    assert len(found(tmp_path, files, "TL701")) == count


def test_a_function_of_another_file_that_only_warns_is_no_check(tmp_path: Path) -> None:
    main = CHECKED.format(importing="from checks import look", call="look()")
    assert len(found(tmp_path, {"main.py": main, "checks.py": LEAVES.format(name="look", action="print()")}, "TL701"))
    assert not found(tmp_path, {"checks.py": LEAVES.format(name="look", action="raise OSError")}, "TL701")


USED = "import torch\ndef build():\n    return torch.nn.Linear(2, 2).cuda()\n"
STARTS = """import torch
from parts import build
def main():
    {start}
    build()
if __name__ == "__main__":
    main()
"""
REQUIRES = "assert torch.cuda.is_available()"


@pytest.mark.parametrize(
    ("files", "severities"),
    [
        ({}, ["info"]),
        ({"train.py": STARTS.format(start=REQUIRES)}, []),
        ({"train.py": STARTS.format(start="raise SystemExit if not torch.cuda.is_available() else 0")}, ["info"]),
        ({"train.py": STARTS.format(start=REQUIRES), "demo.py": STARTS.format(start="pass")}, ["info"]),
        ({"train.py": STARTS.format(start=REQUIRES), "tests/test_it.py": "from parts import build\n"}, []),
        (
            {
                "train.py": f"import torch\nimport middle\n{REQUIRES}\n",
                "middle.py": "def f():\n    from parts import build\n",
            },
            [],
        ),
        ({"train.py": "import triton\n" + STARTS.format(start="pass")}, []),
    ],
    ids="alone requires odd another tests in-a-function package".split(),
)
def test_the_programs_that_import_a_file_say_whether_it_may_need_cuda(
    tmp_path: Path, files: dict[str, str], severities: list[str]
) -> None:
    assert [f.severity.value for f in found(tmp_path, {"parts.py": USED, **files}, "TL701")] == severities


def test_a_project_that_wants_to_run_without_cuda_gets_warnings() -> None:
    config = Config(select=("TL701",), rules={"hardcoded-cuda": {"portable": True}})
    timed = "def f(x, d='cuda'):\n    torch.cuda.synchronize()\n    return x.cuda(), torch.zeros(2, device=d)\n"
    result = lint_source(USED + timed, config=config)
    assert [(f.span.line, f.severity.value) for f in result.findings] == [(3, "warning"), (4, "info"), (6, "info")]


def test_a_demo_in_a_file_is_a_program_of_its_own(tmp_path: Path) -> None:
    demo = "import torch\nclass Net(torch.nn.Module): ...\nif __name__ == '__main__':\n    Net().cuda()\n"
    train = f"import torch\nfrom parts import Net\n{REQUIRES}\nNet().to(0)\n"
    assert [f.severity.value for f in found(tmp_path, {"parts.py": demo, "train.py": train}, "TL701")] == ["info"]


@pytest.mark.parametrize(
    ("importing", "setup", "count"),
    [
        ("from . import _ext", 'CUDAExtension("net._ext", ["a.cu"])', 0),
        ("from net import _ext", 'CUDAExtension(name="net._ext", sources=["a.cu"])', 0),
        ("from . import _ext", 'CppExtension("net._ext", ["a.cpp"])', 1),
        ("from . import _ext", 'CUDAExtension("net._ext", []) if torch.cuda.is_available() else None', 1),
        ("from . import other", 'CUDAExtension("net._ext", ["a.cu"])', 1),
        ("try:\n    from . import _ext\nexcept ImportError: ...", 'CUDAExtension("net._ext", ["a.cu"])', 1),
        ("from . import corners_cuda", "None", 0),
        ("import corners_cuda", "None", 0),
        ("from elsewhere import require_cuda", "None", 1),
        ("from .ops_cuda import f", "None", 1),
        ("from . import cuda_helpers", "None", 1),
        ("from torch.cuda import amp", "None", 1),
    ],
)
def test_a_file_that_imports_an_extension_compiled_for_cuda_is_cuda_only(
    tmp_path: Path, importing: str, setup: str, count: int
) -> None:
    files = {
        "setup.py": "import torch\nfrom torch.utils.cpp_extension import CppExtension, CUDAExtension\n"
        f"extensions = [{setup}]\n",
        "net/__init__.py": "",
        "net/ops_cuda.py": "def f(): ...\n",
        "net/cuda_helpers.py": "",
        "net/layers.py": f"import torch\n{importing}\n",
        "net/use.py": "import torch\nfrom .layers import x\ndef f(x):\n    return x.cuda()\n",
    }
    assert len(found(tmp_path, files, "TL701")) == count


def test_a_default_that_a_helper_of_another_file_replaces_without_cuda_is_silent(tmp_path: Path) -> None:
    main = "import torch\nfrom helpers import pick_device\ndef f(x, device='cuda'):\n    x.to(pick_device(device))\n"
    chooses = "import torch\ndef pick_device(d):\n    return torch.device(d if torch.cuda.is_available() else 'cpu')\n"
    assert not found(tmp_path, {"main.py": main, "helpers.py": chooses}, "TL701")
    obeys = "import torch\ndef pick_device(d):\n    return torch.device(d)\n"
    assert len(found(tmp_path, {"helpers.py": obeys}, "TL701")) == 1
    (tmp_path / "helpers.py").unlink()
    assert not found(tmp_path, {}, "TL701"), "what an unseen helper does is unknown"


def test_a_function_of_another_file_that_returns_the_cpu_is_no_accelerator(tmp_path: Path) -> None:
    train = "import torch\nfrom where import get_device\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
    train += "        return torch.zeros(3).to(get_device())\n"
    cpu = 'import torch\ndef get_device():\n    return torch.device("cpu")\n'
    assert not found(tmp_path, {"train.py": train, "where.py": cpu}, "TL104")
    both = cpu.replace('"cpu"', '"cuda" if torch.cuda.is_available() else "cpu"')
    assert len(found(tmp_path, {"where.py": both}, "TL104")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def get_device(): ...\n",
        "\ufeffasync def get_device(): ...\n",
        "x = 1\r\ndef \\\r\n  pick_gpu(): ...\r\n",
        "def dev(): ...\n",
        "x = 1\n\f\fdef getDevice (): ...\n",
        "class A:\n    def to(self: T, device: str) -> T: ...\n",
        "for x in loader:\n    f(x.to(device))\n",
        "from . import (a, cuda)\n",
        "def padding_collate(batch):\n    return max(len(x) for x in batch)\n",
        "class MyCollate:\n    def __call__(self, batch):\n        return max(len(x) for x in batch)\n",
        "from torchvision.transforms import Resize\nsmall = Resize(256)\n",
        "from torchvision.models import (\n    detection,\n)\n",
        "import torchvision.models as m\nnet = m.detection.fasterrcnn_resnet50_fpn()\n",
        "from torch.nn.utils.rnn import pack_sequence\n",
    ],
)
def test_what_other_files_may_ask_for_is_parsed(text: str) -> None:
    assert needs_parsing(TextIndex(f"{text}import torch\n".encode()))


DATA = """
    import numpy as np
    import torch
    def ones(rows):
        return torch.from_numpy(np.ones(len(rows), dtype=np.float32))
    def train(loader, model, optimizer):
        for x in loader:
            model(x.cuda() * torch.cuda.FloatTensor([0.5])).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("other", "device", "dtype"),
    [
        ("import torch\nwith torch.autocast('cuda'), torch.cuda.device(0):\n    pass\n", "", ""),
        ("import torch\ntorch.set_default_device('cuda')\n", ', device="cpu"', ""),
        ("import torch\ntorch.set_default_dtype(torch.float64)\n", "", "dtype=torch.float32, "),
        (
            "import torch\ntorch.set_default_tensor_type('torch.DoubleTensor')\n",
            ', device="cpu"',
            "dtype=torch.float32, ",
        ),
    ],
    ids=["nothing", "the device", "the dtype", "both"],
)
def test_defaults_that_another_file_sets_are_written_out(tmp_path: Path, other: str, device: str, dtype: str) -> None:
    fixes = [f.fix for f in found(tmp_path, {"data.py": DATA, "main.py": other}, "TL103", "TL105")]
    assert [(fix.safety, fix.edits[0].text) for fix in fixes if fix is not None] == [
        (Safety.SAFE, f"torch.ones(len(rows), dtype=torch.float32{device})"),
        (Safety.SAFE, f'torch.full((1,), 0.5, {dtype}device="cuda")'),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "with torch.device('meta'):\n    f()\n",
        "with torch.no_grad(), device:\n    f()\n",
        "with (self.device as d):\n    f()\n",
        "with torch.device(\n    'cuda'\n):\n    f()\n",
        "context = torch.device('meta') if empty else nullcontext()\n",
        "stack.enter_context(torch.device(d))\n",
        "@torch.device('meta')\ndef f(): ...\n",
        "with fabric.init_module(empty_init=True):\n    f()\n",
    ],
)
def test_a_default_device_is_seen_in_whatever_form_it_is_set(text: str) -> None:
    assert from_bytes(TextIndex(text.encode())).get("sets_device")


@pytest.mark.parametrize(
    "text",
    [
        "device = torch.device('cuda')\nx = x.to(device)\n",
        "with torch.autocast(device_type=device.type, dtype=torch.float16):\n    f(device)\n",
        "with torch.cuda.device(rank), open(device.name):\n    f()\n",
        "x = torch.zeros(3, device=device)  # with device\n",
    ],
)
def test_using_a_device_sets_no_default(text: str) -> None:
    assert "sets_device" not in from_bytes(TextIndex(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def get_device(self): ...\n",
        "def to_cpu_and_back(x): ...\n",
        "from utils import cuda_time\n",
        "import torchvision\n# detection, Resize\n",
    ],
)
def test_files_without_facts_for_others_are_not_parsed(text: str) -> None:
    assert not needs_parsing(TextIndex(f"{text}import torch\n".encode()))


# -- the run ---------------------------------------------------------------------------------------

FILES = {
    "main.py": MAIN.format(more=""),
    "engine.py": ENGINE,
    "train.py": TRAIN,
    "utils/seed.py": SEED,
    **{f"filler{i}.py": "x = 1  # padding\n" * 4_000 for i in range(5)},
}


def run(paths: list[str], **options: object) -> RunResult:
    return session.run(paths, session.plan(Config()), **options)  # type: ignore[arg-type]


def test_order_and_processes_change_nothing(tmp_path: Path) -> None:
    paths = write(tmp_path, FILES)
    one = run(paths, jobs=1)
    assert {f.rule for f in one.findings} >= {"TL401", "TL501"}
    for seed in range(3):
        random.Random(seed).shuffle(paths)
        assert run(paths, jobs=2) == one


def test_a_cached_result_is_dropped_when_another_file_answers_differently(tmp_path: Path) -> None:
    paths = write(tmp_path, FILES)
    cache = tmp_path / "cache"

    def cached() -> RunResult:
        return run(paths, jobs=1, cache=Cache(cache, "key"))

    first = cached()
    again = cached()
    assert again.findings == first.findings
    assert again.from_cache == len(paths)
    write(tmp_path, {"utils/seed.py": SEED.replace("= True", "= False")})
    changed = cached()
    assert "TL501" in {f.rule for f in first.findings} - {f.rule for f in changed.findings}
    assert changed == RunResult(**{**run(paths, jobs=1)._asdict(), "from_cache": changed.from_cache})
    write(tmp_path, {"utils/seed.py": "# moved\n" + textwrap.dedent(SEED)})
    assert "line 7" in next(f.message for f in cached().findings if f.rule == "TL501")


def test_a_file_from_the_cache_answers_what_a_new_file_asks(tmp_path: Path) -> None:
    files = {"engine.py": ENGINE, "main.py": MAIN.format(more="")}
    paths = write(tmp_path, files)
    cache = tmp_path / "cache"
    alone = run(paths[:1], jobs=1, cache=Cache(cache, "key"))
    assert "TL401" not in {f.rule for f in alone.findings}
    for _ in range(2):
        both = run(paths, jobs=1, cache=Cache(cache, "key"))
        assert both.findings == run(paths, jobs=1).findings
        assert "TL401" in {f.rule for f in both.findings}
    assert both.from_cache == 2


def test_a_question_that_is_not_known_any_more_never_holds() -> None:
    from torchlint.model import FileResult
    from torchlint.run.linting.file import Analysis

    analysis = Analysis(FileResult("a.py"), {}, ((("moon_phase",), "0"), (("seeds",), "1")))
    assert not analysis.is_valid_for(Project({"a.py": {}}))


def test_modules_are_looked_up_beside_the_file_first_and_then_upwards() -> None:
    project = Project(
        {path: {} for path in ("a/b/main.py", "a/b/tools.py", "a/tools.py", "a/net/__init__.py", "top.py")}
    )
    assert project.module("a/b/main.py", "tools") == "a/b/tools.py"
    assert project.module("a/b/main.py", "..tools") == "a/tools.py"
    assert project.module("a/b/main.py", "net") == "a/net/__init__.py"
    assert project.module("a/b/main.py", "top") == "top.py"
    assert project.module("a/b/main.py", ".top") is None
    assert project.module("a/b/main.py", "torch") is None


@pytest.mark.parametrize("path", ["//train.py", "///train.py", "/train.py", "train.py", "../train.py", ""])
def test_looking_for_a_module_comes_to_an_end_wherever_the_file_is(path: str) -> None:
    assert Project({path: {}}).module(path, "nowhere.to.be.found") is None


# -- loaders and their batches ---------------------------------------------------------------------

FIT = """
    import torch
    def fit(net, source, device):
        for x, y in source:
            net(x.to(device), y.to(device)).backward()
"""
CALL = (
    "from torch.utils.data import DataLoader\nfrom fit import fit\ndef main(net, d, device):\n"
    "    fit(net, DataLoader(d, num_workers=2{more}), device)\nmain(Net(), range(9), 'cuda')\n"
)
LISTED = "from torch import ones\nfrom fit import fit\nloader_tests = fit(None, [(ones(2), ones(2))], 'cuda')\n"


def test_a_parameter_of_any_name_gets_a_loader_from_another_file(tmp_path: Path) -> None:
    findings = found(tmp_path, {"fit.py": FIT, "main.py": CALL.format(more="")}, "TL202", "TL401")
    assert [(Path(f.path).name, f.rule, f.severity.value) for f in findings] == [
        ("fit.py", "TL202", "warning"),
        ("main.py", "TL401", "warning"),
    ]
    pinned = found(tmp_path, {"main.py": CALL.format(more=", pin_memory=True")}, "TL202", "TL401")
    assert [(f.rule, f.severity.value) for f in pinned] == [("TL202", "warning")]


def test_a_list_that_a_test_passes_says_nothing_of_a_normal_run(tmp_path: Path) -> None:
    files = {"fit.py": FIT, "main.py": CALL.format(more=", pin_memory=True"), "test_fit.py": LISTED}
    assert {finding.severity.value for finding in found(tmp_path, files, "TL202")} == {"warning"}


def test_a_list_that_a_function_out_of_use_passes_says_nothing_of_a_normal_run(tmp_path: Path) -> None:
    files = {
        "fit.py": textwrap.dedent(FIT) + "def check(net, x):\n    fit(net, [(x, x)], 'cuda')\n",
        "main.py": CALL.format(more=""),
    }
    assert {finding.severity.value for finding in found(tmp_path, files, "TL202")} == {"warning"}


def test_a_loader_of_a_method_of_another_file(tmp_path: Path) -> None:
    trainer = (
        "import torch\nclass Trainer:\n    def __init__(self, net, source):\n"
        "        self.source, self.net = source, net\n"
        "    def run(self, device, held_out):\n        for x in self.source:\n"
        "            self.net(x.to(device)).backward()\n"
        "        for x in held_out:\n            self.net(x.cuda())\n"
    )
    main = (
        "from torch.utils.data import DataLoader\nfrom trainer import Trainer\ndef main(net, d, e):\n"
        "    t = Trainer(net, DataLoader(d, num_workers=2, pin_memory=True))\n"
        "    t.run('cuda', DataLoader(e, num_workers=2, pin_memory=True))\nmain(Net(), range(9), range(9))\n"
    )
    findings = found(tmp_path, {"trainer.py": trainer, "main.py": main}, "TL202", "TL401")
    assert [(Path(f.path).name, f.span.line, f.severity.value) for f in findings] == [
        ("trainer.py", 7, "warning"),
        ("trainer.py", 9, "info"),
    ]


def test_what_another_file_converts_before_the_move_is_not_pinned_by_the_loader(tmp_path: Path) -> None:
    converted = FIT.replace("x.to(device), y.to(device)", "x.float().to(device), y.long().to(device)")
    for more in ("", ", pin_memory=True"):
        seen = found(tmp_path, {"fit.py": converted, "main.py": CALL.format(more=more)}, "TL202", "TL401")
        assert {(f.rule, f.severity) for f in seen} <= {
            ("TL202", Severity.WARNING)
        }  # blocking, but not for want of a pin
    one = FIT.replace("y.to(device)", "y.long().to(device)")
    rules = [f.rule for f in found(tmp_path, {"fit.py": one, "main.py": CALL.format(more="")}, "TL202", "TL401")]
    assert rules == ["TL202", "TL401"]


def test_a_step_in_another_file_reads_what_it_is_given_a_loader_for(tmp_path: Path) -> None:
    files = {"fit.py": FIT.replace(".backward()", ".item()"), "main.py": CALL.format(more="")}
    assert [f.rule for f in found(tmp_path, files, "TL301")] == ["TL301"]


@pytest.mark.parametrize("form", ["{'train': DataLoader(d, num_workers=2)}", "[DataLoader(d, num_workers=2)]"])
def test_a_container_of_loaders_that_another_file_uses(tmp_path: Path, form: str) -> None:
    inner = "loaders['train']" if form.startswith("{") else "loaders[0]"
    files = {
        "fit.py": f"def fit(net, loaders, device):\n    for x in {inner}:\n        net(x.to(device)).backward()\n",
        "main.py": "from torch.utils.data import DataLoader\nfrom fit import fit\n"
        f"def main(net, d, device):\n    parts = {form}\n    fit(net, parts, device)\nmain(Net(), range(9), 'cuda')\n",
    }
    findings = found(tmp_path, files, "TL401")
    assert [(Path(f.path).name, f.severity.value) for f in findings] == [("main.py", "warning")]


def test_a_helper_of_another_file_moves_what_was_converted_here(tmp_path: Path) -> None:
    main = (
        "from torch.utils.data import DataLoader\nfrom utils import to_device\n"
        "def main(net, d, device):\n    for batch in DataLoader(d, num_workers=2):\n"
        "        net(*to_device(batch, device)).backward()\n"
    )
    utils = "import torch\ndef to_device(batch, device):\n    return [x.to(device) for x in batch]\n"
    converted = {"main.py": main.replace("(batch,", "(batch.float(),"), "utils.py": utils}
    assert not found(tmp_path, converted, "TL401")
    assert len(found(tmp_path, {"main.py": main}, "TL401")) == 1


def test_a_helper_of_another_file_moves_the_batches(tmp_path: Path) -> None:
    files = {
        "utils.py": "import torch\ndef to_device(batch, device):\n    return [x.to(device) for x in batch]\n",
        "main.py": "from torch.utils.data import DataLoader\nfrom utils import to_device\n"
        "def main(net, d, device):\n    for batch in DataLoader(d, num_workers=2):\n"
        "        net(*to_device(batch, device)).backward()\n",
    }
    findings = found(tmp_path, files, "TL401")
    assert len(findings) == 1
    assert "utils.py, line 3" in findings[0].message


def test_a_loader_that_is_none_at_first_is_passed_on(tmp_path: Path) -> None:
    files = {
        "data.py": "from torch.utils.data import DataLoader\ndef get_loader(d):\n"
        "    return DataLoader(d, num_workers=2)\n",
        "fit.py": FIT,
        "main.py": "from data import get_loader\nfrom fit import fit\ndef main(net, d, device, train):\n"
        "    loader = None\n    if train:\n        loader = get_loader(d)\n"
        "    fit(net, loader, device)\nmain(Net(), range(9), 'cuda', True)\n",
    }
    assert [Path(f.path).name for f in found(tmp_path, files, "TL401")] == ["data.py"]


PIECES = """
    from lightning import LightningDataModule
    from torch.utils.data import DataLoader
    class Pieces(LightningDataModule):
        def train_dataloader(self):
            return DataLoader(self.data, num_workers=2)
"""


@pytest.mark.parametrize(
    ("trainer", "severities"),
    [
        ("Trainer(accelerator='gpu')", ["warning"]),
        ("Trainer(max_epochs=3)", ["warning"]),
        ("Trainer(accelerator=options.accelerator)", ["warning"]),
        ("Trainer(accelerator='cpu')", []),
        ("Trainer(accelerator='cpu'), Trainer(accelerator='auto')", ["warning"]),
        ("None", ["info"]),
    ],
)
def test_the_trainer_of_lightning_may_be_in_another_file(tmp_path: Path, trainer: str, severities: list[str]) -> None:
    main = f"import data\nfrom lightning import Trainer\n\nmade = {trainer}\nprint(data, made)\n"
    findings = found(tmp_path, {"data.py": PIECES, "main.py": main}, "TL401")
    assert [f.severity.value for f in findings] == severities

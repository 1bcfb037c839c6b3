"""What a normal run does not choose is no warning: values of options, classes in registries, data, devices."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.test_project import found

TRAIN = """
import argparse
import torch
import yaml
from torch.utils.data import DataLoader
from build import Registry, choose
from helper import *

parser = argparse.ArgumentParser()
parser.add_argument("--options", required=True)
parser.add_argument("--loss", default="mean")
parser.add_argument("--weight", type=float, default=-1)
args = parser.parse_args()
with open(args.options) as file:
    opt = yaml.safe_load(file)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for step, data in enumerate(DataLoader(Data(opt), pin_memory=True)):
    out = model(data["x"].to(device, non_blocking=True))
    loss = out.mean()
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BUILD = """
class Registry:
    def __init__(self):
        self._classes = {}

    def register(self, class_):
        self._classes[class_.__name__] = class_
        return class_

    def get(self, name):
        return self._classes.get(name)

LOSSES = Registry()

def choose(name):
    return LOSSES.get(name)
"""
HELPER = """
import torch
from build import LOSSES

@LOSSES.register
class Mean:
    def __call__(self, out):
        return out.mean().item()

@LOSSES.register
class Largest:
    def __call__(self, out):
        return out + torch.zeros(4).cuda()

class Data(torch.utils.data.Dataset):
    def __init__(self, opt):
        self.extra = False
        if opt.get("extra_path", None) is not None:
            self.extra = True

    def __len__(self):
        return 99

    def __getitem__(self, index):
        item = {"x": torch.zeros(4), "y": torch.zeros(4)}
        if self.extra:
            item["extra"] = torch.zeros(4)
        return item

class Losses:
    def __init__(self, kind):
        self.kind = kind

    def show(self, out):
        if self.kind == "hinge":
            return out.sum().item()
        elif self.kind == "wgan":
            return out.max().item()
"""


NETS = """
import torch

class One(torch.nn.Module):
    def forward(self, x):
        return x

class Other(torch.nn.Module):
    def forward(self, x):
        return x.nonzero()
"""


def told(
    folder: Path, body: str, before: str = "", rule: str = "TL301", also: str = "TL104", **files: str
) -> list[str]:
    """The severities of what a program does in its steps, with what it is only done with."""
    texts = {name.replace("_", ".", 1): text for name, text in files.items()}
    train = TRAIN.format(body=indent(dedent(body), "    "), before=dedent(before))
    every = found(folder, {"train.py": train, "build.py": BUILD, "helper.py": HELPER, **texts}, rule, also)
    ends = [(f.severity.value, f.message.rpartition("(only ")[2].rstrip(")")) for f in every]
    return [f"{severity} {end}" if len(end) < 60 else severity for severity, end in ends]


ONE = 'if args.loss == "mean":\n    log = loss.item()\nelse:\n    log = out.max().item()'
ONE_OF = 'if args.loss in ("mean", "sum"):\n    log = loss.item()\nelse:\n    log = out.max().item()'
OTHER = 'if "largest" in args.loss:\n    log = out.max().item()'
NAMED = 'if args.loss == "largest":\n    log = out.max().item()'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ONE, ["warning", "info with another `--loss`"]),
        (ONE_OF, ["warning", "info with another `--loss`"]),
        (OTHER, ["info with another `--loss`"]),
        (NAMED, ["info with `--loss largest`"]),
    ],
)
def test_what_only_another_word_than_the_default_chooses_is_an_info(
    tmp_path: Path, body: str, expected: list[str]
) -> None:
    assert told(tmp_path, body) == expected


@pytest.mark.parametrize("file", ["README_md", "run_sh"])
@pytest.mark.parametrize("body", [ONE, NAMED])
def test_what_scripts_and_pages_choose_is_a_normal_run(tmp_path: Path, file: str, body: str) -> None:
    assert set(told(tmp_path, body, **{file: "python train.py --loss largest\n"})) == {"warning"}


def test_a_word_that_must_be_given_or_is_none_leaves_both_branches_open(tmp_path: Path) -> None:
    body = 'if args.options == "largest":\n    log = out.max().item()\nelse:\n    log = out.sum().item()'
    assert told(tmp_path, body) == ["warning"]  # which shows both


def test_an_object_that_another_word_chooses_is_used_only_with_it(tmp_path: Path) -> None:
    before = 'if args.loss == "largest":\n    show = Largest()\nelse:\n    show = Mean()'
    assert told(tmp_path, "show(out)", before) == ["warning", "info with `--loss largest`"]


def test_a_number_that_is_off_switches_off_what_steps_an_optimizer_too(tmp_path: Path) -> None:
    body = "if args.weight > 0:\n    log = loss.item()\nif args.weight > 0:\n    other.step()"
    assert told(tmp_path, body, "other = torch.optim.SGD(model.parameters())") == ["info with `--weight`"]


@pytest.mark.parametrize("read", ["One", "Other"])
def test_whatever_a_variable_may_be_is_moved_and_wrapped(tmp_path: Path, read: str) -> None:
    choose = 'if args.options == "one":\n    net = One()\nelse:\n    net = Other()'
    before = f"from nets import *\n{choose}\nnet = torch.nn.DataParallel(net.cuda())"
    nets = NETS if read == "Other" else NETS.replace("One", "It").replace("Other", "One").replace("It", "Other")
    assert told(tmp_path, 'net(data["y"])', before, "TL304", nets_py=nets) == ["warning"]


def test_a_wrapper_copies_the_batch_among_its_arguments(tmp_path: Path) -> None:
    train = TRAIN.replace("pin_memory=True", "num_workers=2").replace("model(data", "model(torch.zeros(4), data")
    train = train.replace(".to(device, non_blocking=True)", "").format(
        body="", before="from nets import *\nmodel = torch.nn.DataParallel(Two()).cuda()"
    )
    nets = "import torch\nclass Two(torch.nn.Module):\n    def forward(self, x, y):\n        return x + y\n"
    every = found(tmp_path, {"train.py": train, "build.py": BUILD, "helper.py": HELPER, "nets.py": nets}, "TL401")
    assert [finding.severity.value for finding in every] == ["warning"]


@pytest.mark.parametrize("test", ["isinstance(net, Other)", "not isinstance(net, One)"])
def test_a_branch_for_objects_of_a_class_calls_no_others(tmp_path: Path, test: str) -> None:
    choose = 'if args.options == "one":\n    net = One().cuda()\nelse:\n    net = Other().cuda()'
    body = f"if {test}:\n    net(out)\nelse:\n    net(out.sum().item())"
    assert told(tmp_path, body, f"from nets import *\n{choose}", "TL304", nets_py=NETS) == ["warning"]
    swapped = body.replace("net(out)", "pass").replace("net(out.sum().item())", "net(out)")
    assert told(tmp_path, swapped, f"from nets import *\n{choose}", "TL304", nets_py=NETS) == ["info"]


def test_a_branch_for_objects_of_a_class_that_is_never_made_calls_none_that_are_known(tmp_path: Path) -> None:
    body = "if isinstance(net, One):\n    net(out)\nelse:\n    net({})"
    made = "from nets import *\nnet = Other().cuda()"
    assert told(tmp_path / "not", body.format("loss.item()"), made, "TL304", nets_py=NETS) == []
    assert told(tmp_path / "else", body.format("out"), made, "TL304", nets_py=NETS) == ["warning"]


LIBRARY = """
from .options import read
from .{other} import Trainer

def train(model, loader, optimizer):
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


@pytest.mark.parametrize(("other", "severity"), [("trainers", "info"), ("_version", "info"), ("options", "warning")])
def test_what_is_part_of_a_package_that_is_not_here_is_no_warning(tmp_path: Path, other: str, severity: str) -> None:
    assert [f.severity.value for f in found(tmp_path, {"train.py": LIBRARY.format(other=other)}, "TL301")] == [severity]


REGISTRY = 'show = choose(opt["loss"]["type"])()'


def test_what_option_files_name_in_a_registry_is_what_a_normal_run_calls(tmp_path: Path) -> None:
    options = "loss:\n  type: Mean  # or Largest\n"
    assert told(tmp_path / "one", "show(out)", REGISTRY, base_yaml=options) == [
        "warning",
        "info if an option names `Largest`",
    ]
    both = {"base_yaml": options, "other_yaml": "loss:\n  type: Largest\n"}
    assert told(tmp_path / "both", "show(out)", REGISTRY, **both) == ["warning", "warning"]


def test_without_option_files_anything_in_a_registry_may_be_called(tmp_path: Path) -> None:
    assert told(tmp_path, "show(out)", REGISTRY) == ["warning", "warning"]


@pytest.mark.parametrize("choice", ["eval(opt['loss'])", "getattr(helper, opt['loss'])"])
def test_classes_that_no_option_names_are_not_called_by_a_computed_name(tmp_path: Path, choice: str) -> None:
    before = f"import helper\nshow = {choice}()"
    assert told(tmp_path, "show(out)", before, base_yaml="loss: Mean\n") == [
        "warning",
        "info if an option names `Largest`",
    ]


LOSSES = "losses = Losses(**opt)"


def test_a_word_of_which_only_option_files_tell_has_their_values(tmp_path: Path) -> None:
    assert told(tmp_path / "one", "losses.show(out)", LOSSES, base_yaml="kind: hinge\n") == [
        "warning",
        "info with `kind wgan`",
    ]
    both = {"base_yaml": "kind: hinge\n", "other_yaml": "kind: wgan\n"}
    assert told(tmp_path / "both", "losses.show(out)", LOSSES, **both) == ["warning"]
    assert told(tmp_path / "none", "losses.show(out)", LOSSES) == ["warning"]


EXTRA = 'if "extra" in data:\n    extra = data["extra"].to(device)'


def test_data_that_no_option_file_asks_for_is_not_moved_in_a_normal_run(tmp_path: Path) -> None:
    assert told(tmp_path / "off", EXTRA, rule="TL202", base_yaml="extra_path: ~\n") == ["info with `extra_path`"]
    assert told(tmp_path / "on", EXTRA, rule="TL202", base_yaml="extra_path: data/extra\n") == ["warning"]
    assert told(tmp_path / "open", EXTRA, rule="TL202") == ["warning"]
    always = EXTRA.replace("extra", "y")
    assert told(tmp_path / "always", always, rule="TL202", base_yaml="extra_path: ~\n") == ["warning"]


def test_what_is_a_tensor_in_few_steps_decides_as_the_number_that_it_is_in_others(tmp_path: Path) -> None:
    body = "extra = 0\nif step % {n} == 0:\n    extra = out.max()\nif extra != 0:\n    out.sum()"
    assert told(tmp_path / "seldom", body.format(n=10)) == []
    usual = body.replace("step % {n} == 0", "out.dim() == 2")
    assert told(tmp_path / "often", usual) == ["warning"]


@pytest.mark.parametrize(
    "test",
    [
        'device.type == "mps"',
        '"mps" in str(device)',
        'not str(device).startswith("cuda")',
        'out.device.type not in ("cuda", "xpu")',
        "out.device != device",
        'loss.device == torch.device("cpu")',
    ],
)
def test_conditions_on_the_device_are_decided_on_a_machine_with_cuda(tmp_path: Path, test: str) -> None:
    assert told(tmp_path / "not", f"if {test}:\n    log = loss.item()") == []
    assert told(tmp_path / "else", f"if {test}:\n    pass\nelse:\n    log = loss.item()") == ["warning"]


@pytest.mark.parametrize("test", ['str(device) == "cuda:0"', 'args.loss == "cuda"', "device.index == 0"])
def test_conditions_on_the_number_of_a_device_are_open(tmp_path: Path, test: str) -> None:
    body = f"if {test}:\n    log = loss.item()\nelse:\n    log = out.max().item()"
    assert all("warning" in each or "cuda" in each for each in told(tmp_path, body))


def test_a_device_that_is_unknown_or_the_host_is_the_accelerator(tmp_path: Path) -> None:
    before = (
        "import where\nplace = where.best() if where.memory() > 2000 else torch.device('cpu')\n"
        "own = device if 'mps' not in str(device) else torch.device('cpu')"
    )
    assert told(tmp_path, "log = loss.to(place)\nlog = loss.to(own)", before) == []
    assert told(tmp_path, "log = loss.to(torch.device('cpu'))") == ["warning"]

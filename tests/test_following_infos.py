"""What following a program makes of code that a normal run hardly gets to, of inference, and of copies and loaders."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.engine_events import events
from tests.test_following import found, project
from torchlint.config.config import Config
from torchlint.model import Finding
from torchlint.run import session
from torchlint.solution import solve

SETUP = """
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STEP = """
    for step, x in enumerate(DataLoader(torch.randn(32, 4), batch_size=4, num_workers=2, pin_memory=True)):
        out = model(x.to(device, non_blocking=True))
        loss = out.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def lint(folder: Path, *rules: str, **files: str) -> list[Finding]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    plan = session.plan(Config(select=rules, preview=True))
    return list(session.run(sorted(str(path) for path in folder.glob("*.py")), plan).findings)


FIT = """
    import torch

    def fit(model, loader, optimizer, device):
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            optimizer.step()
            print(loss.item())
"""


# -- what a normal run hardly gets to --------------------------------------------------------------


def test_a_function_that_no_program_gets_to_is_an_info(tmp_path: Path) -> None:
    paths = project(tmp_path, "print(loss.item())", "pass", unused=FIT.replace("import torch", "import torch, train"))
    severities = {Path(f.path).name: (f.severity.value, f.message) for f in found(paths)}
    assert severities["train.py"][0] == "warning"
    assert severities["unused.py"][0] == "info"
    assert severities["unused.py"][1].endswith("(in programs that call this)")


def test_without_a_program_a_training_function_is_still_a_warning(tmp_path: Path) -> None:
    assert [f.severity.value for f in lint(tmp_path, "TL301", train=FIT)] == ["warning"]


PHASES = """
    for phase in ["train", "valid"]:
        for x in DataLoader(torch.randn(32, 4), batch_size=4):
            loss = model(x.to(device)).mean()
            if phase == "{read}":
                print(loss.item())
            if phase == "train":
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(("read", "severity"), [("train", "warning"), ("valid", "info")])
def test_a_branch_that_only_evaluates_in_a_loop_that_trains_is_an_info(
    tmp_path: Path, read: str, severity: str
) -> None:
    program = dedent(SETUP) + dedent(PHASES).replace("{read}", read)
    assert [f.severity.value for f in lint(tmp_path, "TL301", train=program)] == [severity]


def test_a_flag_that_is_seldom_set_guards_what_is_seldom_read(tmp_path: Path) -> None:
    lines = ["log = False", "if step % 100 == 0:", "    log = True", "if log:", "    print(loss.item())"]
    text = dedent(SETUP) + dedent(STEP) + "".join(f"    {line}\n" for line in lines)
    assert [f.severity.value for f in lint(tmp_path, "TL301", train=text)] in ([], ["info"])
    often = text.replace("step % 100 == 0", "step >= 0")
    assert [f.severity.value for f in lint(tmp_path, "TL301", train=often)] == ["warning"]


def test_what_needs_several_gpus_is_an_info(tmp_path: Path) -> None:
    text = dedent(SETUP) + dedent(STEP) + "    if dist.get_world_size() > 1:\n        print(loss.item())\n"
    (finding,) = lint(tmp_path, "TL301", train=text)
    assert finding.severity.value == "info"
    assert finding.message.endswith("(only with several GPUs)")


def reads(text: str) -> list[tuple[str, str]]:
    """What a program reads from the device in its steps: how, and in which phase."""
    happened = events({"train.py": text.encode()})
    return [(event.what, event.phase) for event in happened if event.kind == "read" and event.phase != "none"]


def test_exceptions_that_are_caught_do_not_end_a_program() -> None:
    start = "import contextlib\nwith contextlib.suppress(KeyError):\n    raise KeyError\n"
    assert reads(start + dedent(SETUP) + dedent(STEP) + "    print(loss)\n") == [("`print(..)`", "training")]


# -- assumptions -----------------------------------------------------------------------------------


def test_a_criterion_that_a_library_calls_for_each_token_is_an_info(tmp_path: Path) -> None:
    stop = """
        import torch
        from transformers import StoppingCriteria

        class Stop(StoppingCriteria):
            def __call__(self, ids: torch.LongTensor, scores: torch.FloatTensor) -> bool:
                device = ids.device
                return ids[0, -1].item() == 2
    """
    (finding,) = lint(tmp_path, "TL301", stop=stop)
    assert finding.severity.value == "info"
    assert finding.message.endswith("(in programs that call this)")


def test_a_function_that_replaces_one_of_a_library_is_assumed_to_run_in_steps(tmp_path: Path) -> None:
    patch = """
        import torch
        from somewhere import attention

        def forward(self, hidden: torch.Tensor, mask: torch.Tensor):
            row = torch.zeros(4, device=hidden.device)
            return row.sum().item()

        attention.Attention.forward = forward
    """
    (finding,) = lint(tmp_path, "TL301", patch=patch)
    assert finding.severity.value == "info"
    assert finding.message.endswith("(in programs that call this)")


DROPPED = """
    import torch
    from transformers import CLIPVisionEmbeddings

    class Drop(torch.nn.Module):
        def forward(self, x, mask):
            return x[torch.arange({count})]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.drop = CLIPVisionEmbeddings(), Drop()

        def forward(self, pixels: torch.Tensor, mask: torch.Tensor):
            return self.drop(self.embed(pixels), mask)
"""


@pytest.mark.parametrize(("count", "sure"), [("len(x)", False), ("x.size(0)", True)])
def test_what_a_library_gives_is_a_tensor_in_a_forward_that_takes_it_for_one(count: str, sure: bool) -> None:
    dropped = dedent(DROPPED).replace("{count}", count)
    contents = {"train.py": dedent(SETUP + STEP).encode(), "dropped.py": f"import train\n{dropped}".encode()}
    line = dropped.splitlines().index(f"        return x[torch.arange({count})]") + 2
    tensors = {place[:2]: kind for place, kind in solve(contents).files["dropped.py"].tensors}
    assert tensors.get((line, 15)) == ("device assumed" if sure else None)


POLICY = """
    import torch

    class Gaussian:
        def of(self, mean):
            return {given}.exp()

    class Actor(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.mean, self.gaussian = torch.nn.Linear(size, 1), Gaussian()

        def forward(self, x):
            return self.gaussian.of(self.mean(x))

    class Trainer:
        def __init__(self, size, device="cuda"):
            self.actor = Actor(size).to(device)
            self.optimizer = torch.optim.SGD(self.actor.parameters(), lr=0.1)

        def train(self, steps, buffer):
            for _ in range(steps):
                self.actor(torch.randn(4, 8, device="cuda")).mean().backward()
                self.optimizer.step()
"""


@pytest.mark.parametrize(("given", "what"), [("unknown(mean)", None), ("mean", "device assumed")])
def test_tensors_in_a_step_of_training_that_nothing_calls_are_known(given: str, what: str | None) -> None:
    policy = dedent(POLICY).replace("{given}", given)
    line = policy.splitlines().index(f"        return {given}.exp()") + 1
    tensors = {place[:2]: kind for place, kind in solve({"a.py": policy.encode()}).files["a.py"].tensors}
    assert tensors.get((line, 15)) == what


# -- inference -------------------------------------------------------------------------------------


def test_a_loop_that_feeds_something_unknown_with_tensors_is_inference(tmp_path: Path) -> None:
    decode = """
        import torch
        from somewhere import load

        def generate(prompt, device="cuda"):
            model = load("weights").to(device)
            ids = torch.as_tensor([prompt], device=device)
            for _ in range(100):
                logits = model(ids)
                token = torch.argmax(logits, -1)
                print(token.item())
                ids = torch.cat([ids, token[None]], 1)

        if __name__ == "__main__":
            generate([1, 2])
    """
    (finding,) = lint(tmp_path, "TL301", decode=decode)
    assert finding.severity.value == "info"
    assert "in every step" in finding.message


def test_a_dict_that_is_moved_to_the_device_has_tensors_there() -> None:
    program = """
        from somewhere import queue
        for _ in range(100):
            moved = queue.get().to(device)
            print(moved["mask"])
            model(moved["x"]).mean().backward()
            optimizer.step()
    """
    assert reads(dedent(SETUP) + dedent(program)) == [("`print(..)`", "training")]


# -- copies and loaders ----------------------------------------------------------------------------

LOADERS = """
    from torch.utils.data import DataLoader

    class Feed:
        def __init__(self, data):
            self.inner = DataLoader(data, batch_size=4, num_workers=2)

        def __iter__(self):
            for batch in self.inner:
                yield batch
"""
USES = """
    import torch
    from feed import Feed

    def put(value, where):
        return value.to(where)

    def main():
        device = torch.device("cuda")
        model = torch.nn.Linear(4, 1).to(device)
        for x in Feed(torch.randn(32, 4)):
            model(put(x, device)).mean().backward()

    if __name__ == "__main__":
        main()
"""


def test_a_loader_whose_batches_another_file_moves_through_a_helper_is_found(tmp_path: Path) -> None:
    findings = lint(tmp_path, "TL202", "TL401", feed=LOADERS, main=USES)
    assert [(Path(f.path).name, f.rule) for f in findings] == [("feed.py", "TL401"), ("main.py", "TL202")]
    assert "main.py, line 6" in findings[0].message


def test_batches_that_are_converted_first_say_nothing_about_their_loader(tmp_path: Path) -> None:
    assert lint(tmp_path, "TL401", feed=LOADERS, main=USES.replace("put(x, device)", "put(x.double(), device)")) == []


def phases(**files: str) -> set[tuple[str, str, bool]]:
    """The line that of each event in a step, as written; the phase; and whether it is assumed."""
    contents = {f"{name}.py": dedent(text).encode() for name, text in files.items()}
    found = [event for event in events(contents) if event.phase != "none" and not event.rare]
    return {(contents[e.path].decode().splitlines()[e.line - 1].strip(), e.phase, e.assumed) for e in found}


def test_a_branch_that_ends_the_program_is_rare() -> None:
    step = SETUP + STEP + "        if check(loss):\n            print(loss.item())\n            raise_or_exit()\n"
    read = ("print(loss.item())", "training", False)
    assert read in phases(train=step)
    assert read not in phases(train=step.replace("raise_or_exit()", "sys.exit(1)"))


def test_tensors_are_made_on_a_default_device_that_the_project_sets() -> None:
    step = SETUP + STEP + "        out = out + torch.zeros(4).to(device)\n"
    copy = ("out = out + torch.zeros(4).to(device)", "training", False)
    assert copy in phases(train=step)
    assert copy not in phases(train=step, other="import torch, train\ntorch.set_default_device('cuda')\n")


DECODE = """
    import torch

    {decorator}
    def decode(self, ids: torch.LongTensor):
        ids = ids.cuda()
        for _ in range(100):
            ids = self(ids)
            print(ids.argmax().item())
"""


def test_a_function_that_a_program_puts_into_a_library_is_followed() -> None:
    patch = "import somewhere\nfrom decoding import decode\nsomewhere.Mixin.sample = decode\nsomewhere.run()\n"
    read = ("print(ids.argmax().item())", "inference", False)
    assert read in phases(decoding=DECODE.format(decorator=""), main=patch)
    assert read not in phases(decoding=DECODE.format(decorator=""))


def test_what_computes_without_gradients_in_a_loop_is_followed_although_nothing_calls_it() -> None:
    main = "import decoding\nprint(1)\n"
    read = ("print(ids.argmax().item())", "inference", False)
    assert read in phases(decoding=DECODE.format(decorator="@torch.no_grad()"), main=main)
    assert read not in phases(decoding=DECODE.format(decorator=""), main=main)


TEST_NAMED = """
import torch
from net import U2NET, normalized

{more}def main():
    net = U2NET().cuda()
    with torch.no_grad():
        for image in torch.utils.data.DataLoader(images, batch_size=1):
            print(normalized(net(image.cuda())))

if __name__ == "__main__":
    main()
"""
NET = """
import torch
from torch import nn

class U2NET(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3)

    def forward(self, x):
        return self.conv(x)

def normalized(d):
    return (d / d.max()).item()
"""


@pytest.mark.parametrize(
    ("more", "count"), [("def test_net():\n    assert U2NET()\n\n", 0), ("", 1), ("def test(net):\n    net()\n\n", 1)]
)
def test_a_program_that_is_named_like_a_test_is_followed(tmp_path: Path, more: str, count: int) -> None:
    findings = lint(tmp_path, "TL301", u2net_test=TEST_NAMED.format(more=more), net=NET)
    assert len(findings) == count


LENGTHS = """
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")

def moved(batch):
    if len(batch) == 3:
        x, y, lengths = batch
        print(lengths.to(device).max().item())
        return x.to(device), y.to(device)
    if len(batch) == 2:
        x, y = batch
        print(x.to(device).max().item())
        return x.to(device), y.to(device)

def main(model=torch.nn.Linear(4, 4).to(device)):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader({dataset}, batch_size=8, pin_memory=True):
        x, y = moved(batch)
        (model(x) - y).mean().backward()
        optimizer.step()

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("unknown()", [(10, "for batches of a certain length"), (14, "for batches of a certain length")]),
        ("torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randn(8, 4))", [(14, None)]),
        ("torch.utils.data.TensorDataset(torch.randn(8), torch.randn(8), torch.ones(8))", [(10, None)]),
    ],
)
def test_a_mode_that_the_length_of_a_batch_decides_is_open(dataset: str, expected: list[tuple[int, str]]) -> None:
    happened = events({"train.py": LENGTHS.replace("{dataset}", dataset).encode()})
    assert [(event.line, event.option) for event in happened if event.kind == "read"] == expected


FLAGGED = """
import torch
from common import step

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4):
    step(model, x.cuda(), optimizer{passed})
"""
FLAG_OF_CALLER = """
def step(model, x, optimizer, report=False):
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    if report:
        print(loss.item())
"""


@pytest.mark.parametrize(("passed", "expected"), [("", []), (", report=False", []), (", report=True", ["warning"])])
def test_a_flag_of_the_caller_decides_what_a_step_does(tmp_path: Path, passed: str, expected: list[str]) -> None:
    found = lint(tmp_path, "TL301", train=FLAGGED.replace("{passed}", passed), common=FLAG_OF_CALLER)
    assert [f.severity.value for f in found if f.severity.value == "warning"] == expected


CHOSEN = """
import argparse
import torch
from torch import nn

class Reading(nn.Module):
    def forward(self, x):
        print(x.sum().item())
        return x

class Quiet(nn.Module):
    def forward(self, x):
        return x

parser = argparse.ArgumentParser()
parser.add_argument("--kind", type=int, default={default})
args = parser.parse_args()
layer = Reading() if args.kind == 1 else Quiet()
layers = nn.ModuleList()
if args.kind == 1:
    layers.append(Reading())
else:
    layers.append(Quiet())
model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4):
    out = model(x.cuda())
    for each in layers:
        out = each(out)
    out.mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("default", "option"), [("0", "--kind"), ("1", None)])
def test_an_object_that_an_option_makes_is_used_only_with_it(default: str, option: str | None) -> None:
    happened = events({"train.py": CHOSEN.replace("{default}", default).encode()})
    assert [event.option for event in happened if event.kind == "read"] == [option]

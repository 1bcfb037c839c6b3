"""Steps across files: what a training loop calls in another file runs in every step, with tensors on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found, run, write
from torchlint.config.config import Config
from torchlint.model import RunResult
from torchlint.run import session
from torchlint.run.cache import Cache

TRAIN = """
    import torch
    from pkg.losses import Criterion, log_losses
    from pkg.optim import Clipped

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def main(model, loader):
        model.to(device)
        criterion = Criterion()
        optimizer = Clipped(model.parameters(), lr=0.1)
        for x, y in loader:
            out = model(x.to(device))
            loss = criterion(out, y.to(device))
            loss.backward()
            optimizer.step()
            log_losses({"loss": loss})

    main(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")))
"""
LOSSES = """
    import torch
    from torch import nn

    class Criterion(nn.Module):
        def forward(self, outputs, targets):
            loss = (outputs - targets).pow(2).mean()
            self.last = loss.item()
            return loss

    def log_losses(losses):
        for name, value in losses.items():
            print(name, value.item())

    def never_called(losses):
        for name, value in losses.items():
            print(name, value.item())
"""
OPTIMIZER = """
    import torch

    class Clipped(torch.optim.Optimizer):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    norm = p.grad.norm().item()
                    p.data.add_(p.grad, alpha=-group["lr"] / norm)
"""
STRATEGY = """
    class Strategy:
        def __call__(self, model, inputs, outputs):
            total = 0
            for _ in range(3):
                loss = self.loss_function(model(inputs), outputs)
                loss.backward()
                total += loss.item()
            return total
"""
EVALUATE = """
    import torch
    from pkg.losses import log_losses

    def evaluate(model, loader, device):
        model.to(device)
        with torch.no_grad():
            for x in loader:
                log_losses({"loss": model(x.to(device)).mean()})

    evaluate(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")), "cuda")
"""
FILES = {"pkg/__init__.py": "", "pkg/losses.py": LOSSES, "pkg/optim.py": OPTIMIZER}


def places(folder: Path, files: dict[str, str], *rules: str) -> list[tuple[str, int, str]]:
    findings = found(folder, files, *rules)
    return [(Path(f.path).name, f.span.line, f.severity.value) for f in findings if "train" not in f.path]


def test_functions_that_no_file_calls_in_a_step_are_silent(tmp_path: Path) -> None:
    assert places(tmp_path, FILES, "TL3") == []


def test_functions_and_modules_that_a_training_loop_calls_run_in_every_step(tmp_path: Path) -> None:
    expected = [("losses.py", 8, "warning"), ("losses.py", 13, "warning"), ("optim.py", 8, "warning")]
    assert places(tmp_path, {**FILES, "train.py": TRAIN}, "TL3") == expected


@pytest.mark.parametrize(
    "logging",
    [
        "if step % 100 == 0:\n                log_losses({'loss': loss})",
        "log(step, loss)\n\n    def log(step, x):\n        if step % 100 == 0:\n            log_losses({'loss': x})",
    ],
)
def test_functions_that_are_called_only_every_hundred_steps_are_silent(tmp_path: Path, logging: str) -> None:
    train = TRAIN.replace("for x, y in loader", "for step, (x, y) in enumerate(loader)")
    files = {**FILES, "train.py": train.replace('log_losses({"loss": loss})', logging)}
    assert ("losses.py", 13, "warning") not in places(tmp_path, files, "TL301")
    assert ("losses.py", 8, "warning") in places(tmp_path, files, "TL301")


@pytest.mark.parametrize(("guard", "expected"), [("step % 100 == 0", False), ("loss is not None", True)])
def test_methods_that_usually_run_in_every_step_count_as_often_as_the_program_calls_them(
    tmp_path: Path, guard: str, expected: bool
) -> None:
    probe = """
        class Probe:
            def compute_loss(self, loss):
                return loss.cuda().sum().item()
    """
    call = f"if {guard}:\n                Probe().compute_loss(loss)"
    train = TRAIN.replace("for x, y in loader", "for step, (x, y) in enumerate(loader)")
    train = train.replace('log_losses({"loss": loss})', call).replace(
        "import torch\n", "import torch\n    from pkg.probe import Probe\n", 1
    )
    found = places(tmp_path, {**FILES, "pkg/probe.py": probe, "train.py": train}, "TL301")
    assert any(name == "probe.py" for name, *_ in found) is expected


def test_what_only_evaluations_call_is_a_note(tmp_path: Path) -> None:
    found = places(tmp_path, {**FILES, "check.py": EVALUATE}, "TL301")
    assert ("losses.py", 13, "info") in found
    assert {severity for *_, severity in found} == {"info"}


def test_a_file_without_any_sign_of_a_device_is_named_until_the_project_shows_one(tmp_path: Path) -> None:
    alone = write(tmp_path / "alone", {"strategy.py": STRATEGY})
    assert run(alone).without_device == tuple(alone)
    assert run(write(tmp_path / "whole", {"strategy.py": STRATEGY, "train.py": TRAIN})).without_device == ()


@pytest.mark.parametrize("program", ["def main(model, loader):", "class Trainer:\n    def main(self, model, loader):"])
def test_a_program_without_a_device_trains_on_the_cpu_whatever_its_neighbors_do(tmp_path: Path, program: str) -> None:
    indent = "        " if program.startswith("class") else "    "
    body = f"{indent}for x in loader:\n{indent}    loss = model(x).mean()\n{indent}    loss.backward()\n"
    text = f"{program}\n{body}{indent}    print(loss.item())\n\n\nif __name__ == '__main__':\n    print(main)\n"
    names = {name for name, *_ in places(tmp_path, {**FILES, "train.py": TRAIN, "plain.py": text}, "TL301")}
    assert names == {"losses.py", "optim.py"}


DEEP = """
    import torch
    from pkg.middle import relay

    def main(model, loader, device):
        model.to(device)
        {around}for x in loader:
            loss = model(x.to(device)).mean()
            {backward}
            relay("loss", loss)

    main(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")), "cuda")
"""
MIDDLE = """
    from pkg.more import further

    def relay(name, value, again=True):
        further(value, name)

    def beside(value):
        further(value, "beside")
"""
MORE = """
    from pkg import middle, reads

    def further(value, name):
        reads.show(value)
        middle.relay(name, value)
        reads.show_text(name)
"""
READS = """
    def show(value):
        print(value.item())

    def show_text(value):
        print(value.item())

    def never(value):
        print(value.item())
"""
CHAIN = {"pkg/__init__.py": "", "pkg/middle.py": MIDDLE, "pkg/more.py": MORE, "pkg/reads.py": READS}


def test_innocent_chains_that_no_step_begins_are_silent(tmp_path: Path) -> None:
    start = "from pkg.middle import relay\n\ndef main(loss):\n    relay('loss', loss)\n"
    assert places(tmp_path, {**CHAIN, "train.py": start}, "TL3") == []


@pytest.mark.parametrize(
    ("around", "backward", "severity"),
    [("", "loss.backward()", "warning"), ("with torch.no_grad():\n         ", "pass", "info")],
)
def test_what_runs_in_every_step_is_followed_through_several_files(
    tmp_path: Path, around: str, backward: str, severity: str
) -> None:
    train = DEEP.format(around=around, backward=backward)
    assert places(tmp_path, {**CHAIN, "train.py": train}, "TL3") == [("reads.py", 3, severity)]


def test_a_cached_run_follows_the_same_calls(tmp_path: Path) -> None:
    train = DEEP.format(around="", backward="loss.backward()")
    paths = write(tmp_path, {**CHAIN, "train.py": train})
    first = run_with_cache(tmp_path, paths)
    assert [(Path(f.path).name, f.span.line) for f in first.findings] == [("reads.py", 3)]
    warm = run_with_cache(tmp_path, paths)
    assert warm.findings == first.findings
    Path(paths[-1]).write_text("import torch\n", encoding="utf-8")
    assert not run_with_cache(tmp_path, paths).findings


def run_with_cache(folder: Path, paths: list[str], rule: str = "TL301") -> RunResult:
    cache = Cache(folder, "test")
    return session.run(paths, session.plan(Config(select=(rule,), root=str(folder))), jobs=1, cache=cache)


MIXIN = """
    class LogMixin:
        def _log(self, loss):
            print(loss.item())

    class Base:
        def _start(self, loss):
            print(loss.item())
"""
TRAINER = """
    import torch
    from mixins import Base, LogMixin

    class Trainer(Base, LogMixin):
        def fit(self, model, loader, device):
            model.to(device)
            for x in loader:
                loss = model(x.to(device)).mean()
                loss.backward()
                {call}

    Trainer().fit(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")), "cuda")
"""


@pytest.mark.parametrize(
    ("call", "lines"), [("self._log(loss)", [4]), ("self._missing(loss)", []), ("loss._log(loss)", [])]
)
def test_methods_of_a_mixin_in_another_file_run_in_every_step(tmp_path: Path, call: str, lines: list[int]) -> None:
    files = {"mixins.py": MIXIN, "train.py": TRAINER.format(call=call)}
    assert places(tmp_path, files, "TL301") == [("mixins.py", line, "warning") for line in lines]


PASSED = """
    def fit(model, loader, meter, device):
        model.to(device)
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            meter.add(loss)
"""


@pytest.mark.parametrize("name", ["2 train.py", "(1) train.py", "train (copy).x.py"])
def test_names_of_files_may_have_spaces_and_brackets(tmp_path: Path, name: str) -> None:
    assert places(tmp_path, {name: PASSED, "meter.py": READS}, "TL301") == []

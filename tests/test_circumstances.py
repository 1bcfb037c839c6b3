"""Circumstances: what a normal run hardly gets to is an info, and the message says why."""

from __future__ import annotations

import re
import textwrap

import pytest

import torchlint
from torchlint.model import Finding

PROGRAM = """
import argparse
import torch
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--log-norms", action="store_true")
parser.add_argument("--clip", type=float)
parser.add_argument("--mode", default="fast")
parser.add_argument("--use-gpu", action="store_true")
parser.add_argument("--quiet", action="store_true")
parser.add_argument("--every", default=10)
args = parser.parse_args()
"""


CIRCUMSTANCE = re.compile(r"\((?:only|nothing) [^)]*\)$")


def lint(code: str, rule: str) -> list[Finding]:
    return [
        finding for finding in torchlint.lint_source(PROGRAM + textwrap.dedent(code)).findings if finding.rule == rule
    ]


def findings(code: str) -> list[tuple[str, str]]:
    """The severity of each finding of TL301, and the circumstance in its message."""
    found = lint(code, "TL301")
    return [(f.severity.name.lower(), (CIRCUMSTANCE.search(f.message) or [""])[0].strip("()")) for f in found]


def step(*lines: str, signature: str = "model, loader, optimizer", after: str = "") -> str:
    """A training step with further lines after the backward pass."""
    body = ["loss = model(x.cuda()).mean()", "loss.backward()", *lines, "optimizer.step()"]
    loop = "".join(f"        {line}\n" for line in body)
    return f"def train({signature}):\n    for x, y in loader:\n{loop}{after}"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("args.log_norms", "only with `--log-norms`"),
        ("args.clip is not None", "only with `--clip`"),
        ("args.log_norms and loss.dim() == 0", "only with `--log-norms`"),
        ("args.mode == 'slow'", "only with `--mode slow`"),
    ],
)
def test_what_an_option_switches_on_that_is_off_is_an_info(condition: str, words: str) -> None:
    assert findings(step(f"if {condition}: log(loss.item())")) == [("info", words)]


@pytest.mark.parametrize(
    "condition",
    [
        "args.use_gpu",
        "not args.quiet",
        "args.mode == 'fast'",
        "args.every",
        "args.log_norms or x.any_condition",
        "other",
    ],
)
def test_what_is_on_by_default_or_selects_the_accelerator_stays_a_warning(condition: str) -> None:
    assert findings(step(f"if {condition}: log(loss.item())")) == [("warning", "")]


def test_a_read_that_always_runs_keeps_the_finding_of_its_step_a_warning() -> None:
    found = findings(step("if args.log_norms: log(loss.item())", "log(float(loss))"))
    assert found == [("info", "only with `--log-norms`"), ("warning", "")]


def test_a_parameter_that_nothing_passes_is_an_option_that_is_off() -> None:
    given = "model, loader, optimizer, trace=False"
    assert findings(step("if trace: log(loss.item())", signature=given)) == [("info", "only with `trace`")]


@pytest.mark.parametrize("call", ["train(m, l, o, True)", "train(m, l, o, trace=chosen)", "train(*everything)"])
def test_a_parameter_that_a_call_passes_is_not_known_to_be_off(call: str) -> None:
    given = "model, loader, optimizer, trace=False"
    assert findings(step("if trace: log(loss.item())", signature=given, after=call)) == [("warning", "")]


def test_an_attribute_that_keeps_such_a_parameter_is_off_too() -> None:
    code = """
    class Trainer:
        def __init__(self, model, trace=False):
            self.model, self.trace = model, trace
            self.log_norm = trace

        def train(self, loader, optimizer):
            for x, y in loader:
                loss = self.model(x.cuda()).mean()
                loss.backward()
                if self.log_norm:
                    log(loss.item())
                optimizer.step()
    """
    assert findings(code) == [("info", "only with `trace`")]


def test_an_option_that_chooses_whether_to_train_is_no_extra_of_the_step() -> None:
    code = """
    def run(model, loader, optimizer, training=False):
        for x, y in loader:
            loss = model(x.cuda()).mean()
            if training:
                loss.backward()
                optimizer.step()
            if training:
                log(loss.item())
    """
    assert [severity for severity, _ in findings(code)] == ["warning"]


def test_an_option_for_the_whole_work_of_the_program_counts_as_given() -> None:
    assert findings(step("log(loss.item())", after="if args.log_norms:\n    train(m, l, o)")) == [("warning", "")]


def test_the_option_around_the_call_of_a_helper_holds_in_the_helper() -> None:
    helper = "def report(loss):\n    log(loss.item())\n"
    assert findings(step("if args.log_norms: report(loss)", after=helper)) == [("info", "only with `--log-norms`")]
    assert findings(step("report(loss)", "if args.log_norms: report(loss)", after=helper)) == [("warning", "")]


PRIVATE = step("log(loss.item())").replace("def train", "def _train")


@pytest.mark.xfail(strict=True, reason="private functions that nothing calls are followed like public ones")
def test_functions_that_nothing_calls_are_infos() -> None:
    ((severity, _),) = findings(PRIVATE)
    assert severity == "info"


def test_private_functions_that_something_uses_stay_warnings() -> None:
    assert findings(PRIVATE + "_train(m, l, o)") == [("warning", "")]
    assert findings(PRIVATE + "REGISTRY = {'train': _train}") == [("warning", "")]


def test_a_blocking_copy_of_an_evaluation_is_an_info() -> None:
    code = """
    @torch.no_grad()
    def evaluate(model, dataset):
        for x, y in DataLoader(dataset, pin_memory=True, num_workers=4):
            show(model(x.cuda()))
    """
    (found,) = lint(code, "TL202")
    assert found.severity.name == "INFO" and "in every step" in found.message
    assert "training" not in found.message

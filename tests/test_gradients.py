"""Evaluations that autograd records, found by following programs through several files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint.config.config import Config
from torchlint.run import session

MAIN = """
    import torch
    from torch.utils.data import DataLoader
    from tracking import Tracker

    def main():
        model = torch.nn.Sequential(torch.nn.Linear(8, 8)).to("cuda")
        {mode}
        tracker = Tracker(model)
        for frame in DataLoader(torch.zeros(32, 8)):
            {step}

    if __name__ == "__main__":
        main()
"""
TRACKING = """
    import torch

    class Tracker:
        def __init__(self, model):
            self.model = model

        {decorator}
        def track(self, frame):
            {before}
            return {call}(frame)
"""
TRACKED = "tracker.track(frame.cuda())"


def found(
    folder: Path,
    step: str = TRACKED,
    decorator: str = "# as it is",
    before: str = "pass",
    mode: str = "model.eval()",
    call: str = "self.model",
) -> list[str]:
    """Where a program and a class in another file call a model that autograd records."""
    for name, text in (
        ("main", MAIN.format(step=step, mode=mode)),
        ("tracking", TRACKING.format(decorator=decorator, before=before, call=call)),
    ):
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    paths = sorted(map(str, folder.glob("*.py")))
    result = session.run(paths, session.plan(Config(select=("TL806",))))
    return [Path(finding.path).name for finding in result.findings]


def test_a_model_that_another_file_puts_into_evaluation_mode(tmp_path: Path) -> None:
    assert found(tmp_path) == ["tracking.py"]


@pytest.mark.parametrize("given", [{"mode": "pass"}, {"call": "self.model.forward"}], ids=str)
def test_a_model_that_nothing_puts_into_training_mode(tmp_path: Path, given: dict[str, str]) -> None:
    assert found(tmp_path, **given) == ["tracking.py"]


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "model.train()"},
        {"step": f"with torch.no_grad(): {TRACKED}"},
        {"step": f"with torch.inference_mode(), torch.autocast('cuda'): {TRACKED}"},
        {"step": f"with torch.set_grad_enabled(False): {TRACKED}"},
        {"decorator": "@torch.no_grad()"},
        {"decorator": "@torch.inference_mode()"},
        {"before": "torch.set_grad_enabled(False)"},
        {"before": "self.model.train()"},
        {"step": f"{TRACKED}.sum().backward()"},
        {"step": "torch.autograd.grad(tracker.track(frame.cuda()).sum(), frame)"},
        {"before": "for each in self.model.parameters(): each.requires_grad = False"},
    ],
    ids=lambda given: next(iter(given.values()))[:40],
)
def test_what_switches_autograd_off_or_needs_it_is_silent(tmp_path: Path, given: dict[str, str]) -> None:
    assert not found(tmp_path, **given)


@pytest.mark.parametrize("context", ["torch.autocast('cuda')", "open('log.txt')", "torch.enable_grad()"])
def test_other_contexts_leave_autograd_on(tmp_path: Path, context: str) -> None:
    assert found(tmp_path, step=f"with {context}: {TRACKED}") == ["tracking.py"]


def test_a_loss_of_results_without_a_graph_is_silent(tmp_path: Path) -> None:
    step = f"with torch.no_grad(): out = {TRACKED}\n            torch.nn.CrossEntropyLoss()(out, out)"
    assert not found(tmp_path, step=step)


def test_a_method_that_gets_no_object_of_its_class_is_followed(tmp_path: Path) -> None:
    assert found(tmp_path, step=f"{TRACKED}; Tracker.track(3, frame)") == ["tracking.py"]


def test_the_first_call_in_each_loop_is_reported(tmp_path: Path) -> None:
    step = "model(frame.cuda()); model(frame.cuda())\n        for other in [frame]: model(other.cuda())"
    assert found(tmp_path, step=step) == ["main.py", "main.py"]

"""What becomes of a value that is read decides what to do about it, and whether it costs a warning."""

from __future__ import annotations

import pytest

from torchlint.config.config import Config
from torchlint.model import Finding, Severity
from torchlint.run.session import plan

READS = plan(Config(select=("TL301",)))
HEAD = """import math
import torch
import cv2
import numpy as np
from matplotlib import pyplot as plt
from torch import nn
from torch.utils.data import DataLoader
from torchvision.utils import save_image

class Trainer:
    def fit(self, model: nn.Module, loader: DataLoader, optimizer, device, env, report, shown):
        model.cuda()
        history, action = [], None
        for x, y in loader:
            out = model(x.cuda())
            loss = out.mean()
            loss.backward()
            optimizer.step()
"""


def finding(*body: str) -> Finding:
    """The only finding about reads in a training loop that ends with these lines."""
    text = HEAD + "".join(f"            {line}\n" for line in body)
    (found,) = READS.lint(text.encode(), "x.py").findings
    return found


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (["print(loss.item())"], "accumulate on the device"),
        (["value = float(loss)", "report.info('%.3f' % value)"], "accumulate on the device"),
        (["history.append({'loss': round(loss.item(), 3)})"], "accumulate on the device"),
        (["self.last = loss.item()"], "accumulate on the device"),
        (["def last(): return loss.item()", "report(last())"], "return the tensor itself"),
        (["rows = [0] * int(out.argmax())"], "compute this size on the host"),
        (["end = int(out.argmax())", "x = x[:end]"], "compute this size on the host"),
        (["n = out.argmax().item()", "for _ in range(n): pass"], "compute this size on the host"),
        (["z = torch.zeros(out.argmax().item())"], "compute this size on the host"),
        (["name = shown[out.argmax().item()]"], "index with the tensor itself"),
        (["n = (y.cuda() > 0).sum().item()", "if n > 3: loss = loss * 2"], "choose on the device"),
        (["weight = torch.tensor(loss.item(), device=device)"], "it goes back to the device"),
        (["back = out.cpu().numpy()", "back = torch.from_numpy(np.clip(back, 0, 1)).cuda()"], "it goes back"),
        (["loss.item()"], "nothing uses the result"),
        (["value = loss.item()", "value = 3"], "nothing uses the result"),
        (["report(out.cpu())"], "keep it on the device, or compute it on the host"),
        (["report(cv2.resize(out.cpu().numpy(), (64, 64)))"], "keep it on the device, or compute it on the host"),
    ],
)
def test_a_warning_says_what_fits_what_the_value_is_for(body: list[str], advice: str) -> None:
    found = finding(*body)
    assert advice in found.message
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (["value = loss.item()", "if not math.isfinite(value): raise ValueError"], "check every N steps"),
        (["value = loss.item()", "print(value)", "assert not math.isnan(value)"], "check every N steps"),
        (["while out.mean().item() > 3: out = out / 2"], "run a fixed number of them"),
        (["if out.argmax().item() == 3: break"], "run a fixed number of them"),
        (["action = out.argmax().item()", "env.step(action)"], "in every training step"),
        (["env.step(out.argmax().item())"], "in every training step"),
        (["save_image(out.cpu(), 'x.png')"], "only drawn"),
        (["axes = plt.subplots()[1]", "axes[0].imshow(out.cpu().numpy())"], "only drawn"),
    ],
)
def test_what_a_step_needs_at_once_is_an_info(body: list[str], advice: str) -> None:
    found = finding(*body)
    assert advice in found.message
    assert found.severity is Severity.INFO


@pytest.mark.parametrize(
    "body",
    [
        ["value = loss.item()", "print(locals())"],
        ["def show(): return value", "value = loss.item()"],
        ["print(history[-1:], self.__dict__, value)", "value = loss.item()"],
        ["for value in loss.tolist(): report(value)"],
        ["global value", "value = loss.item()"],
    ],
)
def test_a_value_that_something_may_use_is_not_said_to_be_unused(body: list[str]) -> None:
    assert "nothing uses" not in finding(*body).message


def test_reads_about_which_the_same_is_to_be_done_are_one_finding() -> None:
    reads = ("print(loss.item())", "print(out.sum().item())", "print(float(out.max()))")
    found = finding(reads[0], "out = model(out)", reads[1], "out = model(out)", reads[2])
    assert "(3 such waits)" in found.message
    assert [one.line for one in found.evidence if not one.context] == [21, 23]


def test_reads_of_which_one_is_needed_are_told_apart() -> None:
    text = (
        HEAD
        + "            print(loss.item())\n            out = model(out)\n            save_image(out.cpu(), 'x.png')\n"
    )
    found = READS.lint(text.encode(), "x.py").findings
    assert [(one.span.line, one.severity) for one in found] == [(19, Severity.WARNING), (21, Severity.INFO)]


def test_a_read_behind_the_header_of_its_block_is_shown_with_it() -> None:
    found = finding("if loss > 10:", "    print(loss.item())")
    assert (found.span.line, [one.line for one in found.evidence if not one.context]) == (19, [20])

"""What findings say about single reads: what their values are for, and whether the host waits anyway."""

from __future__ import annotations

import pytest

from torchlint.config.config import Config
from torchlint.model import Finding, Severity
from torchlint.run.session import plan

READS = plan(Config(select=("TL301",)))
HEAD = "import torch\nfrom torchvision.utils import save_image\n\ndef train(model, loader, optimizer, device):\n"
LOOP = "    model.cuda()\n    for x in loader:\n"
STEP = ("out = model(x)", "loss = out.mean()", "loss.backward()", "torch.cuda.synchronize()")


def finding(*body: str) -> Finding:
    """The only finding in a training loop with these lines behind a wait, which is on line 10."""
    text = HEAD + LOOP + "".join(f"        {line}\n" for line in (*STEP, *body, "optimizer.step()"))
    (found,) = READS.lint(text.encode(), "x.py").findings
    return found


def notes(*body: str) -> list[str]:
    return [evidence.text for evidence in finding(*body).evidence]


def test_reads_behind_a_wait_are_evidence_of_a_finding_that_another_read_makes() -> None:
    assert notes("print(loss.item())", "print((out * 2).mean().item())") == [
        "`.item()`: the host already waits on line 10, so this costs little",
        "`.item()`, between the backward pass and the optimizer step",
    ]


def test_a_finding_is_at_the_first_read_that_costs_something() -> None:
    found = finding("print(loss.item())", "print((out * 2).mean().item())")
    assert (found.span.line, found.severity) == (12, Severity.WARNING)


def test_reads_that_are_drawn_or_unused_say_so_beside_reads_that_are_neither() -> None:
    assert notes(
        "optimizer.zero_grad()", "save_image(out.cpu(), 'x.png')", "loss.item()", "print(out.sum().item())"
    ) == [
        "`.cpu()`: the value is only drawn, which takes much longer than the wait",
        "`.item()`: nothing uses the result: delete it",
        "`.item()`, between the backward pass and the optimizer step",
    ]


def test_what_runs_several_times_is_not_directly_behind_a_wait() -> None:
    assert finding("print([loss.item() for _ in names])").severity is Severity.WARNING


def test_a_class_may_be_made_of_what_is_read() -> None:
    assert "accumulate" in finding("optimizer.zero_grad()", "class A(loss.item()): pass").message


def test_reads_that_cost_little_for_different_reasons_are_one_info() -> None:
    found = finding("print(loss.item())", "optimizer.zero_grad()", "save_image(out.cpu(), 'x.png')")
    assert (found.severity, found.message.rpartition(": ")[2]) == (Severity.INFO, "each of them costs little")


@pytest.mark.parametrize(
    "between",
    ["pass", "total = 1 + 2", "print('done')", "print(loss.item())", "if x is None: raise ValueError", "words = []"],
)
def test_what_only_the_host_does_may_come_between_a_wait_and_a_read(between: str) -> None:
    assert finding(between, "print(out.detach().cpu())").severity is Severity.INFO


@pytest.mark.parametrize(
    "between",
    [
        "y = out * 2",
        "y = out + x",
        "out += 1",
        "report()",
        "model(x)",
        "y = out[x]",
        "y = -out",
        "with torch.no_grad(): pass",
        "if x is None: model(x)",
        "for _ in range(3): pass",
        "out[0] = 1",
    ],
)
def test_no_work_for_the_device_may_come_between_a_wait_and_a_read(between: str) -> None:
    assert finding(between, "print(out.detach().cpu())").severity is Severity.WARNING

"""Results of functions of other files that a step calls: a read of one is a read of a tensor on the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found, write
from tests.test_project_steps import run_with_cache

HELPERS = """
    import torch
    from torch.nn import functional as F

    def combined(outputs, targets, weight=0.1):
        loss = F.mse_loss(outputs, targets)
        return loss + weight * outputs.abs().mean()

    def parts(outputs, targets):
        loss = (outputs - targets).pow(2).mean()
        return loss, {"reg": outputs.pow(2).mean(), "loss": loss.detach()}

    def with_number(outputs, targets):
        loss = (outputs - targets).pow(2).mean()
        return loss, len(outputs), outputs.shape[0]

    def loss_on_host(outputs):
        return outputs.detach().cpu()

    def either(outputs, names):
        return outputs.mean() if names is None else names

    def to_cpu(outputs, target="cpu"):
        return outputs.to(target)

    def to_device(batch, device):
        if isinstance(batch, dict):
            return {key: to_device(value, device) for key, value in batch.items()}
        if isinstance(batch, (list, tuple)):
            return type(batch)(to_device(value, device) for value in batch)
        if torch.is_tensor(batch):
            return batch.to(device, non_blocking=True)
        return batch

    def count(batch, device):
        if isinstance(batch, dict):
            return {key: count(value, device) for key, value in batch.items()}
        return len(batch)
"""
TRAIN = """
    import torch
    import helpers
    from helpers import *

    def main(model, loader, optimizer, device):
        model.to(device)
        for batch, y in loader:
            x = batch["x"].to(device)
            y = y.to(device)
            out = model(x)
            loss = out.mean()
            loss.backward()
            optimizer.step()
            {line}
            {read}

    model = torch.nn.Linear(3, 2)
    main(model, torch.utils.data.DataLoader(open("data")), torch.optim.SGD(model.parameters()), "cuda")
"""


def reads(folder: Path, line: str, read: str) -> list[str]:
    """The reads that are reported in the training loop."""
    train = TRAIN.format(line=line, read=read)
    findings = found(folder, {"helpers.py": HELPERS, "train.py": train}, "TL301")
    return [f.severity.value for f in findings if f.path.endswith("train.py")]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("_, n, m = helpers.with_number(out, y)", "print(float(n), float(m))"),
        ("t = helpers.loss_on_host(out)", "print(t.item())"),
        ("t = helpers.either(out, batch['names'])", "print(t[0].item())"),
        ("t = helpers.to_cpu(out)", "print(t.item())"),
        ("t = helpers.to_device(batch, 'cpu')", "print(t['x'].sum().item())"),
        ("t = helpers.to_device(batch, torch.device('cpu'))", "print(t['x'].sum().item())"),
        ("t = helpers.count(batch, device)", "print(float(t['x']))"),
    ],
)
def test_innocent_results_are_silent(tmp_path: Path, line: str, read: str) -> None:
    assert reads(tmp_path, line, read) == []


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("t = helpers.combined(out, y)", "print(t.item())"),
        ("t = combined(out, targets=y)", "print(t.item())"),
        ("_, logs = helpers.parts(out, y)", "print(logs['reg'].item())"),
        ("_, logs = helpers.parts(out, y)", "print({k: v.item() for k, v in logs.items()})"),
        ("t, n, _ = helpers.with_number(out, y)", "print(t.item() / n)"),
        ("t = helpers.to_device(batch, device)", "print(t['x'].sum().item())"),
    ],
)
def test_results_on_the_device_are_known_to_the_caller(tmp_path: Path, line: str, read: str) -> None:
    assert reads(tmp_path, line, read) == ["warning"]


def test_a_cached_run_knows_the_same_results(tmp_path: Path) -> None:
    train = TRAIN.format(line="t = helpers.combined(out, y)", read="print(t.item())")
    paths = write(tmp_path, {"helpers.py": HELPERS, "train.py": train})
    first = run_with_cache(tmp_path, paths)
    assert [Path(f.path).name for f in first.findings] == ["train.py"]
    assert run_with_cache(tmp_path, paths).findings == first.findings
    Path(paths[0]).write_text("def combined(outputs, targets):\n    return len(outputs)\n", encoding="utf-8")
    assert not run_with_cache(tmp_path, paths).findings


def test_a_helper_two_calls_below_a_criterion_reads_in_every_step(tmp_path: Path) -> None:
    criterion = """
        from torch import nn
        from reading import average

        class Criterion(nn.Module):
            def forward(self, outputs, targets):
                loss = (outputs - targets).pow(2).mean()
                self.last = average(loss)
                return loss
    """
    reading = "from scalars import as_number\n\ndef average(value):\n    return as_number(value)\n"
    scalars = "def as_number(value):\n    return value.item()\n"
    train = TRAIN.replace("import helpers", "from criteria import Criterion")
    train = train.replace("from helpers import *", "criterion = Criterion()")
    train = train.format(line="t = criterion(out, y)", read="pass")
    files = {"criteria.py": criterion, "reading.py": reading, "scalars.py": scalars, "train.py": train}
    findings = found(tmp_path, files, "TL301")
    assert [(Path(f.path).name, f.span.line, f.severity.value) for f in findings] == [("scalars.py", 2, "warning")]

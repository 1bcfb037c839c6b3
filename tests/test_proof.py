"""What makes a fix safe is proved from the expression: of each pair, only the first is fixed without being asked."""

from __future__ import annotations

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import Safety

CODE = """import math
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Model(torch.nn.Module):
    def forward(self, n, x, rows, dev, frames, model):
        count = len(rows)
        for i in range(count):
            return {expression}
"""
PAIRS = [
    ("TL104", "torch.zeros(n, 3).to(device)", "torch.zeros(n, 3).to(dev)"),
    ("TL104", "torch.zeros(n, 3).to(x.device)", "torch.zeros(n, 3).to(x.dtype_and_device)"),
    ("TL104", "torch.zeros(n, 3).cuda()", "torch.rand(n, 3).cuda()"),
    ("TL104", "torch.ones(n).long().to('cuda')", "torch.full((n,), 0.5).long().to('cuda')"),
    ("TL104", "torch.arange(n).to(device)", "torch.arange(1, n).to(device)"),
    ("TL104", "torch.arange(1, count + 1).to(device)", "torch.arange(x.shape[0], n).to(device)"),
    ("TL104", "torch.zeros(2, 3).t().to(device)", "torch.zeros(1, 3).expand(n, 3).to(device)"),
    ("TL105", "torch.tensor(0.5, device='cuda')", "torch.tensor(n.shape[0], dtype=torch.float16, device='cuda')"),
    ("TL105", "torch.tensor(count, device='cuda')", "torch.tensor(int(n), device='cuda')"),
    ("TL105", "torch.tensor(1, dtype=x.dtype, device='cuda')", "torch.tensor(300, dtype=x.dtype, device='cuda')"),
    ("TL105", "torch.tensor(i, dtype=torch.float32, device='cuda')", "torch.tensor(i, dtype=x.dtype, device='cuda')"),
    ("TL103", "torch.from_numpy(np.ones(count)).cuda()", "torch.from_numpy(np.ones(x.shape)).cuda()"),
    ("TL103", "torch.tensor(np.zeros((count, 3))).cuda()", "torch.tensor(np.zeros((n, 3))).cuda()"),
    ("TL101", "torch.tensor(np.stack(frames))", "torch.tensor(np.asarray(frames[0]) * 2)"),
    ("TL101", "torch.tensor(np.stack(frames)).to(device)", "torch.tensor(np.stack(frames)).float().to(device)"),
]


def safeties(rule: str, text: str) -> set[Safety]:
    """The safeties of the fixes of a rule."""
    findings = lint_source(text, config=Config(select=(rule,))).findings
    assert findings
    return {finding.fix.safety for finding in findings if finding.fix is not None}


@pytest.mark.parametrize(("rule", "proved", "open_"), PAIRS)
def test_only_what_is_proved_is_fixed_without_being_asked(rule: str, proved: str, open_: str) -> None:
    assert safeties(rule, CODE.format(expression=proved)) == {Safety.SAFE}
    assert Safety.SAFE not in safeties(rule, CODE.format(expression=open_))


@pytest.mark.parametrize(
    "around",
    [
        "torch.zeros = print",
        "torch.Tensor.cuda = lambda self: self",
        "class Mine(torch.Tensor): ...",
        "class Mine:\n    def __torch_function__(self): ...",
        "class Mine(np.ndarray): ...",
        "traced = torch.fx.symbolic_trace(Model())",
        "setattr(torch, 'zeros', print)",
        "count_calls(torch, ['zeros'])",
        "for owner in (torch.Tensor, torch.nn.Module):\n    owner.cuda = lambda self: self",
        "scripted = torch.jit.script(Model())",
    ],
)
def test_nothing_is_proved_where_torch_itself_is_changed(around: str) -> None:
    text = CODE.format(expression="torch.zeros(3).cuda()")
    assert safeties("TL104", text) == {Safety.SAFE}
    assert safeties("TL104", f"{text}\n\n{around}\n") == {Safety.UNSAFE}


@pytest.mark.parametrize(
    "stored",
    ["self.device = torch.float16", "self.device = kind", "self.device: torch.dtype = kind"],
)
def test_an_attribute_that_the_file_sets_to_something_else_is_no_device(stored: str) -> None:
    text = CODE.format(expression="torch.zeros(3).to(model.device)")
    assert safeties("TL104", text) == {Safety.SAFE}
    holder = f"\n\nclass Net:\n    def __init__(self, kind):\n        {stored}\n"
    assert safeties("TL104", text + holder) == {Safety.UNSAFE}
    assert safeties("TL104", text + holder.replace(stored, "self.device = torch.device('cpu')")) == {Safety.SAFE}


@pytest.mark.parametrize(
    "defined", ["Like = namedtuple('Like', 'device shape')", "class Like:\n    device = torch.half"]
)
def test_a_class_with_a_device_of_its_own_proves_nothing(defined: str) -> None:
    text = CODE.format(expression="torch.zeros(3).to(model.device)")
    assert safeties("TL104", f"{text}\n\n{defined}\n") == {Safety.UNSAFE}


@pytest.mark.parametrize(("context", "safety"), [("torch.no_grad()", "safe"), ("suppress(RuntimeError)", "unsafe")])
def test_only_contexts_of_torch_handle_no_errors(context: str, safety: str) -> None:
    text = CODE.format(expression="torch.zeros(n).to(device)")
    inside = text.replace("            return", f"            with {context}:\n                return")
    assert safeties("TL104", inside) == {Safety(safety)}


def test_a_name_that_code_in_a_string_may_assign_proves_nothing() -> None:
    text = CODE.format(expression="torch.zeros(3).to(device)")
    assert safeties("TL104", text + "\n\nexec('device = torch.float16')\n") == {Safety.UNSAFE}


def test_a_line_whose_errors_are_handled_is_not_fixed_safely() -> None:
    text = CODE.format(expression="torch.zeros(n).to(device)")
    handled = text.replace("            return", "            try:\n                return").rstrip()
    assert safeties("TL104", f"{handled}\n            except RuntimeError:\n                pass\n") == {Safety.UNSAFE}


def test_a_move_in_the_next_line_is_merged_and_one_further_down_is_not() -> None:
    lines = "h = torch.zeros(3)\n            h = h.to(device)\n            return"
    text = CODE.format(expression="h").replace("return", lines)
    assert safeties("TL104", text) == {Safety.UNSAFE}, "an error of the move left the tensor of the CPU in the variable"
    assert (
        safeties("TL104", text.replace("            h = h.to", "            print(n)\n            h = h.to")) == set()
    )


@pytest.mark.parametrize("line", ["t.resize_(9)", "torch.cat([t, t], out=t)", "t.data = t.float()"])
def test_a_tensor_that_may_be_resized_does_not_get_the_memory_of_an_array(line: str) -> None:
    text = CODE.format(expression="torch.tensor(np.stack(frames))")
    assert safeties("TL101", text) == {Safety.SAFE}
    assert safeties("TL101", f"{text}\n\ndef grow(t):\n    {line}\n") == {Safety.UNSAFE}

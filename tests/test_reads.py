"""Reads in functions that run every step only by their names, or by being called from such functions."""

from __future__ import annotations

import pytest

from torchlint.config.config import Config
from torchlint.run.session import plan

READS = plan(Config(select=("TL301", "TL302")))
LOG = "def log(x):\n    y = x.cuda()\n    return y.sum().item()\n\n"
NET = "class Net(torch.nn.Module):\n"


STEP = "def train(model, loader, optimizer):\n    model.cuda()\n    for x in loader:\n"
LOSS = "        loss = model(x).mean()\n        loss.backward()\n        optimizer.step()\n"


def lines(text: str, *, exhaustive: bool) -> list[int]:
    """Where reads are found."""
    what = READS._replace(exhaustive=exhaustive)
    return [finding.span.line for finding in what.lint(f"import torch\n{text}".encode(), "x.py").findings]


@pytest.mark.parametrize(
    "text",
    [
        NET + "    def forward(self, x):\n        return log(x)\n",
        NET + "    def forward(self, x): return log(x)\n",
        NET + "    def forward(self, x): \\\n        return log(x)\n",
        NET + "    def forward(self, x):\n        return self.more(x)\n    def more(self, x): return log(x)\n",
        NET
        + "    def __getitem__(self, i):\n        def inner():\n            return log(i)\n        return inner()\n",
        "def collate_fn(b): return log(b)\n",
        "if True:\n    class Net(torch.nn.Module):\n        def forward(self, x):\n            return log(x)\n",
        "try:\n    import foo\nexcept ImportError:\n    def collate_fn(b):\n        return log(b)\n",
        "def make():\n    class Net(Base):\n        def forward(self, x):\n            return log(x)\n    return Net\n",
        "if torch:\n    def more(x): return log(x)\n" + NET + "    def forward(self, x):\n        return more(x)\n",
        "def more(x):\n    return log(x)\n" + NET + "    def forward(self, x):\n        return more(x)\n",
    ],
)
@pytest.mark.parametrize("exhaustive", [False, True])
def test_what_such_functions_call_runs_every_step(text: str, exhaustive: bool) -> None:
    assert lines(LOG + text, exhaustive=exhaustive) == [4]


@pytest.mark.parametrize(
    "text",
    [
        NET + "    def backwards(self, x):\n        return log(x)\n",
        NET + "    def forward(self, x):\n        return x + 1\n\ndef main(x):\n    return log(x)\n",
        "def forward(x):\n    return x\n\nfor x in range(3):\n    log(x)\n",
    ],
)
@pytest.mark.parametrize("exhaustive", [False, True])
def test_what_others_call_does_not(text: str, exhaustive: bool) -> None:
    assert lines(LOG + text, exhaustive=exhaustive) == []


@pytest.mark.parametrize("exhaustive", [False, True])
def test_elements_are_read_one_by_one_in_loops_of_any_function(exhaustive: bool) -> None:
    text = (
        "def norms(model):\n    model.cuda()\n    return [p.grad.cuda().norm().item() for p in model.parameters()]\n\n"
        "def rows(x):\n    t = x.cuda()\n    for i in range(len(x)):\n        print(i, float(t[i]))\n"
        "    for row in torch.ones(9, device='cuda'):\n        print(row.item())\n"
        "    for other in names:\n        print(t.sum().item())\n"
    )
    assert lines(text, exhaustive=exhaustive) == [4, 9, 11]


def evidence(text: str) -> list[str]:
    """What is said of the reads of one step, in source order."""
    (finding,) = READS.lint(f"import torch\n{STEP}{LOSS}{text}    return a, b\n".encode(), "x.py").findings
    return [one.text.partition(": ")[2] or one.text.partition(", ")[2] for one in finding.evidence]


AGAIN = "the same value was already read in this step, so this costs little"
AFTER = "after the step"


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("        a = loss.item()\n        b = loss.item()\n", AGAIN),
        ("        a = loss.item()\n        if c:\n            b = loss.item()\n", AGAIN),
        ("        if c:\n            a = loss.item()\n            b = loss.item()\n", AGAIN),
        ("        if c(loss.item()):\n            b = loss.item()\n", AGAIN),
        ("        if c:\n            a = loss.item()\n        else:\n            b = loss.item()\n", AFTER),
        ("        if c:\n            a = loss.item()\n        b = loss.item()\n", AFTER),
        ("        a = loss.item() if c else loss.item() + 1\n", AFTER),
        ("        a = loss.item()\n        loss = loss * 2\n        b = loss.item()\n", AFTER),
        ("        try: f()\n        except E: pass\n        else: a = loss.item()\n        b = loss.item()\n", AFTER),
        ("        match c:\n            case 1: a = loss.item()\n            case _: b = loss.item()\n", AFTER),
    ],
)
def test_a_value_was_read_before_if_every_way_leads_through_another_read_of_it(text: str, second: str) -> None:
    assert evidence(text) == [AFTER, second]


@pytest.mark.parametrize(("read", "bounded"), [("y.sum().item()", False), ("y.cpu()", True), ("y.to('cpu')", True)])
def test_advice_to_keep_whole_outputs_on_the_device_mentions_its_memory(read: str, bounded: bool) -> None:
    loop = f"    for x in loader:\n        y = model(x.cuda())\n        found.append({read})\n"
    text = f"def test(model, loader):\n    model.cuda()\n{loop}"
    (finding,) = READS.lint(f"import torch\n{text}".encode(), "x.py").findings
    assert ("if its memory has room" in finding.message) is bounded

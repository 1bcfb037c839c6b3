"""Reads in functions that run every step only by their names, or by being called from such functions."""

from __future__ import annotations

import pytest

from torchlint.config.config import Config
from torchlint.run.session import plan

READS = plan(Config(select=("TL301", "TL302")))
LOG = "def log(x):\n    y = x.cuda()\n    return y.sum().item()\n\n"
NET = "class Net(torch.nn.Module):\n"


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
        "if True:\n    class Net(torch.nn.Module):\n        def forward(self, x):\n            return log(x)\n",
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

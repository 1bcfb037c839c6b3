"""Code that refers to itself: names, functions and classes in circles end every analysis."""

from __future__ import annotations

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config

HEADER = "import torch, numpy as np\nfrom torch.utils.data import DataLoader\n"


@pytest.mark.parametrize(
    "code",
    [
        "def f(x, c):\n    x = x.float() if c else x\n    x = y if c else x\n    y = x if c else y\n    x(3).cuda()",
        "for i in n:\n    x = a if c else x\n    y = torch.zeros(3).type(x).cuda()",
        "while c:\n    loader = tqdm(loader)\n    for x in loader:\n        x.to(device).item()",
        "loader = enumerate(loader)\nfor i, x in loader:\n    x.cuda().item()",
        "def f():\n    g()\ndef g():\n    f()\n    loss.backward()\nfor i in n:\n    f()\n    loss.cuda().item()",
        "def f(x):\n    return f(x)\nf(torch.zeros(3)).cuda().item()",
        "class A(A):\n    def __init__(self):\n        self.x = self.x\n        self.x.cuda().item()",
        "x = []\nx.append(x)\ntorch.tensor(x)",
        "a, b = b, a\nfor i in n:\n    a += b\n    b += a\n    a.cuda().item()",
        "ok = ok and step % 9\nfor x in loader:\n    if ok:\n        x.cuda().item()",
        "def should(): return should()\nfor x in loader:\n    if should():\n        x.cuda().item()",
        "m = map(lambda v: m, m)\nfor v in m:\n    v.cuda().item()",
        "def one(): two()\ndef two(): one()\none()\ntorch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark",
    ],
)
def test_circles_end(code: str) -> None:
    result = lint_source(HEADER + code + "\n", "circle.py", Config(select=("ALL",), preview=True))
    assert not result.problems

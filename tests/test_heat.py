"""Heat: how often a line runs."""

from __future__ import annotations

import pytest

from tests.analysis_help import find, parse
from torchlint.model import Heat

HEADER = "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(ds)\n"


def heat(code: str) -> Heat:
    module = parse(HEADER + code)
    return module.heat(find(module, "target()"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("target()", Heat.ONCE),
        ("for epoch in range(9):\n    for x in loader:\n        pass\n    target()", Heat.EPOCH),
        ("for x in loader:\n    if i % 100 == 0:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    try:\n        f()\n    except E:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    target()", Heat.STEP),
        ("for i, x in enumerate(tqdm(loader)):\n    target()", Heat.STEP),
        ("def train(train_loader):\n    for x in train_loader:\n        target()", Heat.STEP),
        ("for step in range(100):\n    loss.backward()\n    target()", Heat.STEP),
        ("for x in loader:\n    for p in model.parameters():\n        target()", Heat.ELEMENT),
        ("for x in loader:\n    y = [target() for p in x]", Heat.ELEMENT),
        ("class D:\n    def __getitem__(self, i):\n        target()", Heat.STEP),
        ("def helper():\n    target()\nfor x in loader:\n    helper()", Heat.STEP),
        ("def helper():\n    target()\nhelper()", Heat.ONCE),
    ],
)
def test_heat_follows_loops_guards_and_calls(code: str, expected: Heat) -> None:
    assert heat(code) is expected

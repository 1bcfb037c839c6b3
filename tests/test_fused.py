"""TL603 depends on the version of torch: the fused update works on the CPU since 2.4, and for AdamW since 2.0."""

from __future__ import annotations

import pytest

from torchlint.config.config import Config
from torchlint.run import session

VARIABLE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def findings(optimizer: str, device: str, target: str | None) -> int:
    code = (
        f"import torch\nmodel = torch.nn.Linear(8, 8).to({device})\n"
        f"optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)\n"
    )
    plan = session.plan(Config(select=("TL603",), target_torch=target))
    return len(plan.analyze(code.encode(), "train.py").result.findings)


@pytest.mark.parametrize(
    ("optimizer", "device", "target"),
    [("Adam", VARIABLE, "2.3"), ("AdamW", '"cuda"', "1.13"), ("Adam", '"cuda"', "1.12")],
)
def test_a_version_without_the_fused_update_is_not_advised_to_use_it(optimizer: str, device: str, target: str) -> None:
    assert findings(optimizer, device, target) == 0


@pytest.mark.parametrize(
    ("optimizer", "device", "target"),
    [("Adam", VARIABLE, None), ("Adam", VARIABLE, "2.4"), ("AdamW", '"cuda"', "2.0"), ("Adam", '"cuda"', "1.13")],
)
def test_a_version_with_it_is(optimizer: str, device: str, target: str | None) -> None:
    assert findings(optimizer, device, target) == 1

"""Dead flags: only flags of the torch that a project supports are suggested."""

from __future__ import annotations

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config


@pytest.mark.parametrize(
    ("target", "suggested"), [(None, True), ("2.9", True), ("2.4", False)], ids=["unknown", "newer", "older"]
)
def test_a_near_miss_names_a_flag_of_the_oldest_version(target: str | None, suggested: bool) -> None:
    source = 'import torch\ntorch.backends.cudnn.fp32_precison = "tf32"\n'
    findings = lint_source(source, "a.py", Config(select=("TL507",), target_torch=target)).findings
    assert ("did you mean `torch.backends.cudnn.fp32_precision`" in findings[0].message) is suggested

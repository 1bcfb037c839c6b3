"""Code that names CUDA is rewritten only where the project asks for it, and never in default arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git_help import isolate
from torchlint.api import fix_source, lint_source
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.config.select import is_named
from torchlint.run.rules import registry

TEXT = """\
import torch


def build(n):
    return torch.nn.Linear(n, 2).cuda(), torch.zeros(n).cuda()
"""
PORTABLE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build(n):
    return torch.nn.Linear(n, 2).to(device), torch.zeros(n, device=device)
"""
KEPT = TEXT.replace("torch.zeros(n).cuda()", 'torch.zeros(n, device="cuda")')
OPTION = {"hardcoded-cuda": {"portable": True}}


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(select=("ALL",)),
        Config(select=("TL",), preview=True),
        Config(select=("training",)),
        Config(extend_select=("TL2",)),
    ],
)
def test_all_fixes_of_a_run_that_does_not_name_the_rule_leave_cuda_alone(config: Config) -> None:
    assert fix_source(TEXT, config=config, unsafe=True).decode() == KEPT


@pytest.mark.parametrize(
    "config",
    [
        Config(rules=OPTION),
        *(Config(extend_select=(one,)) for one in ("TL701", "TL70", "TL7", "hardcoded-cuda", "portability")),
        Config(select=("TL1", "TL701")),
        Config(extended=Config(extend_select=("TL701",))),
    ],
)
@pytest.mark.parametrize("first", ["TL1", "TL7"])
def test_a_project_that_asks_for_it_gets_a_device_that_falls_back(config: Config, first: str) -> None:
    assert fix_source(TEXT, config=config, unsafe=True).decode() == PORTABLE
    assert fix_source(TEXT, config=config).decode() == KEPT
    after_one = fix_source(TEXT, config=Config(select=(first,)), unsafe=True)
    assert fix_source(after_one, config=config, unsafe=True).decode() == PORTABLE


def test_the_command_line_may_ask_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    monkeypatch.chdir(tmp_path)
    given = ["--isolated", "--no-cache", "--quiet", "--fix", "--unsafe-fixes", "build.py"]
    for more, expected in (([], KEPT), (["--extend-select", "TL701"], PORTABLE)):
        Path("build.py").write_text(TEXT, encoding="utf-8")
        main([*given, *more])
        assert Path("build.py").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    "definition",
    [
        'def run(x, device="cuda"):\n    return x.to(device)\n',
        'def run(x, *, device=torch.device("cuda")):\n    return x.to(device)\n',
        "def run(x=torch.zeros(3).cuda()):\n    return x\n",
        'run = lambda x, device="cuda": x.to(device)\n',
        (
            "import dataclasses\n\n\n@dataclasses.dataclass\nclass Run:\n    device: str = 'cuda'\n\n"
            "    def go(self, x):\n        return x.to(self.device)\n"
        ),
    ],
)
def test_a_default_argument_is_left(definition: str) -> None:
    config = Config(select=("TL701",), rules=OPTION)
    text = f"import torch\n\n\n{definition}"
    assert [finding.fix for finding in lint_source(text, config=config).findings] == [None]


def test_a_rule_is_named_by_its_id_name_topic_or_a_prefix_with_digits() -> None:
    named = [
        rule.id for rule in registry.core() if is_named(rule, Config(select=("TL30", "loading", "blocking-transfer")))
    ]
    assert {one[:3] for one in named} == {"TL2", "TL3", "TL4"}
    assert [one for one in named if one.startswith("TL2")] == ["TL202"]

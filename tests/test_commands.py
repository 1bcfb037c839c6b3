"""Commands: functions that a command line calls, by decorators or as the scripts that a project declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.run import session

COMMON = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(rows, log=False):
    model = nn.Linear(32, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(rows, 32), torch.randn(rows, 1))
    for x, y in DataLoader(data, batch_size=64, pin_memory=True):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if log:
            print(loss.item())


def warm_up():
    model = nn.Linear(32, 1).to(device)
    for _ in range(3):
        model(torch.randn(4, 32, device=device)).sum().backward()
"""
MAIN = """
if __name__ == "__main__":
    warm_up()
"""
TYPER = "import typer\nfrom common import fit, warm_up\napp = typer.Typer()\n"
CLICK = "import click\nfrom common import fit, warm_up\n"
GROUP = CLICK + "@click.group()\ndef cli(): ...\n"
PLAIN = "from common import fit, warm_up\ndef train(rows=3):\n    fit(rows, True)\ndef main(): train()\n"
UNREACHED = "info in programs that call this, only with `log`"  # the default of the function decides


def told(folder: Path, program: str, **files: str) -> str:
    """Severity and reason of what is said of the read of the loss."""
    files = {"common_py": COMMON, "program_py": program, "torchlint_toml": 'select = ["TL301"]\n', **files}
    for name, text in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text, encoding="utf-8")
    plan = session.plan_of(Configurations(str(folder)))
    (finding,) = session.run(sorted(map(str, folder.glob("*.py"))), plan).findings
    reason = ", ".join(re.findall(r"\(((?:only|in programs) [^)]*)\)", finding.message))
    return f"{finding.severity.value} {reason}".strip()


@pytest.mark.parametrize(
    "program",
    [
        CLICK + "def train():\n    fit(3, True)\n" + MAIN,  # nothing makes a command of it
        TYPER + "def train():\n    fit(3, True)\n" + MAIN + "    app()\n",
        "from common import fit, warm_up\nfrom bots import bot\n@bot.command()\ndef train():\n    fit(3, True)\n"
        + MAIN,
    ],
)
def test_a_function_that_is_no_command_is_not_reached(tmp_path: Path, program: str) -> None:
    assert told(tmp_path, program) == UNREACHED


@pytest.mark.parametrize(
    "program",
    [
        TYPER + "@app.command()\ndef train(rows: int = 3):\n    fit(rows, True)\n" + MAIN + "    app()\n",
        TYPER + "@app.command('fit')\ndef train(rows: int = typer.Option(..., '-r')):\n    fit(rows, True)\n" + MAIN,
        TYPER + "@app.callback(invoke_without_command=True)\ndef train():\n    fit(3, True)\n" + MAIN,
        GROUP + "@cli.command()\n@click.option('--rows', default=3)\ndef train(rows):\n    fit(rows, True)\n" + MAIN,
        GROUP + "@cli.group('sub')\ndef sub(): ...\n@sub.command()\ndef train():\n    fit(3, True)\n" + MAIN,
        GROUP + "@click.command\ndef train():\n    fit(3, True)\ncli.add_command(train)\n" + MAIN + "    cli()\n",
        CLICK + "@click.group\ndef cli():\n    fit(3, True)\n" + MAIN + "    cli()\n",
    ],
)
def test_commands_are_what_a_program_does(tmp_path: Path, program: str) -> None:
    assert told(tmp_path, program) == "warning"


RUNNER = "class Runner:\n    def train(self, rows=3):\n        fit(rows, True)\n"
TRAINING = "def train(rows=3):\n    fit(rows, True)\n"


@pytest.mark.parametrize(
    "program",
    [
        TRAINING + MAIN + "    fire.Fire(train)\n",
        TRAINING + MAIN + "    fire.Fire({'train': train})\n",
        TRAINING + MAIN + "    fire.Fire()\n",
        RUNNER + MAIN + "    fire.Fire(Runner)\n",
        RUNNER + MAIN + "    fire.Fire(Runner())\n",
    ],
)
def test_fire_calls_functions_and_methods(tmp_path: Path, program: str) -> None:
    assert told(tmp_path, f"import fire\nfrom common import fit, warm_up\n{program}") == "warning"


@pytest.mark.parametrize(
    "program", [TRAINING + MAIN, RUNNER.replace("train", "_train") + MAIN + "    fire.Fire(Runner)\n"]
)
def test_what_fire_does_not_offer_is_not_reached(tmp_path: Path, program: str) -> None:
    assert told(tmp_path, f"import fire\nfrom common import fit, warm_up\n{program}") == UNREACHED


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("log: bool = False", "info only with `--log`"),
        ("log: bool = typer.Option(False, '--log')", "info only with `--log`"),
        ("log: bool = typer.Option(True)", "warning"),
        ("log: bool = typer.Option(...)", "warning"),
    ],
)
def test_parameters_of_commands_of_typer_are_options(tmp_path: Path, parameter: str, expected: str) -> None:
    program = TYPER + f"@app.command()\ndef train({parameter}):\n    fit(3, log)\n" + MAIN
    assert told(tmp_path, program) == expected


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("'--log', is_flag=True", "info only with `--log`"),
        ("'--log/--quiet'", "info only with `--log`"),
        ("'--print', 'log', default=False", "info only with `--print`"),
        ("'--log/--quiet', default=True", "warning"),
        ("'--log', required=True", "warning"),
    ],
)
def test_options_of_click_have_their_defaults(tmp_path: Path, option: str, expected: str) -> None:
    program = GROUP + f"@cli.command()\n@click.option({option})\ndef train(log):\n    fit(3, log)\n" + MAIN
    assert told(tmp_path, program) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject_toml", '[project.scripts]\nfit = "program:main"\n', "warning"),
        ("pyproject_toml", '[project.gui-scripts]\nfit = "program:main"\n', "warning"),
        ("pyproject_toml", '[tool.poetry.scripts]\n"fit-it" = "program:main"\n[tool.other]\n', "warning"),
        ("setup_cfg", "[options.entry_points]\nconsole_scripts =\n    fit = program:main\n", "warning"),
        ("setup_py", "setup(entry_points={'console_scripts': ['fit = program:main']})\n", "warning"),
        ("pyproject_toml", '[project.entry-points."plugins"]\nfit = "program:main"\n', UNREACHED),
        ("pyproject_toml", '[project.scripts]\nfit = "program:missing"\n', UNREACHED),
        ("pyproject_toml", '[project.scripts]\n[tool.other]\nfit = "program:main"\n', UNREACHED),
        ("setup_py", "setup(entry_points={'console_scripts': [], 'plugins': ['fit = program:main']})\n", UNREACHED),
    ],
)
def test_scripts_that_a_project_installs_are_programs(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert told(tmp_path, PLAIN + MAIN, **{name: text}) == expected


def test_a_configuration_that_names_the_programs_counts_more_than_scripts(tmp_path: Path) -> None:
    named = 'select = ["TL301"]\n[world]\nprograms = ["program.py"]\n'
    scripts = '[project.scripts]\nfit = "program:main"\n'
    assert told(tmp_path, PLAIN + MAIN, torchlint_toml=named, pyproject_toml=scripts) == UNREACHED


ARGUMENTS = """
from dataclasses import dataclass, field
from torch.utils.data import DataLoader


@dataclass
class Arguments:
    num_workers: int = field(default=0, metadata={"help": "processes"})

    def __post_init__(self):
        self.num_workers = max(self.num_workers, 0)


def main(args: Arguments, data, model, optimizer):
    for epoch in range(10):
        for x, y in DataLoader(data, num_workers=args.num_workers):
            model(x.cuda(), y.cuda()).backward()
            optimizer.step()
"""


def test_the_defaults_of_a_data_class_with_methods_are_read() -> None:
    result = lint_source(ARGUMENTS, config=Config(select=("TL404",)))
    assert not result.problems

"""The set-ups on docs/ci.md: their commands run, and their files parse."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w+)\n(?:#|//) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS: dict[tuple[str, int], str] = {
    (name, number): text
    for number, (_, name, text) in enumerate(_BLOCK.findall((ROOT / "docs/ci.md").read_text(encoding="utf-8")))
}


def block(name: str) -> str:
    """The first block of the page for a file."""
    return next(text for (found, _), text in BLOCKS.items() if found == name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one finding."""
    (tmp_path / "train.py").write_text("import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n")
    return tmp_path


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the page that begins with torchlint or Python."""
    name, *arguments = command
    start = [sys.executable] if Path(name).name == "python" else [sys.executable, "-m", "torchlint"]
    assert Path(name).name in ("python", "torchlint"), command
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*start, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("key", [key for key in BLOCKS if key[0].endswith((".yml", ".yaml"))], ids=str)
def test_yaml_parses(key: tuple[str, int]) -> None:
    assert isinstance(yaml.safe_load(BLOCKS[key]), dict)


def test_the_hooks_exist() -> None:
    used = {hook["id"] for repo in yaml.safe_load(block(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]}
    assert used <= {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def test_the_table_of_inputs_is_that_of_the_action() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (?:`(.*)`)? ?\|$", (ROOT / "docs/ci.md").read_text(), re.MULTILINE)
    assert rows == [(name, given["default"]) for name, given in action["inputs"].items()]


def test_gitlab_reads_what_the_job_writes(project: Path) -> None:
    job = yaml.safe_load(block(".gitlab-ci.yml"))["torchlint"]
    assert run(shlex.split(job["script"][0]), project).returncode == 1
    (entry,) = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert entry["location"]["path"] == "train.py"


@pytest.mark.parametrize("name", ["Jenkinsfile", "azure-pipelines.yml"])
def test_test_reports_are_where_the_server_looks_for_them(name: str, project: Path) -> None:
    command = re.search(r"(?:\.venv/bin/)?torchlint --output-format junit .*?(?='|$)", block(name), re.MULTILINE)
    assert command is not None
    assert run(shlex.split(command[0]), project).returncode == 1
    written = re.search(r"(?:junit '|testResultsFiles: )([\w.]+)", block(name))
    assert written is not None
    assert ElementTree.parse(project / written[1]).getroot().find(".//failure") is not None


def test_tox_lints_the_project(project: Path) -> None:
    ini = configparser.ConfigParser()
    ini.read_string(block("tox.ini"))
    command = ini["testenv:torchlint"]["commands"].replace("{posargs:.}", ".")
    assert run(shlex.split(command), project).returncode == 1


def test_nox_lints_the_project(project: Path) -> None:
    class Session:
        posargs: tuple[str, ...] = ()
        status = -1

        def install(self, requirement: str) -> None:
            assert requirement.startswith("torchlint @ ")

        def run(self, *command: str) -> None:
            self.status = run(command, project).returncode

    text, session, found = block("noxfile.py").replace("@nox.session\n", ""), Session(), dict[str, object]()
    exec(text.replace("import nox\n", ""), found)
    lint = found["torchlint"]
    assert callable(lint)
    lint(session)
    assert session.status == 1


def test_the_python_of_the_bazel_test_lints_the_files_that_it_is_given(project: Path) -> None:
    (project / "torchlint_test.py").write_text(block("torchlint_test.py"))
    (project / "other.py").write_text("x = 1\n")
    assert run(["python", "torchlint_test.py", "other.py"], project).returncode == 0
    assert run(["python", "torchlint_test.py", "other.py", "train.py"], project).returncode == 1

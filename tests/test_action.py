"""The GitHub action: its script runs in an environment like a runner's, on checkouts like those that GitHub makes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "github_action.sh"
OLD = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nmodel.eval\n"
NEW = "model.train\n"

pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("git") is None, reason="needs bash and git"
)


class Runner:
    """A runner's folders and variables, with a Python that makes environments without a package index."""

    def __init__(self, folder: Path) -> None:
        self.temp = folder / "temp"
        self.output = folder / "output"
        self.summary = folder / "summary"
        self.temp.mkdir(parents=True)
        self.python = folder / "python"
        self.python.write_text(
            "#!/usr/bin/env bash\nset -e\n"
            f'[ "$1 $2 $3" = "-m venv --clear" ] || exit 9\nshift\nmkdir -p "$3/bin"\n'
            f"""printf '#!/usr/bin/env bash\\necho "$@" > "{folder}/pip"\\n' > "$3/bin/python"\n"""
            f"""printf '#!/usr/bin/env bash\\nexec "{sys.executable}" -m torchlint "$@"\\n' > "$3/bin/torchlint"\n"""
            'chmod +x "$3/bin/python" "$3/bin/torchlint"\n'
        )
        self.python.chmod(0o755)
        self.folder = folder

    def run(self, workspace: Path, event: str = "push", **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the action's script with these inputs, given as the variables that action.yml sets."""
        given = {
            "TORCHLINT_PATHS": ".",
            "TORCHLINT_ARGUMENTS": "",
            "TORCHLINT_CHANGED_ONLY": "true",
            "TORCHLINT_SARIF_FILE": "",
            "TORCHLINT_BASE": "",
            "TORCHLINT_PYTHON": str(self.python),
            **{f"TORCHLINT_{name.upper()}": value for name, value in inputs.items()},
        }
        self.output.write_text("")
        self.summary.write_text("")
        environment = {
            **os.environ,
            **given,
            "PYTHONPATH": str(ROOT),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_EVENT_NAME": event,
            "GITHUB_SHA": git(workspace, "rev-parse", "HEAD"),
            "RUNNER_TEMP": str(self.temp),
        }
        return subprocess.run(
            ["bash", str(SCRIPT)], env=environment, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "runner")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    command = ["git", *who, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def pull_request(tmp_path: Path) -> Callable[..., Path]:
    """Make the checkout of a pull request that adds a line to a file with an old finding."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "train.py").write_text(OLD)
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "old")
    git(origin, "checkout", "-qb", "feature")
    (origin / "train.py").write_text(OLD + NEW)
    git(origin, "commit", "-qam", "new")
    git(origin, "checkout", "-q", "--detach", "main")
    git(origin, "merge", "-q", "--no-ff", "feature", "-m", "merge")
    git(origin, "update-ref", "refs/pull/1/merge", "HEAD")

    def checkout(ref: str = "refs/pull/1/merge", *depth: str) -> Path:
        work = tmp_path / "work"
        work.mkdir()
        git(work, "init", "-q")
        git(work, "remote", "add", "origin", origin.as_uri())
        git(work, "fetch", "-q", *depth, "origin", ref)
        git(work, "checkout", "-q", "--detach", "FETCH_HEAD")
        return work

    return checkout


def lines(run: subprocess.CompletedProcess[str]) -> list[int]:
    """The lines with annotations."""
    return [int(line) for line in re.findall(r"^::\w+ .*?\bline=(\d+)", run.stdout, re.MULTILINE)]


def test_a_push_annotates_every_finding_and_gives_the_status(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request())
    assert (run.returncode, lines(run)) == (1, [4, 5]), run.stderr
    assert runner.output.read_text() == "exit-status=1\n"
    assert (runner.folder / "pip").read_text().split()[-1] == str(ROOT)  # the commit that the action is pinned to


def test_a_pull_request_annotates_changed_lines_only(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request("refs/pull/1/merge", "--depth=1"), "pull_request")
    assert (run.returncode, lines(run)) == (1, [5]), run.stderr


def test_changed_only_can_be_switched_off(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request("refs/pull/1/merge", "--depth=1"), "pull_request", changed_only="false")
    assert lines(run) == [4, 5]


def test_a_checkout_of_the_branch_is_compared_with_the_base(runner: Runner, pull_request: Callable[..., Path]) -> None:
    work = pull_request("refs/heads/feature")
    run = runner.run(work, "pull_request", base=git(work, "rev-parse", "HEAD^"))
    assert lines(run) == [5]


def test_a_base_that_is_not_there_is_an_error_with_advice(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request("refs/heads/feature", "--depth=1"), "pull_request", base="1" * 40)
    assert run.returncode == 2
    assert "fetch-depth: 0" in run.stdout.splitlines()[-1]


def test_sarif_has_every_finding_of_a_pull_request(
    runner: Runner, pull_request: Callable[..., Path], tmp_path: Path
) -> None:
    file = tmp_path / "out.sarif"
    run = runner.run(pull_request("refs/pull/1/merge", "--depth=1"), "pull_request", sarif_file=str(file))
    assert lines(run) == [5]
    assert len(json.loads(file.read_text())["runs"][0]["results"]) == 2


def test_a_cached_environment_is_used_again_and_a_damaged_one_replaced(
    runner: Runner, pull_request: Callable[..., Path]
) -> None:
    work, installed = pull_request(), runner.folder / "pip"
    runner.run(work)
    installed.unlink()
    assert lines(runner.run(work)) == [4, 5]
    assert not installed.exists()
    (runner.temp / "torchlint-environment/bin/torchlint").write_text("")
    (runner.temp / "torchlint-environment/bin/torchlint").chmod(0o644)
    assert lines(runner.run(work)) == [4, 5]
    assert installed.exists()


def test_inputs_are_data_and_not_code(runner: Runner, pull_request: Callable[..., Path], tmp_path: Path) -> None:
    work = pull_request()
    odd = work / "a $(touch owned) b"
    odd.mkdir()
    (odd / "x.py").write_text(OLD)
    run = runner.run(work, paths=f"{odd.name}\r\n\n", arguments='--select=TL507\n--exclude=$(touch owned); "x')
    assert (run.returncode, lines(run)) == (1, [4]), run.stderr
    assert not list(tmp_path.rglob("owned"))


def test_a_path_that_is_missing_is_status_2(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request(), paths="missing.py", sarif_file="x.sarif")
    assert run.returncode == 2
    assert runner.output.read_text() == "exit-status=2\n"


def test_the_page_of_the_job_has_what_is_annotated(runner: Runner, pull_request: Callable[..., Path]) -> None:
    work = pull_request("refs/pull/1/merge", "--depth=1")
    runner.run(work, "pull_request")
    summary = runner.summary.read_text()
    assert "Found 1 error in 1 file (1 on unchanged lines)." in summary
    assert re.findall(r"train\.py:(\d)", summary) == ["5"]
    assert re.search(r"^\| \[TL507 dead-backend-flag\]\(https\S+\) \| 1 \| 1 \|$", summary, re.MULTILINE)


def test_what_costs_most_is_annotated_first(runner: Runner, pull_request: Callable[..., Path]) -> None:
    """GitHub shows ten annotations of each severity."""
    work = pull_request()
    loop = "import torch\n\n\ndef train(model, loader):\n    for x in loader:\n        loss = model(x.cuda()).sum()\n"
    loop += "        loss.backward()\n        print(loss.item())\n"
    (work / "a.py").write_text("import torch\n\ntorch.zeros(3).cuda()\n" * 2 + "\n")
    (work / "z.py").write_text(loop)
    run = runner.run(work, arguments="--select=TL507,TL301,TL104")
    found = re.findall(r"^::(\w+) title=(TL\d+)", run.stdout, re.MULTILINE)
    levels = [level for level, _ in found]
    assert levels == sorted(levels, key=["error", "warning", "notice"].index)
    assert next(rule for level, rule in found if level == "warning") == "TL301", found
    assert len({rule for _, rule in found}) == 3, found


def test_a_run_without_findings_says_so_on_the_page(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request(), arguments="--select=TL301")
    assert run.returncode == 0
    assert "1 file" in runner.summary.read_text()
    assert "|" not in runner.summary.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--selct=TL1", "unknown option --selct; did you mean --select?"),
        ("--select=TL1999", "--select: no rule has the id 'TL1999'"),
        ("--no-cache\n--select TL507", "instead of '--select TL507' write '--select=TL507'"),
        ("--output-file=x.txt", "cannot have '--output-file=x.txt'"),
        ("--config=100%.toml", "100%25.toml: cannot be read"),
    ],
)
def test_a_wrong_argument_is_an_annotation_of_one_line(
    runner: Runner, pull_request: Callable[..., Path], arguments: str, message: str
) -> None:
    run = runner.run(pull_request(), arguments=arguments)
    (error,) = [line for line in run.stdout.splitlines() if line.startswith("::")]
    assert error.startswith("::error title=torchlint::")
    assert message in error
    assert (run.returncode, runner.output.read_text()) == (2, "exit-status=2\n")


def test_an_argument_may_have_its_value_on_the_next_line(runner: Runner, pull_request: Callable[..., Path]) -> None:
    run = runner.run(pull_request(), arguments="--select\nTL507\n-j 1\n--exclude=a b\n--show-info")
    assert lines(run) == [4, 5], run.stdout


def test_a_wrong_configuration_is_an_annotation(runner: Runner, pull_request: Callable[..., Path]) -> None:
    work = pull_request()
    (work / "torchlint.toml").write_text("selct = []\n")
    run = runner.run(work)
    assert run.stdout == "::error title=torchlint::torchlint.toml: unknown key 'selct'; did you mean 'select'?\n"
    assert run.returncode == 2


def test_the_action_gives_the_script_every_variable_that_it_reads() -> None:
    action = (ROOT / "action.yml").read_text()
    read = set(re.findall(r"\bTORCHLINT_[A-Z_]+", SCRIPT.read_text())) - {"TORCHLINT_"}
    assert read == set(re.findall(r"^ +(TORCHLINT_[A-Z_]+): \$\{\{", action, re.MULTILINE))
    assert "${{" not in SCRIPT.read_text()

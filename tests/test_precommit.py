"""The hook that other repositories use, run by the real pre-commit from a copy of this working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.notebooks import notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
CLEAN = "import torch\n\n\ndef double(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
BAD = "import numpy as np\nimport torch\n\nframe = torch.tensor(np.load('frame.npy')).to('cuda')\n"
BAD += "torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = True\n"
EXCLUDED = '[tool.torchlint]\nexclude = ["generated.py"]\n'


@dataclass(frozen=True)
class Hook:
    """This working tree as a repository that pre-commit can clone, and the environment to run it in."""

    repository: Path
    revision: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Project:
    """A repository that uses the hook."""

    path: Path
    environment: Mapping[str, str]

    def stage(self, name: str, text: str) -> None:
        """Write a file and add it to the index."""
        (self.path / name).write_text(text, encoding="utf-8")
        _git(self.path, "add", "--", name)

    def commit_hook(self, hook: str = "torchlint") -> subprocess.CompletedProcess[str]:
        """What a commit would run."""
        command = [sys.executable, "-m", "pre_commit", "run", "--color", "never", hook]
        return subprocess.run(
            command, cwd=self.path, env=dict(self.environment), capture_output=True, text=True, check=False
        )


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, "-c", "core.hooksPath=/dev/null", *arguments]
    return subprocess.run(
        command, cwd=folder, env=_outside_git(), capture_output=True, text=True, check=True
    ).stdout.strip()


def _outside_git() -> dict[str, str]:
    """The environment without what git sets when it runs these tests as a hook of this repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _copy_working_tree(target: Path) -> None:
    listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


@pytest.fixture(scope="session")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Hook:
    # One repository and one pre-commit home for all workers, so that the hook is installed once; pre-commit
    # itself makes the others wait. Whoever renames first provides the repository.
    own = tmp_path_factory.mktemp("hook")
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "torchlint-hook"
    _copy_working_tree(own)
    _git(own, "init", "--quiet")
    _git(own, "add", "--all")
    _git(own, "commit", "--quiet", "--message", "working tree")
    if not shared.exists():
        try:
            own.rename(shared)
        except OSError:
            assert shared.is_dir()
    environment = {**_outside_git(), "PRE_COMMIT_HOME": str(shared.parent / "pre-commit-home"), "PIP_NO_COMPILE": "1"}
    return Hook(shared, _git(shared, "rev-parse", "HEAD"), environment)


@pytest.fixture
def project(hook: Hook, tmp_path: Path) -> Project:
    return _project(hook, tmp_path)


def _project(hook: Hook, path: Path, arguments: str = "[]") -> Project:
    """A repository with both hooks, whose authors give them these arguments."""
    _git(path, "init", "--quiet")
    configuration = f"repos:\n- repo: {hook.repository.as_uri()}\n  rev: {hook.revision}\n  hooks:\n"
    configuration += "".join(f"  - id: {name}\n    args: {arguments}\n" for name in ("torchlint", "torchlint-fix"))
    project = Project(path, hook.environment)
    project.stage(".pre-commit-config.yaml", configuration)
    return project


def test_a_commit_of_clean_code_passes(project: Project) -> None:
    project.stage("model.py", CLEAN)
    done = project.commit_hook()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_a_commit_with_nothing_relevant_passes_without_running_torchlint(project: Project) -> None:
    (project.path / "train.py").write_text(BAD, encoding="utf-8")
    project.stage("notes.txt", "nothing here")
    done = project.commit_hook()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no files to check" in done.stdout


def test_a_commit_of_a_file_that_the_configuration_excludes_passes(project: Project) -> None:
    project.stage("pyproject.toml", EXCLUDED)
    project.stage("generated.py", BAD)
    done = project.commit_hook()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_commit_of_bad_code_fails_and_says_where_and_why(project: Project) -> None:
    project.stage("model.py", CLEAN)
    project.stage("train.py", BAD)
    done = project.commit_hook()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:4:" in done.stdout
    assert "tensor-copies-ndarray" in done.stdout
    assert "model.py" not in done.stdout


def test_a_commit_of_a_file_that_does_not_parse_fails(project: Project) -> None:
    project.stage("broken.py", "import torch\nx = torch.zeros(3).cuda(\n")
    done = project.commit_hook()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "syntax-error" in done.stdout


def test_the_fixing_hook_repairs_a_commit_and_passes_the_next_time(project: Project) -> None:
    project.stage("model.py", CLEAN)
    project.stage("train.py", "import torch\n\n\ndef zeros(x):\n    return torch.zeros(3).to(x.device)\n")
    done = project.commit_hook("torchlint-fix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert "torch.zeros(3, device=x.device)" in (project.path / "train.py").read_text(encoding="utf-8")
    _git(project.path, "add", "train.py")
    assert project.commit_hook("torchlint-fix").returncode == 0


def test_the_fixing_hook_says_what_it_cannot_repair(project: Project) -> None:
    project.stage("train.py", UNFIXABLE)
    done = project.commit_hook("torchlint-fix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "TL501 benchmark-with-deterministic" in done.stdout
    assert "files were modified" not in done.stdout


def test_the_hooks_take_notebooks(project: Project) -> None:
    project.stage("clean.ipynb", notebook(CLEAN, "%matplotlib inline"))
    project.stage("train.ipynb", notebook("import torch", "%time x = torch.zeros(3).to(x.device)"))
    fixed = project.commit_hook("torchlint-fix")
    assert fixed.returncode == 1, fixed.stdout + fixed.stderr
    assert "files were modified by this hook" in fixed.stdout
    text = (project.path / "train.ipynb").read_text(encoding="utf-8")
    assert text == notebook("import torch", "%time x = torch.zeros(3, device=x.device)")
    project.stage("bad.ipynb", notebook("import torch", UNFIXABLE))
    done = project.commit_hook()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "bad.ipynb:cell 2:5:1: TL501" in done.stdout
    assert "clean.ipynb" not in done.stdout


def test_a_notebook_in_another_language_is_no_reason_to_fail(project: Project) -> None:
    project.stage("fit.ipynb", notebook("library(torch)\nx <- 1", metadata={"kernelspec": {"language": "R"}}))
    done = project.commit_hook()
    assert done.returncode == 0, done.stdout + done.stderr


UNFIXABLE = """import torch

torch.backends.cudnn.benchmark = True
model = torch.nn.Linear(2, 2)
torch.backends.cudnn.deterministic = True
"""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("[--select, ALL, --output-format, concise]", 1, "train.py:5:1: TL501"),
        ("[--exit-zero, --extend-select=TL4]", 0, "Passed"),
        ("[--ignore, TL5]", 0, "Passed"),
        ('["--"]', 1, "5 | torch.backends.cudnn.deterministic = True"),
    ],
)
def test_the_arguments_of_a_project_count(hook: Hook, tmp_path: Path, arguments: str, status: int, said: str) -> None:
    project = _project(hook, tmp_path, arguments)
    project.stage("train.py", UNFIXABLE)
    done = project.commit_hook()
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout


NAMED_LIKE_OPTIONS = ("--output-file=victim.py", "--exclude=*.py", "--config=evil.py")


@pytest.mark.parametrize("hook_id", ["torchlint", "torchlint-fix"])
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        *(("[]", (name,)) for name in NAMED_LIKE_OPTIONS),
        ("[--output-format, concise]", NAMED_LIKE_OPTIONS[:1]),
        ('["--"]', NAMED_LIKE_OPTIONS),
    ],
)
def test_a_committed_file_that_is_named_like_an_option_is_no_option(
    hook: Hook, tmp_path: Path, names: Sequence[str], arguments: str, hook_id: str
) -> None:
    project = _project(hook, tmp_path, arguments)
    project.stage("evil.py", "select = []\n")
    for name in ("victim.py", *names):
        project.stage(name, UNFIXABLE)
    done = project.commit_hook(hook_id)
    assert (project.path / "victim.py").read_text(encoding="utf-8") == UNFIXABLE
    assert done.returncode == 1, done.stdout + done.stderr
    if arguments == '["--"]':
        assert all(f"{name}:5:" in done.stdout for name in names)
    else:
        assert f"{name}: is the name of a file here" in done.stdout
        assert "exit code: 2" in done.stdout

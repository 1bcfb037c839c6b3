"""`--staged`: the content of the index is linted, and only its new lines are reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.git_help import Git, Lint, guilty, in_project, isolate
from torchlint.cli.main import main

TRAIN = """
import torch
from logs import show


def train(model, loader, optimizer):
    model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        show(loss)


model = torch.nn.Linear(3, 2)
train(model, torch.utils.data.DataLoader(open("data")), torch.optim.SGD(model.parameters()))
"""
TORCHLINT = [sys.executable, "-m", "torchlint", "--no-cache", "--output-format", "concise"]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit, whose only file has one finding."""
    return in_project(tmp_path, monkeypatch)


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Lint:
    return Lint(capsys)


def test_lines_that_are_not_staged_are_not_reported(git: Git, lint: Lint) -> None:
    git.write("old.py", guilty(1, 2))
    git.write("untracked.py", guilty(1))
    assert lint("--staged") == []
    git("add", "old.py")
    assert lint("--staged") == ["old.py:6"]
    git("commit", "-q", "-m", "done")
    assert lint("--staged") == []


def test_the_index_is_linted_and_not_the_working_tree(git: Git, lint: Lint) -> None:
    git.write("old.py", guilty(1, 2))
    git("add", "old.py")
    git.write("old.py", "import os\n\n" + guilty(1, 2, 3))
    assert lint("--staged") == ["old.py:6"]
    git.write("old.py", guilty())  # the finding is gone, but not from the commit to be
    assert lint("--staged") == ["old.py:6"]
    git.write("old.py", "def (\n")
    assert lint("--staged", "old.py") == ["old.py:6"]


def test_the_report_shows_the_staged_text(git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    git.write("old.py", guilty(1, 2))
    git("add", "old.py")
    git.write("old.py", "import os\n\n" + guilty(1, 3, 4))
    main(["--staged", "--no-cache"])
    assert "6 |     y = x.cpu().clamp(0, 2).to(device)" in capsys.readouterr().out


def test_other_files_are_known_as_they_are_staged(git: Git, lint: Lint) -> None:
    git.commit(train=TRAIN, logs="")
    git.write("logs.py", "def show(loss):\n    print(loss.item())\n")
    git("add", "logs.py")
    git.write("train.py", "")
    assert lint("--staged") == ["logs.py:2"]  # runs in every step of the training that is committed
    git("add", "train.py")
    assert lint("--staged") == []


def test_a_staged_file_that_was_deleted_since_is_linted(git: Git, lint: Lint) -> None:
    for name in ("new.py", "sub/new.py", "excluded/new.py", "new.txt"):
        git.write(name, guilty(1))
    git("add", "--all")
    for name in ("new.py", "sub/new.py", "excluded/new.py", "new.txt", "old.py"):
        (git.folder / name).unlink()
    assert lint("--staged", "--exclude", "excluded") == ["new.py:5", "sub/new.py:5"]
    assert lint("--staged", "sub") == ["sub/new.py:5"]


def test_a_file_that_is_only_announced_is_not_staged(git: Git, lint: Lint) -> None:
    git.write("new.py", guilty(1))
    git("add", "--intent-to-add", "new.py")
    assert lint("--staged") == []


def test_before_the_first_commit_every_staged_line_is_new(
    tmp_path: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch)
    git = Git(tmp_path / "empty")
    git.write("new.py", guilty(1))
    monkeypatch.chdir(git.folder)
    assert lint("--staged") == []
    git("add", "--all")
    assert lint("--staged") == ["new.py:5"]


def test_staged_renames_are_compared_with_the_old_name(git: Git, lint: Lint) -> None:
    git.commit(old=guilty(*range(9)))
    git("mv", "old.py", "new.py")
    assert lint("--staged") == []
    git.write("new.py", guilty(*range(8), 100))
    git("add", "--all")
    assert lint("--staged") == ["new.py:13"]


def test_in_a_merge_only_lines_count_that_no_parent_has(git: Git, lint: Lint) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(mine=guilty(1), old=guilty(2))
    git("switch", "-q", "main")
    git.commit(theirs=guilty(1), old=guilty(3))
    git("merge", "main", "feature", check=False)
    assert main(["--staged", "--no-cache"]) == 2
    git.write("old.py", guilty(3, 2, 100))
    git("add", "old.py")
    lint("--exit-zero", "--staged", "--select", "TL000")  # drops what was printed so far
    assert lint("--staged") == ["old.py:7"]


def test_a_file_with_conflicts_is_a_problem(git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(old=guilty(2))
    git("switch", "-q", "main")
    git.commit(old=guilty(3))
    git("merge", "feature", check=False)
    assert main(["--staged", "--no-cache"]) == 2
    assert "old.py: error: has merge conflicts, so nothing of it is staged" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="the hook is a shell script")
@pytest.mark.parametrize(
    "commit",
    [
        ["commit", "-q", "-m", "x"],
        ["commit", "-q", "-m", "x", "new.py"],
        ["-C", "sub", "commit", "-q", "-m", "x", "../new.py"],
        ["commit", "-q", "-a", "-m", "x"],
    ],
    ids=["index", "named", "subfolder", "all"],
)
def test_as_a_hook_it_sees_what_would_be_committed(git: Git, commit: list[str]) -> None:
    git.commit(new="", other="")
    git.write("new.py", guilty(1))
    git("add", "new.py")
    git.write("sub/unstaged.txt", "")
    git.write("other.py", guilty(1))
    hook = git.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec {' '.join(TORCHLINT)} --staged 1>&2\n")
    hook.chmod(0o755)
    root = str(Path(__file__).resolve().parent.parent)
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *commit]
    done = subprocess.run(
        command, cwd=git.folder, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=False
    )
    found = [line.partition(": ")[0] for line in done.stderr.splitlines() if "TL201" in line]
    assert found == (["new.py:5:9", "other.py:5:9"] if "-a" in commit else ["new.py:5:9"]), done.stderr
    assert done.returncode == 1


def test_fixes_are_made_in_the_working_tree_and_not_staged(git: Git, lint: Lint) -> None:
    text = "import torch\n\nx = torch.zeros(3).to('cuda')\n"
    git.write("new.py", text)
    git("add", "new.py")
    lint("--staged", "--fix", "--select", "TL104", "--fail-on", "info")
    assert (git.folder / "new.py").read_text() == "import torch\n\nx = torch.zeros(3, device='cuda')\n"
    assert git("show", ":new.py") == text
    assert "The fixes are not staged" in lint.output


def test_a_partly_staged_file_is_not_fixed(git: Git, lint: Lint) -> None:
    text = "import torch\n\nx = torch.zeros(3).to('cuda')\n"
    git.write("part.py", text)
    git.write("whole.py", text)
    git("add", "--all")
    git.write("part.py", text + "y = 1\n")
    assert lint("--staged", "--fix", "--select", "TL104", "--fail-on", "info") == ["part.py:3"]
    assert "1 fixed, 1 skipped: unstaged changes." in lint.output
    assert (git.folder / "part.py").read_text() == text + "y = 1\n"
    assert (git.folder / "whole.py").read_text() != text


def test_the_cache_gives_the_same_result(git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    git.write("old.py", guilty(1, 2))
    git("add", "old.py")
    git.write("old.py", guilty())
    for _ in range(2):
        assert main(["--staged", "--output-format", "concise"]) == 1
        assert "old.py:6:9: TL201" in capsys.readouterr().out
    assert main([]) == 0

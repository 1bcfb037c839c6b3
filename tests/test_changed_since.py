"""`--changed-since`: findings on the lines that are new since the merge base with a revision."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.git_help import HEAD, Git, Lint, guilty, in_project, isolate, notebook
from torchlint.cli.main import main
from torchlint.run.discovery.changed import moved


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit, whose only file has one finding."""
    return in_project(tmp_path, monkeypatch)


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Lint:
    return Lint(capsys)


def test_unchanged_lines_are_not_reported_and_counted(git: Git, lint: Lint) -> None:
    git.write("old.py", guilty(1, 2))
    assert lint("--changed-since", "main") == ["old.py:6"]
    assert "Found 1 warning in 1 file (1 on unchanged lines)." in lint.output


def test_lines_that_only_moved_are_not_reported(git: Git, lint: Lint) -> None:
    git.write("old.py", "import os\n\n" + guilty(1))
    assert lint("--changed-since", "main") == []


def test_a_deleted_line_reports_nothing(git: Git, lint: Lint) -> None:
    git.write("old.py", guilty(1).replace("\n\n\n", "\n\n"))
    assert lint("--changed-since", "main") == []


def test_any_changed_line_of_a_finding_counts(git: Git, lint: Lint) -> None:
    code = HEAD + "    y = x.cpu().clamp(\n        {}, 1\n    ).to(device)\n"
    git.commit(old=code.format(0))
    git.write("old.py", code.format(1))
    assert lint("--changed-since", "main") == ["old.py:5"]


def test_committed_staged_unstaged_and_untracked_lines_all_count(git: Git, lint: Lint) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(committed=guilty(1))
    git.write("staged.py", guilty(1))
    git("add", "staged.py")
    git.write("old.py", guilty(1, 2))
    git.write("untracked.py", guilty(1))
    expected = ["committed.py:5", "old.py:6", "staged.py:5", "untracked.py:5"]
    assert lint("--changed-since", "main") == expected


def test_what_came_to_the_other_branch_since_is_not_reported(git: Git, lint: Lint) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(mine=guilty(1))
    git("switch", "-q", "main")
    git.commit(old=guilty())
    git("switch", "-q", "feature")
    assert lint("--changed-since", "main") == ["mine.py:5"]


@pytest.mark.parametrize("committed", [False, True], ids=["in progress", "committed"])
def test_what_a_merge_brings_is_not_reported(git: Git, lint: Lint, committed: bool) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(mine=guilty(1))
    git("switch", "-q", "main")
    git.commit(theirs=guilty(1))
    git("switch", "-q", "feature")
    git("merge", "-q", *([] if committed else ["--no-commit"]), "main")
    assert lint("--changed-since", "main") == ["mine.py:5"]


def test_a_file_with_conflicts_is_reported_as_it_is(git: Git, lint: Lint) -> None:
    git("switch", "-q", "-c", "feature")
    git.commit(old=guilty(2))
    git("switch", "-q", "main")
    git.commit(old=guilty(3))
    git("merge", "feature", check=False)
    assert lint("--changed-since", "HEAD") == ["old.py:5"]
    assert "TL000" in lint.output
    git.write("old.py", guilty(2, 3))  # resolved, and not yet added
    assert lint("--changed-since", "HEAD~1") == ["old.py:5", "old.py:6"]


def test_renamed_files_are_compared_with_what_they_were_called(git: Git, lint: Lint) -> None:
    git.commit(old=guilty(*range(9)))
    git("mv", "old.py", "new.py")
    assert lint("--changed-since", "main") == []
    git.write("new.py", guilty(*range(8), 100))
    assert lint("--changed-since", "main") == ["new.py:13"]


def test_a_syntax_error_counts_if_its_file_has_changed(git: Git, lint: Lint) -> None:
    broken = "import torch\n\n\nx = (\n"
    git.commit(old=broken + "y = 1\n")
    assert lint("--changed-since", "main") == []
    git.write("old.py", "import torch\n\nimport os\n" + broken + "y = 1\n")
    assert [place.partition(":")[0] for place in lint("--changed-since", "main")] == ["old.py"]


@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not allow")
@pytest.mark.parametrize("name", ["with space", "schön", 'quote"d', "new\nline", "tab\t", "-dash", "a -> b", "\udcff"])
def test_any_file_name_is_found(git: Git, capsys: pytest.CaptureFixture[str], name: str) -> None:
    git.write(f"{name}.py", guilty(1))
    git("add", "--all")
    git("commit", "-q", "-m", "unusual")
    git.write(f"{name}.py", guilty(1, 2))
    assert main(["--changed-since", "main", "--output-format", "json", "--no-cache"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [finding["line"] for finding in document["findings"]] == [6]
    assert document["summary"]["unchanged"] == 2


def test_file_content_cannot_pose_as_a_patch(git: Git, lint: Lint) -> None:
    header = "diff --git a/old.py b/old.py\n--- a/old.py\n+++ b/old.py\n@@ -0,0 +1,99 @@\n"
    git.commit(other="")
    git.write("other.py", f'"""\n{header}"""\n++ "b/old.py"\n@@ -0,0 +1,99 @@')
    assert lint("--changed-since", "main", "old.py") == []


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_other_line_ends_count_lines_alike(git: Git, lint: Lint, ends: str) -> None:
    git.commit(old=guilty(1).replace("\n", ends))
    git.write("old.py", guilty(1, 2).replace("\n", ends))
    found = lint("--changed-since", "main")
    assert found == (["old.py:6"] if ends == "\r\n" else ["old.py:5", "old.py:6"])  # git sees one line


def test_settings_and_attributes_do_not_change_the_result(git: Git, lint: Lint) -> None:
    git.commit(old=guilty(*range(9)), other=guilty())
    for setting in (
        "diff.noprefix=true",
        "diff.mnemonicPrefix=true",
        "diff.renames=false",
        "color.ui=always",
        "core.quotePath=false",
        "diff.interHunkContext=99",
        "diff.context=9",
        "core.autocrlf=true",
        "diff.algorithm=patience",
        "diff.orderFile=nothing",
    ):
        git("config", *setting.split("="))
    git.write(".gitattributes", "*.py -diff\n")
    git("mv", "old.py", "sub new.py")
    git.write("sub new.py", guilty(*range(8), 100).replace("\n", "\r\n"))
    assert lint("--changed-since", "main") == ["sub new.py:13"]


def test_variables_for_diffs_do_not_change_the_result(git: Git, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=9")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_GLOB_PATHSPECS", "1")
    git.write("old.py", guilty(1, 2))
    assert lint("--changed-since", "main") == ["old.py:6"]


@pytest.mark.skipif(os.name == "nt", reason="the trap is a shell script")
def test_nothing_that_a_repository_names_is_executed(
    git: Git, lint: Lint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "executed"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\ncat\n")
    trap.chmod(0o755)
    Git(git.folder / "inner").commit(x="0")
    git.commit(old=guilty(1), kept=guilty(1))
    git.write(".gitattributes", "*.py filter=a=b.c diff=evil text\n")
    for key in (
        "core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager", "core.editor",
        "filter.a=b.c.clean", "filter.a=b.c.smudge", "filter.a=b.c.process", "core.sshCommand", "gpg.program",
    ):  # fmt: skip
        git("config", key, str(trap))
    with (git.folder / "inner/.git/config").open("a") as config:
        config.write(f'[core]\nfsmonitor = {trap}\n[filter "own"]\nclean = {trap}\n')
    git.write("inner/.gitattributes", "*.py filter=own\n")
    git.write("inner/x.py", "#")
    hooks = git.folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction"):
        shutil.copy(trap, hooks / hook)
    git.write("old.py", guilty(1, 2))
    os.utime(git.folder / "kept.py", (1, 1))  # so that git reads it
    for option in (["--changed-since", "main"], ["--staged"], ["--changed-since", "main", "--diff"]):
        mark.unlink(missing_ok=True)
        main([*option, "--no-cache"])
        assert not mark.exists(), mark.read_text()
    capsys.readouterr()
    assert lint("--changed-since", "main") == ["old.py:6"]
    git("diff", "--stat")
    assert mark.exists(), "the trap does not work"


def test_a_partial_clone_fetches_nothing(git: Git, tmp_path: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    git.commit(old=guilty(1, 2))
    git("config", "uploadpack.allowFilter", "true")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    url = git.folder.as_uri()
    git("clone", "-q", "--filter=blob:none", "--branch", "main", url, str(tmp_path / "partial"))
    monkeypatch.chdir(tmp_path / "partial")
    assert lint("--changed-since", "main") == []
    assert "partial clone" in lint.refused("--changed-since", "main~1")


def test_from_a_subfolder_only_its_files_are_linted(git: Git, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    git.write("sub/new.py", guilty(1))
    git.write("other.py", guilty(1))
    monkeypatch.chdir(git.folder / "sub")
    assert lint("--changed-since", "main") == ["new.py:5"]
    assert lint("--changed-since", "main", "..") == ["../other.py:5", "../sub/new.py:5"]


def test_the_repository_is_that_of_the_path(
    git: Git, lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.write("new.py", guilty(1))
    monkeypatch.chdir(tmp_path)
    assert lint("--changed-since", "main", "project") == ["project/new.py:5"]


def test_in_a_worktree_with_a_detached_head(
    git: Git, lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    (tmp_path / "other/new.py").write_text(guilty(1))
    monkeypatch.chdir(tmp_path / "other")
    assert lint("--changed-since", "main") == ["new.py:5"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_a_link_is_as_new_as_the_file_it_leads_to(git: Git, lint: Lint, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(guilty(1))
    git.commit(target=guilty(1))
    (git.folder / "committed.py").symlink_to(outside)
    git.commit()
    (git.folder / "fresh.py").symlink_to(outside)
    (git.folder / "link.py").symlink_to("target.py")
    git("add", "--all")
    assert lint("--changed-since", "main", "committed.py") == []
    assert lint("--changed-since", "main", "fresh.py") == ["fresh.py:5"]
    assert lint("--changed-since", "main", "link.py") == []


def test_files_of_other_repositories_inside_are_named(git: Git, lint: Lint) -> None:
    Git(git.folder / "vendor/inner").commit(theirs=guilty(1))
    assert lint("--changed-since", "main") == []
    assert "vendor/inner/theirs.py belongs to another repository" in lint.output


def test_variables_of_a_hook_are_honored(git: Git, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    git.write("sub/new.py", guilty(1))
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert lint("--changed-since", "main", "sub/new.py") == ["sub/new.py:5"]


def test_only_findings_on_changed_lines_are_fixed(git: Git, lint: Lint) -> None:
    line = "    x = torch.zeros(3).to('cuda')\n"
    git.commit(old="import torch\n\n\ndef f():\n" + line + "    y = 1\n" + line)
    git.write(
        "old.py", "import torch\n\n\ndef f():\n" + line + "    y = 1\n    z = 2\n" + line.replace("3", "4") + line
    )
    before = (git.folder / "old.py").read_text()
    found = lint("--changed-since", "main", "--select", "TL104", "--fix")
    after = (git.folder / "old.py").read_text()
    assert found == []
    assert after == before.replace("torch.zeros(4).to('cuda')", "torch.zeros(4, device='cuda')")
    assert "(2 on unchanged lines)" in lint.output


# -- what cannot be compared ----------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["--output=victim", "-p", ""])
def test_a_revision_that_looks_like_an_option_is_refused(git: Git, lint: Lint, revision: str) -> None:
    assert "is no revision" in lint.refused(f"--changed-since={revision}")
    assert not (git.folder / "victim").exists()


def test_options_in_the_place_of_merged_commits_are_not_passed_on(git: Git, lint: Lint) -> None:
    git.write(".git/MERGE_HEAD", "--output=victim\n-p\n")
    git.write("old.py", guilty(1, 2))
    git("add", "old.py")
    assert lint("--staged") == lint("--changed-since", "main") == ["old.py:6"]
    assert not (git.folder / "victim").exists()


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("mian", "'mian' is not known in this repository; check the name, or run git fetch"),
        ("main..HEAD", "is not one revision"),
        ("main:old.py", "is not known"),
    ],
)
@pytest.mark.usefixtures("git")
def test_an_unknown_revision_is_refused(lint: Lint, revision: str, words: str) -> None:
    assert words in lint.refused("--changed-since", revision)


def test_a_branch_that_is_only_on_the_server_is_suggested(
    git: Git, lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "release")
    git("clone", "-q", ".", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    assert "did you mean 'origin/release'?" in lint.refused("--changed-since", "release")


def test_a_shallow_clone_is_told_to_fetch(
    git: Git, lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "start")
    git.commit(new=guilty(1))
    git("switch", "-q", "-c", "side", "start")
    git.commit(side="")
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth=1", "--branch=main", git.folder.as_uri(), str(shallow))
    monkeypatch.chdir(shallow)
    assert "shallow clone; fetch it (git fetch --deepen" in lint.refused("--changed-since", "start")
    subprocess.run(["git", "fetch", "-q", "--depth=1", "origin", "side:side"], check=True)
    assert "no common commit; fetch more history: git fetch --unshallow" in lint.refused("--changed-since", "side")
    assert lint("--changed-since", "main") == []


def test_without_a_commit_staged_is_advised(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    Git(tmp_path / "empty").write("x.py", guilty(1))
    monkeypatch.chdir(tmp_path / "empty")
    assert "'main' is not known" in lint.refused("--changed-since", "main")


def test_outside_of_a_repository_is_said(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert "is not in a git repository" in lint.refused("--changed-since", "main")
    assert "is not in a git repository" in lint.refused("--staged")


@pytest.mark.usefixtures("git")
def test_a_path_outside_of_the_repository_is_refused(lint: Lint, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("")
    words = "../outside.py is not in the repository"
    assert words in lint.refused("--changed-since", "main", "old.py", "../outside.py")


def test_a_bare_repository_is_refused(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    Git(tmp_path / "bare", "--bare")
    monkeypatch.chdir(tmp_path / "bare")
    assert "bare repository" in lint.refused("--changed-since", "main")


@pytest.mark.usefixtures("git")
def test_without_git_this_is_said(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "--changed-since: git is not installed" in lint.refused("--changed-since", "main")
    assert "--staged: git is not installed" in lint.refused("--staged")


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_program_called_git_in_the_tree_is_not_run(git: Git, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    git.write("git", "#!/bin/sh\ntouch executed\n").chmod(0o755)
    (git.folder / "tools").mkdir()
    git.write("tools/git", "#!/bin/sh\ntouch executed\n").chmod(0o755)
    for folder, shown in ((".", "./git"), ("", "git"), ("tools", "tools/git")):
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{git.folder / 'none'}")
        refused = lint.refused("--changed-since", "main")
        assert f"{shown} is not run, since its folder in PATH is relative, and PATH has no other git" in refused
    assert not (git.folder / "executed").exists()


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_another_git_in_path_is_run_instead_of_one_in_the_tree(
    git: Git, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.write("a.py", "x = 1\n")
    git.commit()
    git.write("git", "#!/bin/sh\ntouch executed\n").chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    assert lint("--changed-since", "HEAD") == []
    assert not (git.folder / "executed").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_not_read(git: Git, lint: Lint) -> None:
    for path in (git.folder, git.folder / ".git"):
        os.chown(path, 12345, 12345)
    assert "safe.directory" in lint.refused("--changed-since", "main")


@pytest.mark.usefixtures("git")
def test_contradictory_options_are_refused(lint: Lint) -> None:
    assert "contradict each other" in lint.refused("--changed-since", "main", "--staged")
    assert "cannot be used with standard input" in lint.refused("--changed-since", "main", "-")


@pytest.mark.usefixtures("git")
def test_git_is_not_run_unless_an_option_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("torchlint.vcs")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["--no-cache", "old.py"]) == 1
    assert not [name for name in sys.modules if name.startswith("torchlint.vcs")]


# -- notebooks ------------------------------------------------------------------------------------

IMPORT = "%matplotlib inline\nimport torch"
CREATED = "x = torch.zeros({}).to('cuda')"


def in_cells(lint: Lint, *arguments: str) -> list[str]:
    lint("--select", "TL104", "--fail-on", "info", *arguments)
    return re.findall(r"^\S+:(cell \d+:\d+):", lint.output, re.MULTILINE)


def test_in_notebooks_the_lines_of_cells_are_compared(git: Git, lint: Lint) -> None:
    git.write("a.ipynb", notebook(IMPORT, CREATED.format(1)))
    git.commit()
    git.write("a.ipynb", notebook("%pip install torch", IMPORT, f"y = 1\n{CREATED.format(1)}\n{CREATED.format(2)}"))
    assert in_cells(lint, "--changed-since", "main") == ["cell 3:3"]
    assert "(1 on unchanged lines)" in lint.output
    git("add", "--all")
    git.write("a.ipynb", notebook(IMPORT))
    assert in_cells(lint, "--staged") == ["cell 3:3"]


def test_in_notebooks_only_what_is_reported_is_fixed(git: Git, lint: Lint) -> None:
    git.write("a.ipynb", notebook(IMPORT, CREATED.format(1)))
    git.commit()
    git.write("a.ipynb", notebook(IMPORT, CREATED.format(1), CREATED.format(2)))
    assert in_cells(lint, "--changed-since", "main", "--fix") == []
    fixed = notebook(IMPORT, CREATED.format(1), "x = torch.zeros(2, device='cuda')")
    assert (git.folder / "a.ipynb").read_text() == fixed
    assert "1 on unchanged lines" in lint.output


def test_outputs_of_a_notebook_are_no_changed_lines(git: Git, lint: Lint) -> None:
    text = notebook(IMPORT, CREATED.format(1))
    git.write("a.ipynb", text)
    git.commit()
    output = '"outputs": [\n    {"name": "stdout", "output_type": "stream", "text": ["1"]}\n   ]'
    git.write("a.ipynb", text.replace('"outputs": []', output))
    assert in_cells(lint, "--changed-since", "main") == []
    git.write("a.ipynb", json.dumps(json.loads(text)))
    assert in_cells(lint, "--changed-since", "main") == []


def test_a_cell_that_is_not_python_is_reported_if_a_cell_has_changed(git: Git, lint: Lint) -> None:
    text = notebook(IMPORT, "x = (")
    git.write("a.ipynb", text)
    git.commit()
    git.write("a.ipynb", json.dumps(json.loads(text)))
    assert in_cells(lint, "--changed-since", "main") == []
    git.write("a.ipynb", notebook(IMPORT, "x = (("))
    assert main(["--changed-since", "main", "--no-cache"]) == 1


def test_only_changed_lines_and_what_fixes_add_count_as_changed_after_fixes() -> None:
    assert moved(((4, 4),), b"a\nb\nc\nd\ne\n", b"new\na\nb\nc\nd\ne\n") == ((1, 1), (5, 5))

"""From the given paths to the files that are linted."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.model import Problem
from torchlint.run.discovery.discover import files

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def touch(*names: str) -> None:
    for path in map(Path, names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def write(name: str, text: str) -> None:
    touch(name)
    Path(name).write_text(text, encoding="utf-8")


def found(*paths: str, **settings: object) -> list[str]:
    listed, problems = search(*paths, **settings)
    assert problems == []
    return listed


def search(*paths: str, **settings: object) -> tuple[list[str], list[Problem]]:
    config = Config(root=str(Path.cwd()), **settings)  # type: ignore[arg-type]
    return files(paths, Configurations(".", only=config), str(Path.cwd()))[:2]


def test_folders_are_searched_for_python_files_and_notebooks_in_order() -> None:
    touch("b.py", "a/z.py", "a/b/c.py", "a.txt", "a/x.pyi", "a/y.ipynb", "c.pyx", "py")
    touch("a/.ipynb_checkpoints/y-checkpoint.ipynb")
    assert found(".") == ["a/b/c.py", "a/y.ipynb", "a/z.py", "b.py"]
    assert found("a") == found("a/") == found("./a") == ["a/b/c.py", "a/y.ipynb", "a/z.py"]


def test_paths_stay_as_the_user_would_write_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    touch("a/b.py", "c/d.py")
    assert found(str(tmp_path / "a")) == [(tmp_path / "a" / "b.py").as_posix()]
    monkeypatch.chdir("a")
    assert found("../c", "./b.py") == ["../c/d.py", "b.py"]


def test_a_named_file_is_taken_if_it_is_python() -> None:
    touch("a.pyi", "b.PY", "wscript", "site.wsgi")
    assert found("a.pyi", "b.PY", "wscript", "site.wsgi") == ["a.pyi", "b.PY", "site.wsgi", "wscript"]
    for first in ("#!/usr/bin/python3 -u\n", "#!/usr/bin/env -S uv run --script\r\n", "#! /opt/pypy/bin/pypy3"):
        write("tool", first)
        write("tool.in", first)
        assert found("tool", "tool.in") == ["tool", "tool.in"]


@pytest.mark.parametrize("first", ["", "import torch\n", "#!/bin/sh\nexec python3\n", "# python\n"])
def test_a_named_file_that_is_no_python_is_a_problem_and_others_are_taken(first: str) -> None:
    touch("a.py")
    for name in ("script", "notes.md", "model.py.orig"):
        write(name, first)
        taken, (problem,) = search("a.py", name)
        assert taken == ["a.py"]
        assert problem.path == name
        assert "is not checked: its name does not end with .py" in problem.message
        assert f"torchlint - < {name}" in problem.message


def test_a_named_notebook_in_another_language_is_a_problem_unless_a_hook_names_it() -> None:
    write("fit.ipynb", '{"cells": [], "metadata": {"kernelspec": {"language": "julia"}}, "x": "torch"}')
    taken, (problem,) = search("fit.ipynb")
    assert taken == []
    assert problem.message == "is not checked: the language of this notebook is julia, not Python"
    assert found("fit.ipynb", force_exclude=True) == ["fit.ipynb"]


def test_what_is_found_in_folders_and_is_no_python_is_no_problem() -> None:
    write("tool", "#!/usr/bin/env python3\n")
    touch("notes.md", "window.pyw")
    assert found(".") == ["window.pyw"]


def test_a_named_file_that_is_excluded_need_not_be_python() -> None:
    write("notes.md", "torch")
    assert found("notes.md", exclude=("*.md",), force_exclude=True) == []


def test_nothing_given_finds_nothing() -> None:
    assert found() == []


def test_every_file_is_linted_once() -> None:
    touch("a/b.py")
    assert found("a/b.py", "./a/b.py", "a", "a/", ".", str(Path("a/b.py").absolute())) == ["a/b.py"]


@pytest.mark.parametrize("folder", [".git", ".venv", "venv", "__pycache__", "node_modules", "build", "site-packages"])
def test_folders_without_code_of_the_project_are_left_out_unless_named(folder: str) -> None:
    touch("a.py", f"deep/{folder}/b.py")
    assert found(".") == ["a.py"]
    assert found(f"deep/{folder}") == [f"deep/{folder}/b.py"]


def test_files_that_are_called_like_such_folders_are_taken() -> None:
    touch("build.py", "dist.py")
    assert found(".") == ["build.py", "dist.py"]


def test_excluded_files_and_folders_are_left_out() -> None:
    touch("a.py", "a_pb2.py", "vendor/b.py", "src/vendor/c.py", "src/gen/d.py", "gen/e.py")
    assert found(".", exclude=("*_pb2.py", "vendor/", "src/gen")) == ["a.py", "gen/e.py"]


def test_excludes_count_from_the_root_of_the_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    touch("src/gen/d.py", "src/a.py")
    monkeypatch.chdir("src")
    config = Config(root=str(tmp_path), exclude=("src/gen",))
    assert files(["."], Configurations(".", only=config), str(Path.cwd())) == (["a.py"], [], [])


def test_named_files_are_taken_even_if_excluded_unless_that_is_forced() -> None:
    touch("vendor/a.py", "build/b.py", "c.py")
    assert found("vendor/a.py", exclude=("vendor",)) == ["vendor/a.py"]
    named = ("vendor/a.py", "build/b.py", "c.py")
    assert found(*named, exclude=("vendor",), force_exclude=True) == ["c.py"]


def test_gitignore_is_honored_at_every_level() -> None:
    touch(
        ".git/config",
        "a.py",
        "gen/a.py",
        "src/gen/b.py",
        "src/x_tmp.py",
        "src/keep_tmp.py",
        "src/deep/own.py",
    )
    write(".gitignore", "gen/\n*_tmp.py\n# comment\n!\n\n")
    write("src/.gitignore", "!keep_tmp.py\n/deep\n")
    assert found(".") == ["a.py", "src/keep_tmp.py"]
    assert found("src") == ["src/keep_tmp.py"]


def test_gitignore_above_the_repository_is_not_read() -> None:
    write(".gitignore", "*.py\n")
    touch("repo/.git/config", "repo/a.py", "loose/b.py")
    assert found("repo") == ["repo/a.py"]
    assert found("loose") == ["loose/b.py"]


def test_a_repository_inside_another_has_its_own_rules() -> None:
    touch(".git/config", "a.py", "sub/.git", "sub/a.py")
    write(".gitignore", "a.py")
    assert found(".") == ["sub/a.py"]


def test_an_ignored_folder_or_file_that_is_named_is_taken() -> None:
    touch(".git/config", "gen/a.py", "gen/deep/b.py")
    write(".gitignore", "gen/")
    assert found("gen") == ["gen/a.py", "gen/deep/b.py"]
    assert found("gen/a.py") == ["gen/a.py"]


@pytest.mark.parametrize("line", ["!", "[z-a]", "\\", "///", "\udcff", "a" * 10_000])
def test_strange_lines_in_gitignore_are_passed_over(line: str) -> None:
    touch("a.py", "gen.py")
    Path(".gitignore").write_text(f"{line}\ngen.py\n", encoding="utf-8", errors="surrogateescape")
    assert found(".") == ["a.py"]


@needs_links
def test_loops_of_links_are_survived() -> None:
    touch("a/b.py")
    Path("a/up").symlink_to("..")
    Path("a/self").symlink_to("self")
    Path("a/self.py").symlink_to("self.py")
    listed, problems = search("a")
    assert listed == ["a/b.py"]
    assert [problem.path for problem in problems] == ["a/self.py"]


@needs_links
def test_what_lies_behind_links_is_found_once_at_its_own_place() -> None:
    touch("z/real.py", "elsewhere/other.py")
    Path("z/a").mkdir()
    Path("z/a/link").symlink_to("../real")
    Path("z/real").mkdir()
    touch("z/real/c.py")
    Path("z/alias.py").symlink_to("real.py")
    Path("z/far").symlink_to("../elsewhere")
    assert found("z", source="pyproject.toml") == ["z/far/other.py", "z/real.py", "z/real/c.py"]


@needs_links
def test_links_to_folders_outside_of_the_tree_are_not_followed(capsys: pytest.CaptureFixture[str]) -> None:
    touch("outside/a.py", "project/b.py", "project/sub/c.py")
    Path("project/far").symlink_to("../outside")
    Path("project/sub/farther").symlink_to(Path("outside").absolute())
    Path("project/sub/within").symlink_to("..")
    write("project/torchlint.toml", "fail-on = 'error'")
    assert main(["--show-files", "project"]) == 0
    assert capsys.readouterr().out.split() == ["project/b.py", "project/sub/c.py"]
    assert main(["project"]) == 0
    assert "project" not in capsys.readouterr().out
    assert main(["-v", "project"]) == 0
    said = "links to a folder outside the tree; not followed."
    assert [line for line in capsys.readouterr().out.splitlines() if "links to" in line] == [
        f"project/far: {said}",
        f"project/sub/farther: {said}",
    ]


@needs_links
def test_a_link_to_a_folder_that_is_named_is_followed() -> None:
    touch("outside/a.py")
    Path("project").mkdir()
    Path("project/far").symlink_to("../outside")
    assert found("project") == []
    assert found("project/far") == ["project/far/a.py"]


@needs_links
@pytest.mark.parametrize("named", ["project/sub", "project"])
def test_the_tree_reaches_as_far_as_the_configuration(named: str) -> None:
    touch("project/other/a.py", "project/sub/b.py", "project2/c.py")
    Path("project/sub/link").symlink_to("../other")
    Path("project/sub/neighbor").symlink_to("../../project2")  # whose name begins alike
    write("project/torchlint.toml", "")
    listed = files([named], Configurations(named), str(Path.cwd()))
    assert {path.rpartition("/")[2] for path in listed.files} == {"a.py", "b.py"}
    assert listed.unfollowed == ["project/sub/neighbor"]


@needs_links
def test_hard_links_are_files_of_their_own() -> None:
    touch("a.py")
    os.link("a.py", "b.py")
    assert found(".") == ["a.py", "b.py"]


def test_missing_paths_are_reported() -> None:
    touch("a.py")
    listed, problems = search("a.py", "nowhere.py", "", "nul\0.py")
    assert listed == ["a.py"]
    assert [problem.path for problem in problems] == ["", "nowhere.py", "nul\0.py"]
    assert problems[1].message == "there is no such file or folder"


def test_a_missing_path_is_reported_with_the_name_that_was_probably_meant() -> None:
    touch("train.py")
    touch("package/model.py")
    _, problems = search("trian.py", "package/modle.py", "pakcage", "nowhere/model.py")
    said = {problem.path: problem.message for problem in problems}
    start, meant = "there is no such file or folder", str(Path("package", "model.py"))
    assert said == {
        "trian.py": f"{start}; did you mean 'train.py'?",
        "package/modle.py": f"{start}; did you mean {meant!r}?",
        "pakcage": f"{start}; did you mean 'package'?",
        "nowhere/model.py": start,
    }


@needs_links
def test_links_to_nowhere_are_reported_but_not_the_locks_of_editors() -> None:
    Path("gone.py").symlink_to("nowhere")
    Path(".#a.py").symlink_to("user@host.1")
    assert [problem.path for problem in search(".")[1]] == ["gone.py"]


@needs_links
def test_pipes_sockets_and_devices_are_reported_and_not_opened() -> None:
    os.mkfifo("pipe.py")
    os.mkfifo("pipe")
    os.mkfifo(".gitignore")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        listed, problems = search(".", "/dev/null")
    assert listed == []
    assert [problem.path for problem in problems] == ["/dev/null", "pipe.py", "socket.py"]
    assert all("not a regular file" in problem.message for problem in problems)


@needs_links
@pytest.mark.skipif(sys.platform != "win32" and os.getuid() == 0, reason="root reads everything")
def test_unreadable_folders_are_reported() -> None:
    touch("a/b.py", "closed/c.py")
    Path("closed").chmod(0)
    try:
        listed, problems = search(".")
    finally:
        Path("closed").chmod(stat.S_IRWXU)
    assert listed == ["a/b.py"]
    assert [problem.path for problem in problems] == ["closed"]


def test_folders_that_vanish_or_cannot_be_read_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    touch("a.py", "b/c.py")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("b"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert search(".") == (["a.py"], [Problem("b", "cannot be read: Permission denied")])


@needs_links
def test_names_that_are_no_text_are_kept() -> None:
    name = os.fsdecode(b"caf\xe9.py")
    try:
        touch(name)
    except OSError:
        pytest.skip("this file system allows text only")
    assert found(".") == [name]


def test_deep_folders_are_searched() -> None:
    deep = "/".join(["d"] * 400)
    touch(f"{deep}/a.py")
    assert found(".") == [f"{deep}/a.py"]

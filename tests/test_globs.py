"""Globs of a configuration and of ``.gitignore``: what they cover, and that none is tried that would take long.

Nothing here asserts a time: matching without care would not end.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from torchlint.base.globs import MOST, MOST_CHARACTERS, GlobProblem, path_matches
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.model import Problem
from torchlint.run import session
from torchlint.run.discovery import discover

HOSTILE = ["*a" * 60 + "b", "*?" * 60 + "b", "/".join(["*a" * 40] * 3), "*[!b]" * 300, "**/*a*a*/" * 20 + "b"]
DEEP = ["**/a/" * 30 + "b", "**/" + "a/**/" * 30 + "b"]
NAME = "a" * 255


@pytest.mark.parametrize("glob", [*HOSTILE, *DEEP])
def test_a_glob_that_would_take_too_long_is_not_tried(glob: str) -> None:
    with pytest.raises(GlobProblem, match="too many"):
        path_matches((glob,), "/".join([NAME] * 8) if glob in HOSTILE else "a/" * 500 + "c")


@pytest.mark.parametrize("glob", [*HOSTILE, *DEEP])
def test_the_same_glob_is_tried_where_that_is_soon_done(glob: str) -> None:
    assert not path_matches((glob,), "a/c")


def test_many_globs_together_may_not_take_too_long_either() -> None:
    globs = tuple(f"*a*a*{i}" for i in range(100))
    assert not path_matches(globs[:1], NAME)
    with pytest.raises(GlobProblem, match="too many"):
        path_matches(globs, NAME)


@pytest.mark.parametrize("glob", ["**/" * 1000 + "b", "*" * 1000 + "/**/b", "**/" + "*" * 1000 + "b"])
def test_repeated_stars_cost_no_more_than_one(glob: str) -> None:
    assert path_matches((glob,), "a/" * 500 + "b")


@pytest.mark.parametrize(
    "glob", ["*_test_*_of_*.py", "**/gen/**/*_pb2*.py", "*.generated.*.*.py", "a/**/b/**/c/**/d/*"]
)
def test_globs_as_people_write_them_are_tried_on_paths_as_there_are(glob: str) -> None:
    path = "packages/some_long_name/src/some_package/tests/integration/test_of_a_very_long_name_for_a_test.py"
    assert not path_matches((glob,) * 20, path)


def test_numbers_and_lengths_of_globs_are_limited() -> None:
    assert path_matches(("a",) * MOST, "a")
    assert path_matches(("a" * MOST_CHARACTERS,), "a" * MOST_CHARACTERS)
    for wrong in (("a",) * (MOST + 1), ("a" * (MOST_CHARACTERS + 1),)):
        with pytest.raises(GlobProblem, match="the limit is"):
            path_matches(wrong, "a")


def test_stars_match_whatever_stands_within_a_part_of_a_path() -> None:
    chance = random.Random(0)
    for _ in range(4000):
        parts = ["".join(chance.choices(["a", "b", "*", "?", "[ab]"], k=chance.randrange(1, 6))) for _ in range(2)]
        glob = "/".join(parts)
        path = "/".join("".join(chance.choices("ab", k=chance.randrange(1, 6))) for _ in range(2))

        if "**" not in glob:
            expected = re.fullmatch(glob.replace("?", "[^/]").replace("*", "[^/]*"), path)
            assert path_matches((glob,), path) == bool(expected), (glob, path)


@pytest.mark.parametrize(
    ("glob", "covered", "left"),
    [
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["b", "x/a/b", "a/bc"]),
        ("**/a/**/b.py", ["a/b.py", "x/a/y/a/b.py"], ["b.py", "a/b.pyc", "xa/b.py"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("**", ["a", "a/b"], []),
        ("a**b", ["ab", "axb", "x/axxb/c"], ["a/b"]),
        ("**/x*/**/y?z/**/[ab]", ["x/yyz/a", "q/x1/q/y1z/q/b/c"], ["x/yz/a", "x/y1z/c"]),
    ],
)
def test_two_stars_stand_for_any_number_of_parts(glob: str, covered: list[str], left: list[str]) -> None:
    assert [path for path in covered if not path_matches((glob,), path)] == []
    assert [path for path in left if path_matches((glob,), path)] == []


@pytest.mark.parametrize("glob", ["!a", "#a", "a ", "\\!a", "\\a", "[a", "[z-a]", "a[", "]a"])
def test_what_means_something_in_gitignore_files_alone_is_literal(glob: str) -> None:
    assert path_matches((glob,), f"x/{glob}/y")
    assert not path_matches((glob,), "a")


@pytest.mark.parametrize("glob", ["[[a]b", "[a--b]", "[a&&b]"])
def test_odd_brackets_are_nothing_to_warn_of(glob: str, recwarn: pytest.WarningsRecorder) -> None:
    path_matches((glob,), "a")
    assert list(recwarn) == []


@pytest.mark.parametrize("glob", ["/", "./", "//"])
def test_what_names_nothing_is_said(glob: str) -> None:
    with pytest.raises(GlobProblem, match="not a valid pattern"):
        path_matches((glob,), "a")


def search(folder: Path) -> tuple[list[str], list[Problem]]:
    (folder / ".git").mkdir(exist_ok=True)
    found, problems, _ = discover.files(
        [str(folder)], Configurations(folder, only=Config(root=str(folder))), str(folder)
    )
    return [path.rpartition("/")[2] for path in found], problems


@pytest.mark.parametrize(
    "line", ["!**/kept.py", "!**/**/kept.py", "!/**/kept.py", "!a**b/../**/kept.py\n!kept.py", "!**/kept.py  "]
)
def test_what_a_gitignore_takes_back_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / ".gitignore").write_text(f"*.py\n{line}\n", encoding="utf-8")
    (tmp_path / "a" / "b").mkdir(parents=True)
    for each in ("kept.py", "a/b/kept.py", "a/ignored.py"):
        (tmp_path / each).write_text("", encoding="utf-8")
    assert search(tmp_path) == (["kept.py", "kept.py"], [])


def test_a_gitignore_that_would_take_too_long_is_reported_once(tmp_path: Path) -> None:
    names = ["a" * 200 + ".py", "b" * 200 + ".py", "kept.py"]
    (tmp_path / ".gitignore").write_text("*a" * 60 + "b\nignored.py\n", encoding="utf-8")
    for each in (*names, "ignored.py"):
        (tmp_path / each).write_text("", encoding="utf-8")
    found, problems = search(tmp_path)
    assert found == sorted(names)
    assert [problem.path for problem in problems] == [".gitignore"]
    assert "use fewer" in problems[0].message


@pytest.mark.parametrize("text", ["a\n" * (MOST + 1), "a" * (MOST_CHARACTERS + 1)])
def test_a_gitignore_of_too_many_patterns_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / ".gitignore").write_text(text, encoding="utf-8")
    (tmp_path / "a.py").write_text("", encoding="utf-8")
    found, problems = search(tmp_path)
    assert found == ["a.py"]
    assert [(problem.path, "the limit is" in problem.message) for problem in problems] == [(".gitignore", True)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (f"exclude = {['*'] * (MOST + 1)}", "pyproject.toml: tool.torchlint.exclude holds 5,001 patterns"),
        (f"exclude = ['{'a' * 300_000}']", "pyproject.toml: tool.torchlint.exclude holds patterns of 300,000"),
        (f"per-file-ignores.'{'a' * 300_000}' = ['ALL']", "pyproject.toml: tool.torchlint.per-file-ignores holds"),
        ("per-file-ignores.'/' = ['ALL']", "pyproject.toml: per-file-ignores holds '/', which is not a valid pattern"),
        ("exclude = ['/']", "pyproject.toml: exclude holds '/', which is not a valid pattern"),
        (f"exclude = ['{'*a' * 60}']", "pyproject.toml: exclude '*a*a"),
    ],
)
def test_globs_of_a_configuration_that_cannot_be_used_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f"[tool.torchlint]\n{settings}\n", encoding="utf-8")
    Path(f"{NAME[:200]}.py").write_text("", encoding="utf-8")
    assert main(["."]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1


def test_a_file_for_which_ignores_cannot_be_told_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = Config(root=str(tmp_path), per_file_ignores=(("*a" * 60, ("ALL",)),))
    plan = session.plan(config)
    assert [f.rule for f in plan.lint(b"x = 1\n", f"{NAME}.py").findings] == ["TL000"]
    assert plan.screen(b"x = 1\n", f"{NAME}.py").candidates == frozenset()
    assert plan.lint(b"x = 1\n", "short.py").findings == ()

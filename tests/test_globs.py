"""Globs of a configuration and of ``.gitignore``: what they cover, and that none takes long.

Nothing here asserts a time: matching without care would not end.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from torchlint import discover
from torchlint.config import Config
from torchlint.configurations import Configurations
from torchlint.globs import path_matches

LONG = "/".join(["a" * 250] * 8)


@pytest.mark.parametrize(
    "glob",
    ["*a" * 60 + "b", "*?" * 60 + "b", "/".join(["*a" * 40] * 3), "**/" * 50 + "b", "x[a-z]*" * 30, "*[!b]" * 300],
)
def test_no_glob_takes_long(glob: str) -> None:
    assert not path_matches((glob,), LONG.replace("a/", "c/"))


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


@pytest.mark.parametrize("glob", ["**/a/" * 30 + "b", "**/*a*a*/" * 20 + "b", "**a" * 40 + "b"])
def test_many_stars_in_a_row_take_no_longer(glob: str) -> None:
    assert not path_matches((glob,), "a/" * 2000 + "c")


def test_hostile_lines_of_gitignore_are_passed_over(tmp_path: Path) -> None:
    name = "a" * 200 + ".py"
    (tmp_path / ".gitignore").write_text("*a" * 60 + "b\nignored.py\n" + "**/a" * 30, encoding="utf-8")
    for each in (name, "ignored.py"):
        (tmp_path / each).write_text("", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    found, problems = discover.files(
        [str(tmp_path)], Configurations(".", only=Config(root=str(tmp_path))), str(tmp_path)
    )
    assert [path.rpartition("/")[2] for path in found] == [name]
    assert not problems

"""What is said of programs that were not followed to the end."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

import torchlint.solution
from tests.test_following import project
from tests.test_following_infos import FIT
from torchlint.cli.main import main
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.run.session import Tree

DEAD = FIT.replace("import torch", "import torch, train")


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is reached in the middle of the program."""
    monkeypatch.setattr(torchlint.solution, "solve", functools.partial(torchlint.solution.solve, work=35))


@pytest.mark.usefixtures("little")
def test_a_report_says_what_was_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, "pass", "pass")
    monkeypatch.chdir(tmp_path)
    main(["--isolated", "--no-cache", "--output-format", "json"])
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["unfollowed"] == {"files": 1, "functions": 1}
    main(["--isolated", "--no-cache"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Not followed to the end, because the limit of the work was reached: train.py; 1 function" in said


def test_a_run_that_followed_everything_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, "pass", "pass", unused=DEAD)
    monkeypatch.chdir(tmp_path)
    main(["--isolated", "--no-cache"])
    assert "Not followed" not in capsys.readouterr().out
    main(["--isolated", "--no-cache", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["unfollowed"] == {"files": 0, "functions": 0}


@pytest.mark.parametrize("work", [35, 10_000])
def test_programs_are_not_followed_again_for_what_the_cache_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: int
) -> None:
    monkeypatch.setenv("TORCHLINT_CACHE_DIR", str(tmp_path / "cache"))
    paths, plan = project(tmp_path, "print(loss.item())", "pass"), session.plan(torchlint.Config())
    solve = functools.partial(torchlint.solution.solve, work=work)
    first, again = [], Mock(side_effect=solve)
    for follow in (solve, again):
        monkeypatch.setattr(torchlint.solution, "solve", follow)
        tree = Tree(paths, plan, cache=for_settings(plan.rules, plan.scopes))
        first.append((tree.result().understood, [tree.project.followed(path) for path in paths]))
    assert not again.called
    assert first[0] == first[1]
    assert first[0][0] is not None
    assert bool(first[0][0].unfinished) == (work == 35)

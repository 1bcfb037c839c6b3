"""What is said of code that programs do not get to, and of programs that were not followed to the end."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

import torchlint.solution
from tests.test_following import found, project
from tests.test_following_infos import FIT
from torchlint.cli.main import main
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.run.session import Tree

UNREACHED = "(no program that was followed gets here)"
ASSUMED = "(if this runs in a step)"
DEAD = FIT.replace("import torch", "import torch, train")


def reason(folder: Path, body: str = "pass", **files: str) -> str:
    """What is said of the read in the function ``fit`` of `unused.py`, which no program is seen to call."""
    paths = project(folder, "note(loss)", body, **{"unused": DEAD, **files})
    (message,) = (f.message for f in found(paths) if Path(f.path).name == "unused.py" and "synchronizes" in f.message)
    return message[message.rindex("(") :]


@pytest.mark.parametrize(
    "body",
    [
        "print(names)",
        "return value.view(-1).sum()",
        "return sorted(names, key=lambda name: name.other)",
        "return getattr(names, 'fit')",
        "import os; return os.path.join('a', 'b')",
    ],
    ids=["a call of a library", "methods of tensors", "an attribute", "a literal name", "a library"],
)
def test_what_no_program_gets_to_is_said_if_every_call_was_resolved(tmp_path: Path, body: str) -> None:
    assert reason(tmp_path, body) == UNREACHED


@pytest.mark.parametrize(
    "body",
    [
        "import unknown; unknown.make(names).fit(value)",
        "import unknown; return getattr(unknown.make(), names)(value)",
        "import unknown; unknown.make(names).start()",
    ],
    ids=["a method by name", "a computed name", "a function that may be called, and calls it"],
)
def test_nothing_is_said_of_programs_if_a_call_may_get_there(tmp_path: Path, body: str) -> None:
    starting = f"{DEAD}\n    def start(*given):\n        fit(*given)\n"
    assert reason(tmp_path, body, unused=starting) == ASSUMED


def test_a_method_that_a_library_may_call_is_not_unreached(tmp_path: Path) -> None:
    head, _, function = DEAD.partition("def fit(model")
    method = f"{head}import unknown\n    class {{}}:\n        def fit(self, model" + function.replace("\n", "\n    ")
    made = "import unused; import unknown; unknown.run(unused.Hook())"
    (tmp_path / "own").mkdir()
    assert reason(tmp_path, made, unused=method.format("Hook(unknown.Hook)")) == ASSUMED
    assert reason(tmp_path / "own", made, unused=method.format("Hook")) == UNREACHED


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is reached in the middle of the program."""
    monkeypatch.setattr(torchlint.solution, "solve", functools.partial(torchlint.solution.solve, work=35))


@pytest.mark.usefixtures("little")
def test_a_program_that_was_not_followed_to_the_end_shows_nothing_of_other_files(tmp_path: Path) -> None:
    assert UNREACHED not in " ".join(f.message for f in found(project(tmp_path, "pass", "pass", unused=DEAD)))


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

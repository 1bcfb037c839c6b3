"""`python benchmarks/readings.py`: findings in public repositories, shown, judged and kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judging import figures, places, wild
from judging.readings import Reading, Unreadable, add, line, read, tally
from judging.register import Register
from readings import main

TRAIN = """\
import torch

from helpers import smooth

for images, labels in loader:
    loss = smooth(model(images.cuda()), labels)
    loss.backward()
"""
HELPERS = """\
import torch


def smooth(scores, labels):
    target = torch.zeros(len(labels), 10).to(scores.device)
    return (scores - target).square().mean()


def quiet(scores):
    return scores
"""


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *settings, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with one checkout, and empty data of the evaluation, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path(places.EVALUATION).mkdir(parents=True)
    places.READINGS.touch()
    root = tmp_path / "checkouts" / "some+project"
    root.mkdir(parents=True)
    (root / "train.py").write_text(TRAIN, encoding="utf-8")
    (root / "helpers.py").write_text(HELPERS, encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "x")
    yield tmp_path / "checkouts"


def answers(*given: str) -> Any:
    rest = iter(given)
    return lambda _prompt: next(rest)


def test_a_finding_is_shown_with_its_source_its_evidence_and_the_calls_of_its_function(checkouts: Path) -> None:
    (repository,) = wild.repositories(checkouts, None)
    (found,) = wild.findings(repository, ["TL104"])
    assert (found.place, repository.name) == ("helpers.py:5:14", "some/project")
    said = wild.shown(found)
    assert ">     5 |     target = torch.zeros(len(labels), 10).to(scores.device)" in said
    assert "called at train.py:6: loss = smooth(model(images.cuda()), labels)" in said
    assert "TL104 factory-then-move" in said
    assert found.finding.message in said


def test_what_a_repository_configures_is_not_read(checkouts: Path) -> None:
    config = "[tool.torchlint]\nignore = ['TL104']\n"
    (checkouts / "some+project" / "pyproject.toml").write_text(config, encoding="utf-8")
    (repository,) = wild.repositories(checkouts, None)
    assert [each.finding.rule for each in wild.findings(repository, ["TL104"])] == ["TL104"]


def test_verdicts_by_key_are_kept_with_commit_place_day_and_reason(
    checkouts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", answers("x", "p", "it runs once"))
    assert main(["wild", "TL104", "--run", "one project", "--sight", "fresh"]) == 0
    (reading,) = read(places.READINGS)
    assert (reading.rule, reading.repository, reading.place) == ("TL104", "some/project", "helpers.py:5:14")
    assert (reading.verdict, reading.why, reading.sight) == ("pointless", "it runs once", "fresh")
    assert reading.commit == git(checkouts / "some+project", "rev-parse", "HEAD")
    assert capsys.readouterr().out.endswith("TL104  0 right, 1 pointless, 0 wrong in 1 repository\n")


def test_what_was_read_is_not_asked_again_and_quitting_keeps_what_was_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", answers("r", "one wait less", "q"))
    assert main(["wild", "TL104", "TL701"]) == 0
    assert len(read(places.READINGS)) == 1
    said = capsys.readouterr().out
    assert "[2 of 2]" in said
    monkeypatch.setattr("builtins.input", answers("s"))
    assert main(["wild", "TL104", "TL701"]) == 0
    assert "[1 of 1]" in capsys.readouterr().out
    assert len(read(places.READINGS)) == 1


def test_verdicts_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {
        "repository": "some/project",
        "rule": "TL104",
        "place": "helpers.py:5:14",
        "verdict": "right",
        "why": "yes",
    }
    file = tmp_path / "verdicts.jsonl"
    file.write_text(json.dumps(given) + "\n", encoding="utf-8")
    assert main(["wild", "TL104", "--verdicts", str(file)]) == 0
    assert [each.verdict for each in read(places.READINGS)] == ["right"]
    assert main(["wild", "TL104", "--verdicts", str(file)]) == 2
    assert (
        "verdicts.jsonl:1: TL104 is not found at some/project helpers.py:5:14, or was read before"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "arguable"}, "the verdict 'arguable' is none of right, pointless, wrong"),
        ({"place": "helpers.py:6:14"}, "TL104 is not found at some/project helpers.py:6:14"),
        ({"why": None}, "lacks why"),
    ],
)
def test_a_wrong_file_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str | None], said: str
) -> None:
    given = {
        "repository": "some/project",
        "rule": "TL104",
        "place": "helpers.py:5:14",
        "verdict": "right",
        "why": "yes",
    }
    row = {key: value for key, value in {**given, **change}.items() if value is not None}
    file = tmp_path / "verdicts.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["wild", "TL104", "--verdicts", str(file)]) == 2
    assert said in capsys.readouterr().err
    assert read(places.READINGS) == []


def test_what_is_linted_is_registered_and_never_fresh_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wild", "TL104", "--list", "--sight", "fresh", "--run", "first"]) == 0
    (entry,) = Register(places.REGISTER).entries()
    assert (entry.repository, entry.purpose) == ("some/project", "first")
    assert main(["wild", "TL701", "--list", "--sight", "fresh", "--run", "first"]) == 0  # the same occasion goes on
    assert main(["wild", "TL104", "--list", "--sight", "fresh", "--run", "second"]) == 2
    assert "not fresh, since benchmarks/evaluation/register.jsonl has them: some/project" in capsys.readouterr().err
    assert main(["wild", "TL104", "--list", "--run", "second"]) == 0
    assert Register(places.REGISTER).entries() == [entry]


def test_a_repository_is_known_in_any_case_and_on_other_days(tmp_path: Path) -> None:
    register = Register(tmp_path / "register.jsonl")
    assert register.is_fresh("Some/Project", "2026-01-31", "ten")
    register.add(["some/project"], "2026-01-31", "ten")
    assert register.is_fresh("Some/Project", "2026-01-31", "ten")
    assert not register.is_fresh("Some/Project", "2026-02-01", "ten")
    assert not Register(tmp_path / "register.jsonl").is_fresh("SOME/project", "2026-01-31", "another")


def test_a_list_names_the_repositories_and_what_is_missing_is_said(
    checkouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkouts / "more+code").mkdir()
    assert main(["wild", "TL104", "--list"]) == 2
    assert "is not a git checkout: list more/code with its commit" in capsys.readouterr().err
    listed = checkouts / "list.txt"
    listed.write_text('{"repository": "more/code", "commit": "c0ffee"}\nsome/project\n', encoding="utf-8")
    assert [each.name for each in wild.repositories(checkouts, listed)] == ["more/code", "some/project"]
    listed.write_text("no/such\n", encoding="utf-8")
    assert main(["wild", "TL104", "--list", "--repositories", str(listed)]) == 2
    assert "check out no/such there" in capsys.readouterr().err
    assert not places.REGISTER.exists()


def test_a_rule_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wild", "TL999"]) == 2
    assert "no rule has the id 'TL999'" in capsys.readouterr().err


def test_code_that_python_cannot_parse_has_no_callers(checkouts: Path) -> None:
    (checkouts / "some+project" / "old.py").write_text("print smooth(1)\n", encoding="utf-8")
    (repository,) = wild.repositories(checkouts, None)
    (found,) = wild.findings(repository, ["TL104"])
    assert "old.py" not in wild.shown(found)


READING = Reading("TL104", "a/b", "c0", "a.py:3", "2026-01-31", "warning", "right", "", "fresh", "ten")


def test_readings_survive_being_written(tmp_path: Path) -> None:
    several = READING._replace(repository=None, commit=None, place=None, times=9, repositories=3, partial=True)
    add([READING, several], tmp_path / "readings.jsonl")
    assert read(tmp_path / "readings.jsonl") == [READING, several]
    assert "times" not in line(READING)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "arguable"}, "readings.jsonl:1: the verdict 'arguable'"),
        ({"sight": "new"}, "'new' is none of fresh, first, seen"),
        ({"place": None}, "a single reading needs its place"),
        ({"color": "red"}, "color"),
    ],
)
def test_a_row_that_is_no_reading_is_an_error(tmp_path: Path, change: dict[str, str], said: str) -> None:
    path = tmp_path / "readings.jsonl"
    path.write_text(json.dumps({**READING._asdict(), **change}) + "\n", encoding="utf-8")
    with pytest.raises(Unreadable, match=said):
        read(path)


def test_totals_count_with_single_readings() -> None:
    total = READING._replace(repository=None, place=None, verdict="wrong", times=4, repositories=3)
    untold = total._replace(verdict=None, times=2)
    counted = tally([READING, READING._replace(place="a.py:9", verdict="pointless"), total, untold])
    assert (counted.right, counted.pointless, counted.wrong, counted.untold) == (1, 1, 4, 2)
    assert (counted.read, counted.repositories) == (8, 4)


def test_the_table_of_unseen_code_has_warnings_of_fresh_repositories_only() -> None:
    others = READING._replace(rule=None, verdict="wrong", place=None, repository=None, times=3, repositories=2)
    readings = [
        READING,
        READING._replace(place="a.py:4", severity="info"),
        READING._replace(place="a.py:5", sight="seen"),
        others,
    ]
    table = figures.unseen(readings).splitlines()
    assert table[2:] == [
        "| 2026-01-31 | ten | TL104 | 1 | 1 (100 %) | 0 | 0 |",
        "| 2026-01-31 | ten | others | 3 | 0 | 0 | 3 (100 %) |",
        "| | | all | 4 | 1 (25 %) | 0 | 3 (75 %) |",
    ]
    assert figures.headline(readings).startswith(
        "Of 4 warnings and errors that were read in repositories at their first run"
    )
    assert "up to 2026-01-31, 1 (25 %) are right, 0 pointless and 3 (75 %) wrong." in figures.headline(readings)


def test_readings_and_labels_are_counted_by_classes_of_events(capsys: pytest.CaptureFixture[str]) -> None:
    (repository,) = wild.repositories(Path("checkouts"), None)
    (found,) = wild.findings(repository, ["TL104"])
    one = Reading("TL104", "some/project", "c", found.place, "2026-01-01", "warning", "pointless", "small", "seen", "x")
    add([one], places.READINGS)
    label = {"repository": "some/project", "path": "helpers.py", "line": 5, "rule": "TL202", "label": "flag"}
    places.LABELS.write_text(json.dumps(label) + "\n", encoding="utf-8")
    assert main(["classes", "--folder", "checkouts"]) == 0
    *_, row = capsys.readouterr().out.splitlines()
    assert row == "| warning | TL104 | training | made |  | 0 | 1 | 0 | 1 | 0 |"

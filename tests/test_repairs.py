"""The benchmark of repairs counts what torchlint says at places that maintainers repaired."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import repairs

from torchlint.run.rules import registry

STEP = "    for x in data: loss = model(x.cuda()).mean(); loss.backward(); optimizer.step(); print(loss.item())\n"
CODE = f"import torch\ndef f(model, data, optimizer):\n{STEP}{STEP}"


def place(lines: list[int], *rules: str, commit: str = "0", path: str = "a.py") -> repairs.Place:
    return repairs.Place(
        "owner/name", 1, "1", commit, path, lines, list(rules), "a read in every step", "after the loop"
    )


def checkout(folder: Path, commit: str = "0") -> None:
    (folder / f"owner+name-{commit}").mkdir()
    (folder / f"owner+name-{commit}" / "a.py").write_text(CODE, encoding="utf-8")


def test_a_place_is_found_by_a_warning_on_one_line_of_any_of_its_rules(tmp_path: Path) -> None:
    checkout(tmp_path)
    places = [
        place([1, 3, 4], "TL301"),
        place([3], "TL302", "TL301"),
        place([3], "TL302"),
        place([1], "TL301"),
        place([3]),
    ]
    found = repairs.results(places, tmp_path)
    assert [result.outcome for result in found] == ["found", "found", "missed", "missed", "missed"]
    assert [result.lines_found for result in found] == [2, 1, 0, 0, 0]
    by_rule = repairs.table(found, "rule", lambda one: one.rule)
    assert "| TL301 | 2 | 1 of 2 (50 %) | 0 | 1 | 2 of 4 (50 %) |" in by_rule
    assert "| TL302 | 2 | 1 of 2 (50 %) | 0 | 1 | 1 of 2 (50 %) |" in by_rule
    assert "| no rule | 1 | 0 of 1 (0 %) | 0 | 1 | 0 of 1 (0 %) |" in by_rule
    assert "| all | 5 | 2 of 5 (40 %) | 0 | 3 | 3 of 7 (43 %) |" in by_rule


def test_advice_alone_is_counted_at_info(tmp_path: Path) -> None:
    checkout(tmp_path)
    found = repairs.results([place([3], "TL701")], tmp_path)
    assert [(result.outcome, result.lines_found) for result in found] == [("at info", 0)]


def test_a_missing_checkout_and_another_commit_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="owner/name at 0"):
        repairs.results([place([3], "TL301")], tmp_path)
    checkout(tmp_path)
    with pytest.raises(SystemExit, match="this is not 0"):
        repairs.results([place([3], "TL301", path="b.py")], tmp_path)


def test_a_checkout_is_made_from_a_clone_at_the_commit(tmp_path: Path) -> None:
    clone = tmp_path / "clones" / "owner+name"
    clone.mkdir(parents=True)

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=name", "-c", "user.email=name@example.org")
        command = ["git", "-C", str(clone), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    (clone / "a.py").write_text(CODE, encoding="utf-8")
    git("add", "a.py")
    git("commit", "--quiet", "--message", "before")
    before = git("rev-parse", "HEAD")
    (clone / "a.py").write_text(CODE.replace(".item()", ""), encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "repair")
    places = [place([3, 4], "TL301", commit=before)]
    for _ in range(2):  # the second time it is there
        repairs.check_out(places[0], tmp_path / "clones", tmp_path / "checkouts")
    found = repairs.results(places, tmp_path / "checkouts")
    assert [(result.outcome, result.lines_found) for result in found] == [("found", 2)]


@pytest.mark.parametrize("name", ["known", "sealed"])
def test_every_place_is_complete_and_listed_once(name: str) -> None:
    places = repairs.read(repairs.PLACES / f"{name}.jsonl")
    planned = {"TL105"}  # part of the benchmark before it is part of torchlint
    rules = {rule.id for rule in registry.load()} | planned
    for one in places:
        assert one.repository.count("/") == 1
        assert len(one.commit) == len(one.repair) == 40
        assert one.commit != one.repair
        assert one.lines == sorted(set(one.lines))
        assert set(one.rules) <= rules
        assert one.change
    assert len({json.dumps([one.folder, one.path, one.lines, one.rules]) for one in places}) == len(places)


def test_no_repository_is_both_known_and_sealed() -> None:
    known, sealed = (repairs.read(repairs.PLACES / f"{name}.jsonl") for name in ("known", "sealed"))
    assert not {one.repository for one in known} & {one.repository for one in sealed}
    assert len(sealed) >= 40
    assert len({one.repair for one in sealed}) >= 25

"""The benchmark of ground truth compares findings with what a run on the simulated GPU shows."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import evaluate
import ground_truth
import pytest
import repairs
from judging.register import Register
from truth import data, lines, programs, reasons, runs, tables, verdicts

from torchlint.run.rules import registry

CODE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.ones(8, 3), batch_size=2)
seen = 0
for rows in loader:
    loss = model(rows.to(device)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen += loss.item()
    if opaque(loss):
        print(seen)
"""
HELP = "from collections import UserList\nimport builtins\nbuiltins.opaque = lambda loss: bool(loss > 9)\n"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[lines.Line], list[verdicts.Judged], Path]:
    """A program of two files, run once."""
    folder = tmp_path_factory.mktemp("truth")
    (folder / "owner+name").mkdir()
    (folder / "owner+name" / "train.py").write_text(f"import help_me\n{CODE}", encoding="utf-8")
    (folder / "owner+name" / "help_me.py").write_text(HELP, encoding="utf-8")
    truth, judged, ran = ground_truth.compare([program()], folder, folder / "evidence")
    assert ran == [program()]
    return truth, judged, folder


def program(**changes: object) -> programs.Program:
    values = {"name": "small", "repository": "owner/name", "commit": "0", "folder": "", "command": ["train.py"]}
    return programs.Program(**{**values, "steps": 4, **changes})  # type: ignore[arg-type]


def test_lines_of_every_step_are_compared_with_the_findings(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path],
) -> None:
    truth, judged, _ = compared
    found = tables.results(truth, {})
    outcomes = {(r.line.path, r.line.line, r.line.kind): (r.outcome, r.rule) for r in found}
    assert outcomes == {
        ("help_me.py", 3, "read"): ("missed", "unknown"),
        ("train.py", 10, "upload"): ("found", "TL202"),
        ("train.py", 14, "read"): ("found", "TL301"),
    }
    assert {(one.finding.rule, one.verdict.status.value) for one in judged} >= {("TL301", "confirmed")}


def test_a_named_exemption_makes_a_silent_line_intended(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path],
) -> None:
    truth, judged, _ = compared
    why = {
        ("owner/name", "help_me.py", 3, "read"): reasons.Reason(
            "owner/name", "help_me.py", 3, "read", "TL301", "a guard", intent=True
        )
    }
    text = ground_truth.report(truth, judged, [program()], why)
    assert "3 of 3 (100 %) lines" in text
    assert "| 1 | silent by intent | a guard |" in text
    assert "| all | 3 | 2 | 0 | 1 | 0 |" in text
    assert "2 of 3 (67 %) lines" in ground_truth.report(truth, judged, [program()], {})


def test_of_sealed_programs_there_are_only_shares(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path],
) -> None:
    truth, judged, _ = compared
    hidden = program(name="hidden", repository="owner/other", sealed=True)
    more = [replace(line, program="hidden", repository="owner/other", sealed=True) for line in truth]
    warnings = [replace(one, program="hidden", repository="owner/other", sealed=True) for one in judged]
    text = ground_truth.report([*truth, *more], [*judged, *warnings], [program(), hidden], {})
    share = f"{len(warnings)} of {len(warnings)} (100 %)"
    sentence = f"In 1 sealed programs, which the tables leave out: 2 of 3 (67 %) lines. The runs confirm {share} of"
    assert sentence in text
    without = ground_truth.report(truth, judged, [program()], {})
    assert [part for part in text.split("\n\n") if "sealed" not in part] == without.split("\n\n")


def test_lines_of_sealed_programs_are_listed_only_if_they_are_named(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, folder = compared
    monkeypatch.setattr(programs, "read", lambda: [program(sealed=True)])
    words = ["ground_truth.py", str(folder), str(folder / "evidence"), "--details"]
    for more, listed in (([], False), (["--only", "small"], True)):
        monkeypatch.setattr(sys, "argv", [*words, *more])
        ground_truth.main()
        assert ("found TL301 read: owner/name train.py:14" in capsys.readouterr().out) == listed


def test_evidence_is_used_again_for_the_same_program_and_files(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path],
) -> None:
    truth, _, folder = compared
    orders = sorted((folder / "evidence").rglob("order.json"))
    before = [path.stat().st_mtime_ns for path in orders]
    again, _, _ = ground_truth.compare([program()], folder, folder / "evidence")
    assert [line.key for line in again] == [line.key for line in truth]
    assert [path.stat().st_mtime_ns for path in orders] == before


def test_other_files_than_those_of_the_run_are_an_error(
    compared: tuple[list[lines.Line], list[verdicts.Judged], Path], tmp_path: Path
) -> None:
    _, _, folder = compared
    (tmp_path / "owner+name").mkdir()
    (tmp_path / "owner+name" / "train.py").write_text("pass\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="has changed since the run of small"):
        ground_truth.compare([program()], tmp_path, folder / "evidence")


def test_a_program_that_fails_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "owner+name").mkdir()
    (tmp_path / "owner+name" / "train.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    assert not ground_truth.compare([program()], tmp_path, tmp_path / "evidence")[2]
    assert "small ended with status 3" in capsys.readouterr().out


def test_a_warning_is_refuted_only_if_no_run_confirms_it() -> None:
    rows = [_judged("confirmed"), _judged("refuted"), _judged("refuted", line=9)]
    confirmed, refuted = tables.settled(rows)
    assert [key[2] for key in confirmed] == [1]
    assert [key[2] for key in refuted] == [9]
    assert "| TL301 | 2 | 1 | 1 | 1 |" in tables.of_warnings(rows, {})


def test_what_is_known_about_a_program_is_no_part_of_its_order() -> None:
    assert program(unseen=True, sealed=True).order == program().order


def _judged(status: str, line: int = 1) -> verdicts.Judged:
    from torchlint.confirm.verdict import Status, Verdict
    from torchlint.model import Finding, Severity, Span

    finding = Finding("TL301", "n", "t", Severity.WARNING, "a.py", Span(line, 1, line, 2), "m")
    return verdicts.Judged("small", False, "owner/name", "a.py", finding, Verdict(Status(status), "r"))


def test_data_of_each_recipe_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    recipes = {recipe[0]: recipe for one in programs.read() for recipe in one.data}
    assert recipes.keys() == data.RECIPES.keys()
    for recipe in recipes.values():
        before = set(tmp_path.rglob("*"))
        data.write(folder, recipe)
        assert any(path.is_file() and path.stat().st_size for path in {*tmp_path.rglob("*")} - before)


def test_every_program_is_complete_and_listed_once() -> None:
    listed = programs.read()
    assert len({one.name for one in listed}) == len(listed) >= 90
    assert sum(one.sealed for one in listed) >= 34
    for one in listed:
        assert one.repository.count("/") == 1
        assert len(one.commit) == 40
        assert one.steps > 1


def test_no_program_is_of_a_sealed_repository() -> None:
    sealed = {one.repository for one in repairs.read(repairs.PLACES / "sealed.jsonl")}
    sealed |= {site["repository"] for site in map(json.loads, _sealed_labels())}
    overlap = {one.repository for one in programs.read()} & sealed
    assert not overlap


def test_no_sealed_program_is_of_a_repository_that_was_looked_at() -> None:
    listed = programs.read()
    sealed = {one.repository.lower() for one in listed if one.sealed}
    register = Register(evaluate.SITES.parent / "register.jsonl").entries()
    assert sealed == {one.repository.lower() for one in register if one.purpose.startswith("sealed programs")}
    others = {one.repository.lower() for one in listed if not one.sealed}
    others |= {reason.repository.lower() for reason in reasons.read().values()}
    assert not sealed & others
    assert all(one.unseen for one in listed if one.sealed)


def _sealed_labels() -> list[str]:
    return (evaluate.SITES.parent / "sealed.jsonl").read_text(encoding="utf-8").splitlines()


def test_every_reason_is_about_a_program_and_a_rule() -> None:
    repositories = {one.repository for one in programs.read()}
    rules = {rule.id for rule in registry.load()} | {"none"}
    for reason in reasons.read().values():
        assert reason.repository in repositories
        assert reason.kind in {lines.READ, lines.UPLOAD} | rules
        assert reason.rule in rules
        assert reason.cause
    assert runs.LIMIT > 0

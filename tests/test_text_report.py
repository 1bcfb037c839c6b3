"""The text report: its order, blocks, patches, folded infos, widths and links."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.test_report import ADVICE, FINDING, RULE, SOURCE, controls, rendered, run_of
from torchlint.cli.main import main
from torchlint.model import Edit, Evidence, Finding, Fix, Heat, Safety, Severity, Span
from torchlint.report import ReportOptions, renderer
from torchlint.report.terminal import patch
from torchlint.run.fixing.fix import applied
from torchlint.text.lines import Places, split_lines

PLAIN = FINDING._replace(evidence=())


def heads(output: str) -> list[str]:
    """The places and rules that a report names, in order."""
    return re.findall(r"^(\S+:\d+:\d+: TL\d+)", output, re.M)


def at(line: int, column: int, end: int, **more: Any) -> Finding:
    return PLAIN._replace(span=Span(line, column, line, end), **more)


# -- the order -----------------------------------------------------------------------------------------


def test_findings_are_sorted_by_severity_heat_topic_and_place() -> None:
    findings = [
        at(1, 1, 2, rule="TL108", severity=Severity.INFO, heat=Heat.ELEMENT),
        at(1, 1, 2, rule="TL107", path="a.py", heat=None),
        at(1, 1, 2, rule="TL106", path="b.py", heat=Heat.ONCE, topic="backends"),
        at(1, 1, 2, rule="TL109", path="a.py", heat=Heat.EPOCH),
        at(1, 1, 2, rule="TL105", path="c.py", heat=Heat.STEP),
        at(9, 1, 2, rule="TL104", path="b.py", heat=Heat.STEP),
        at(1, 1, 2, rule="TL103", path="z.py", heat=Heat.STEP, topic="synchronization"),
        at(1, 1, 2, rule="TL102", path="z.py", heat=Heat.ELEMENT, topic="portability"),
        at(1, 1, 2, rule="TL101", path="z.py", severity=Severity.ERROR, heat=None),
    ]
    shown = [head.rpartition(" ")[2] for head in heads(rendered("text", run_of(*findings), show_info=True))]
    assert shown == ["TL101", "TL102", "TL103", "TL104", "TL105", "TL109", "TL107", "TL106", "TL108"]
    assert heads(rendered("concise", run_of(*findings), show_info=True)) == [
        f"{f.path}:{f.span.line}:1: {f.rule}" for f in sorted(findings, key=lambda finding: finding.sort_key)
    ]


# -- infos ---------------------------------------------------------------------------------------------


def test_infos_are_one_line_for_each_rule() -> None:
    other = ADVICE._replace(rule="TL701", name="hardcoded-cuda", path="a.py", span=Span(7, 3, 7, 4))
    output = rendered("text", run_of(PLAIN, ADVICE, ADVICE._replace(path="b.py"), other, suppressed=1))
    assert output.endswith(
        "\n\n"
        "TL401 loader-not-pinned  info  2 findings in 2 files\n"
        "TL701 hardcoded-cuda     info  1 finding at a.py:7:3\n"
        "\n"
        "Found 1 warning in 12 files (3 infos not shown: --show-info; 1 suppressed).\n"
    )
    assert heads(output) == ["pkg/train.py:4:9: TL101"]


def test_a_run_with_nothing_but_infos_found_no_warnings() -> None:
    assert rendered("text", run_of(ADVICE)) == (
        "TL401 loader-not-pinned  info  1 finding at pkg/train.py:4:9\n"
        "\n"
        "Found no warnings in 12 files (1 info not shown: --show-info).\n"
    )


INFO = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)\n"


@pytest.fixture
def infos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in which there is nothing but an info."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(INFO)
    return tmp_path


@pytest.mark.parametrize("options", [["--show-info"], ["--fail-on", "info"]])
def test_infos_are_shown_when_asked_for_or_when_they_fail_the_run(
    infos: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    status = main(["--no-cache", *options, str(infos)])
    output = capsys.readouterr().out
    assert "m.py:5:12: TL104 factory-then-move info\n" in output
    assert "5 |     return torch.zeros(3).to(x.device)\n" in output
    assert "Found 1 info in 1 file.\n" in output
    assert status == (1 if "--fail-on" in options else 0)


def test_infos_are_not_shown_otherwise(infos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-cache", str(infos)]) == 0
    output = capsys.readouterr().out
    assert "TL104 factory-then-move  info  1 finding at " in output
    assert "torch.zeros" not in output


def test_statistics_replace_the_report(infos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-cache", "--statistics", str(infos)]) == 0
    assert capsys.readouterr().out == (
        "1  TL104  [*] factory-then-move\n\n"
        "Found 1 info in 1 file.\n[*] all have a fix, [-] some have\n1 fixable with --fix.\n"
    )


def test_statistics_as_json_have_the_counts_instead_of_the_findings(
    infos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--no-cache", "--output-format", "json", str(infos)]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["--no-cache", "--statistics", "--output-format", "json", str(infos)]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert counted.pop("statistics") == [{"rule": "TL104", "name": "factory-then-move", "count": 1, "fixable": 1}]
    assert counted == {key: value for key, value in whole.items() if key != "findings"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output-format", "sarif"], "--statistics prints text or JSON; leave out --output-format sarif"),
        (["--diff"], "--diff and --statistics cannot be combined"),
    ],
)
def test_statistics_are_refused_where_they_would_have_no_effect(
    infos: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["--no-cache", "--statistics", *options, str(infos)]) == 2
    assert said in capsys.readouterr().err


# -- blocks --------------------------------------------------------------------------------------------


def test_two_findings_on_one_expression_are_one_block() -> None:
    other = PLAIN._replace(rule="TL701", name="hardcoded-cuda", message="another thing", severity=Severity.ERROR)
    output = rendered("text", run_of(FINDING, other), quiet=True)
    assert output == (
        "pkg/train.py:4:9: TL701 hardcoded-cuda error\n"
        "  another thing\n"
        "pkg/train.py:4:9: TL101 tensor-copies-ndarray warning\n"
        "  `torch.tensor` copies `x`; write `torch.from_numpy(x)`\n"
        "  |\n"
        "4 |     y = torch.tensor(x)\n"
        "  |         ^^^^^^^^^^^^^^^\n"
        '2 | x = np.load("a.npy")\n'
        "  | - `x` is an ndarray from `np.load`\n"
    )


def test_a_finding_inside_of_another_has_a_mark_of_its_own_with_its_rule() -> None:
    inner = at(4, 22, 23, rule="TL701", message="inside")
    output = rendered("text", run_of(PLAIN, inner), quiet=True)
    assert output.endswith(
        "  |\n4 |     y = torch.tensor(x)\n  |         ^^^^^^^^^^^^^^^ TL101\n  |                      ^ TL701\n"
    )


def test_findings_side_by_side_on_one_line_are_two_blocks() -> None:
    output = rendered("text", run_of(at(4, 5, 6), at(4, 9, 24, message="another thing")), quiet=True)
    assert output.count("4 |     y = torch.tensor(x)\n") == 2


def test_fixes_in_one_block_say_of_which_rule_they_are() -> None:
    fix = Fix("do it", Safety.SAFE, (Edit(Span(4, 22, 4, 23), "z"),))
    output = rendered("text", run_of(PLAIN._replace(fix=fix), at(4, 22, 23, rule="TL701", fix=fix)), quiet=True)
    assert "  = TL101 fix (safe): do it\n" in output
    assert "  = TL701 fix (safe): do it\n" in output


def test_one_message_on_several_lines_of_a_file_is_said_once() -> None:
    elsewhere = at(1, 1, 2, path="pkg/z.py")
    output = rendered("text", run_of(at(1, 1, 2), at(2, 1, 2), at(3, 1, 2, message="another thing"), elsewhere))
    assert output.count("copies `x`") == 2
    assert output.startswith(
        "pkg/train.py:1:1: TL101 tensor-copies-ndarray warning\n"
        "pkg/train.py:2:1: TL101 tensor-copies-ndarray warning\n"
        "  `torch.tensor` copies `x`; write `torch.from_numpy(x)`\n"
        "  |\n"
        "1 | import numpy as np, torch\n"
        "  | ^\n"
        '2 | x = np.load("a.npy")\n'
        "  | ^\n"
        "\n"
    )


def test_a_caveat_that_several_fixes_share_is_said_once_after_the_last() -> None:
    fixed = [at(n, 1, 2, fix=Fix("f", Safety.UNSAFE, (Edit(Span(n, 1, n, 2), "?"),), "care")) for n in (1, 2)]
    output = rendered("text", run_of(*fixed), quiet=True)
    assert output.count("= caveat: care\n") == 1
    assert output.endswith("= caveat: care\n")


# -- patches -------------------------------------------------------------------------------------------


def patched(*edits: Edit, source: str = SOURCE) -> str:
    fix = Fix("f", Safety.SAFE, edits)
    return rendered("text", run_of(PLAIN._replace(fix=fix)), source, quiet=True).partition("= fix (safe): f\n")[2]


def test_a_patch_shows_several_edits_in_the_order_of_the_lines() -> None:
    call, name = Edit(Span(4, 9, 4, 21), "device.tensor"), Edit(Span(1, 26, 1, 26), "\nimport device")
    assert patched(call, name) == ("2 + import device\n4 -     y = torch.tensor(x)\n  +     y = device.tensor(x)\n")


def test_a_patch_leaves_out_lines_that_stay_the_same() -> None:
    source = "f(\n    a,\n    b,\n    c,\n)\n"
    whole = Edit(Span(1, 1, 5, 2), "f(\n    a,\n    B,\n    c,\n    d,\n)")
    assert patched(whole, source=source) == "3 -     b,\n  +     B,\n5 +     d,\n"
    assert patched(Edit(Span(2, 1, 3, 1), ""), source=source) == "2 -     a,\n"


def test_a_patch_of_many_lines_is_left_to_the_diff() -> None:
    assert patched(Edit(Span(1, 1, 1, 1), "x\n" * 200)) == "  = 200 lines change: --diff shows them\n"


def test_a_fix_of_lines_that_are_gone_has_no_patch() -> None:
    assert patched(Edit(Span(40, 1, 40, 2), "x")) == ""


def test_a_patch_of_a_long_line_shows_what_is_different() -> None:
    source = "\n\n\n    y = " + "a + " * 40 + "torch.zeros(3).to(device)" + " + b" * 40
    column = source.split("\n")[3].index(".to(device)") + 1
    output = patched(
        Edit(Span(4, column - 1, 4, column - 1), ", device=device"),
        Edit(Span(4, column, 4, column + len(".to(device)")), ""),
        source=source,
    )
    old, new = output.splitlines()
    assert "torch.zeros(3).to(device) + " in old
    assert "torch.zeros(3, device=device) + " in new
    assert old.index("torch") == new.index("torch")
    assert max(len(old), len(new)) <= 100


def test_a_patch_may_make_a_very_long_line_short() -> None:
    source = "\n\n\n    y = [" + "1, " * 900 + "1]"
    output = patched(Edit(Span(4, 10, 4, len(source) - 3), "0"), source=source)
    assert output.endswith("  + ...0]\n")


def test_line_ends_and_odd_characters_of_a_patch_are_harmless() -> None:
    source = "\r\n\r\n\r\n\tf('\x0c日本', x)  # \x1b[31m\r\n"
    assert patched(Edit(Span(4, 11, 4, 12), "y"), source=source) == (
        "4 -     f('\\x0c日本', x)  # \\x1b[31m\n  +     f('\\x0c日本', y)  # \\x1b[31m\n"
    )


def test_a_notebook_shows_the_evidence_and_the_changes_in_other_cells() -> None:
    fix = Fix("f", Safety.SAFE, (Edit(Span(1, 1, 1, 2), "y", 3), Edit(Span(2, 1, 2, 1), "import y\n", 1)))
    finding = at(1, 1, 2, path="a.ipynb", cell=3, fix=fix, evidence=(Evidence(2, 1, "here", 1), Evidence(9, 1, "b", 2)))
    cells: dict[int | None, list[str]] = {1: ["import torch", "a = 1"], 3: ["x()"]}
    options = ReportOptions(quiet=True, source=lambda _, cell: cells.get(cell))
    assert renderer("text")(run_of(finding), options).partition("from_numpy(x)`\n")[2] == (
        "  |\n"
        "1 | x()\n"
        "  | ^\n"
        "  = cell 1:\n"
        "2 | a = 1\n"
        "  | - here\n"
        "  = cell 2, line 9: b\n"
        "  = fix (safe): f\n"
        "  = cell 1:\n"
        "2 + import y\n"
        "  = cell 3:\n"
        "1 - x()\n"
        "  + y()\n"
    )


def test_a_cell_is_named_once_above_its_lines_and_again_after_those_of_another() -> None:
    evidence = (Evidence(1, 1, "here", 1), Evidence(2, 1, "there", 1), Evidence(2, 1, "back", 3))
    finding = at(1, 1, 2, path="a.ipynb", cell=3, evidence=evidence)
    cells: dict[int | None, list[str]] = {1: ["import torch", "a = 1"], 3: ["x()", "y()"]}
    options = ReportOptions(quiet=True, source=lambda _, cell: cells.get(cell))
    assert renderer("text")(run_of(finding), options).partition("  | ^\n")[2] == (
        "  = cell 1:\n1 | import torch\n  | - here\n2 | a = 1\n  | - there\n  = cell 3:\n2 | y()\n  | - back\n"
    )


def test_what_evidence_says_of_several_places_on_one_line_is_said_once() -> None:
    evidence = (Evidence(2, 12, "moved here"), Evidence(2, 5, "moved here"), Evidence(2, 5, "a batch"))
    finding = at(1, 1, 2, evidence=evidence)
    lines = ["x()", "x = x.to(d), y.to(d)"]
    options = ReportOptions(quiet=True, source=lambda *_: lines)
    assert renderer("text")(run_of(finding), options).partition("  | ^\n")[2] == (
        "2 | x = x.to(d), y.to(d)\n  |     -      - moved here\n  |     - a batch\n"
    )


@pytest.mark.parametrize("name", ["text", "github", "junit", "sarif"])
def test_evidence_that_differs_in_columns_that_are_not_shown_is_shown_once(name: str) -> None:
    finding = at(1, 1, 2, path="a.ipynb", cell=1, evidence=tuple(Evidence(7, n, "moved here", 2) for n in (3, 9)))
    assert renderer(name)(run_of(finding), ReportOptions()).count("cell 2, line 7: moved here") == 1


LINES = st.lists(st.sampled_from(["", "a", "    b", "c(d)"]), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(LINES, st.data())
def test_the_lines_of_a_patch_are_what_the_fix_makes(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    texts = data.draw(st.lists(st.sampled_from(["", "z", "\n", "\nz", "z\nb\n"]), min_size=3, max_size=3))
    edits = tuple(Edit(Places(text).span(*pair), new) for pair, new in zip(pairs, texts, strict=False))
    fix = Fix("f", Safety.SAFE, edits)
    made = list(lines)
    for change in reversed(patch.changes(fix, lambda _: lines) or []):
        assert made[change.line - 1 : change.line - 1 + len(change.old)] == list(change.old)
        made[change.line - 1 : change.line - 1 + len(change.old)] = change.new
    assert made == split_lines(applied(text, [FINDING._replace(fix=fix)]))


# -- width ---------------------------------------------------------------------------------------------

LONG = FINDING._replace(
    message="`torch.tensor` copies the array `x` in every step, and the host waits: " * 4,
    evidence=(
        Evidence(2, 1, "a long reason for it, " * 9),
        Evidence(4, 22, "日本語 " * 30),
        Evidence(99, 1, "gone " * 40),
    ),
    fix=Fix(
        "replace the call, " * 9, Safety.UNSAFE, (Edit(Span(4, 9, 4, 21), "torch.from_numpy" * 9),), "careful " * 40
    ),
)


def width(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


@pytest.mark.parametrize("columns", [40, 72, 120])
def test_nothing_is_wider_than_the_terminal(columns: int) -> None:
    output = rendered("text", run_of(LONG), width=columns, quiet=True)
    first, *others = output.splitlines()
    assert first == "pkg/train.py:4:9: TL101 tensor-copies-ndarray warning"
    assert max(map(width, others)) <= columns
    words = "".join(re.sub(r"^ *\d* [|=+-]", "", line) for line in others).split()
    for text in (LONG.message, *(evidence.text for evidence in LONG.evidence)):
        assert all(word in words for word in text.split())


def test_a_row_of_source_ends_between_words() -> None:
    names = [f"some_name_{number}" for number in range(20)]
    source = "\n\n\n" + "+".join(names)
    rows = rendered("text", run_of(at(4, 1, 260)), source, width=60, quiet=True).splitlines()
    shown = [row.partition("| ")[2] for row in rows if "some_name" in row]
    assert len(shown) > 3
    assert [name for row in shown for name in row.strip("+").split("+")] == names


def test_an_underline_up_to_the_edge_has_no_row_below() -> None:
    source = "\n\n\n" + "y = f(" + "a, " * 30 + "a)"
    output = rendered("text", run_of(at(4, 5, 99)), source, width=len(source) + 1, quiet=True)
    assert output.splitlines()[-1] == "  |     " + "^" * 94


def test_wrapped_lines_are_indented_under_the_first() -> None:
    output = rendered("text", run_of(LONG), width=72, quiet=True)
    assert "\n   = caveat: careful careful" in output
    assert "\n       careful careful" in output
    assert "\n   | - a long reason for it," in output
    assert "\n   |   a long reason for it," in output


def test_code_in_a_message_stays_on_one_line() -> None:
    message = "a word or two and then `torch.full((), 1.0, device=device)` here"
    output = rendered("text", run_of(PLAIN._replace(message=message)), width=50)
    assert "\n  `torch.full((), 1.0, device=device)` here\n" in output


def test_a_narrow_terminal_shows_all_of_what_is_underlined() -> None:
    source = "\n\n\n    y = torch.tensor(x, dtype=torch.float32, device=torch.device('cuda'), pin_memory=False)\n"
    output = rendered("text", run_of(at(4, 9, 90)), source, width=40, quiet=True)
    rows = output.splitlines()[4:]
    covered = [row[2 + len(" |") :] for row in rows[::2]]
    assert (
        "".join(covered).replace(" ", "")
        == "...torch.tensor(x,dtype=torch.float32,device=torch.device('cuda'),pin_memory=False)"
    )
    assert all("^" in row for row in rows[1::2])


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("500", 120), ("", 100), ("wide", 100)])
def test_the_width_is_that_of_columns_but_at_most_120(
    infos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, widest: int
) -> None:
    (infos / "m.py").write_text(INFO.rstrip() + "  # word" + " word" * 100 + "\n")
    monkeypatch.setenv("COLUMNS", columns)
    main(["--no-cache", "--show-info", "m.py"])
    longest = max(map(len, capsys.readouterr().out.splitlines()))
    assert widest - 20 < longest <= widest


# -- links and colors ----------------------------------------------------------------------------------

LINK = "\x1b]8;;https://example.org/tensor-copies-ndarray\x1b\\"


def test_rules_are_links_only_when_asked_for() -> None:
    assert f"4:9: {LINK}TL101\x1b]8;;\x1b\\ tensor" in rendered("text", run_of(PLAIN), links=True)
    folded = rendered("text", run_of(PLAIN._replace(severity=Severity.INFO)), links=True)
    assert folded.startswith(f"{LINK}TL101\x1b]8;;\x1b\\ tensor")
    assert "\x1b" not in rendered("text", run_of(PLAIN, ADVICE))


@pytest.mark.parametrize("url", ["https://example.org/\x1b]8;;", "https://example.org/\u202e", None])
def test_an_address_that_could_steer_the_terminal_is_no_link(url: str | None) -> None:
    run = run_of(PLAIN, rules=(RULE._replace(url=url),))
    assert "\x1b" not in rendered("text", run, links=True, verbose=1)


@pytest.mark.parametrize(
    ("environment", "terminal", "linked"),
    [
        ({}, True, False),
        ({"VTE_VERSION": "7006"}, True, True),
        ({"VTE_VERSION": "4600"}, True, False),
        ({"TERM": "xterm-kitty"}, True, True),
        ({"TERM_PROGRAM": "vscode"}, True, True),
        ({"TERM_PROGRAM": "vscode", "CI": "true"}, True, False),
        ({"TERM_PROGRAM": "vscode", "NO_COLOR": "1"}, True, False),
        ({"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, True, False),
        ({"TERM_PROGRAM": "vscode", "FORCE_COLOR": "1"}, False, False),
        ({"FORCE_HYPERLINK": "1"}, False, False),
        ({"FORCE_HYPERLINK": "1"}, True, True),
    ],
)
def test_links_are_for_terminals_that_open_them(
    infos: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    environment: dict[str, str],
    terminal: bool,
    linked: bool,
) -> None:
    for name in (
        "CI",
        "TERM",
        "TERM_PROGRAM",
        "VTE_VERSION",
        "DOMTERM",
        "KITTY_WINDOW_ID",
        "KONSOLE_VERSION",
        "WT_SESSION",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    main(["--no-cache", "--show-info", str(infos)])
    output = capsys.readouterr().out
    assert ("\x1b]8;;" in output) == linked


def test_the_lines_of_a_patch_are_red_and_green() -> None:
    fix = Fix("f", Safety.SAFE, (Edit(Span(4, 9, 4, 21), "g"),))
    output = rendered("text", run_of(PLAIN._replace(fix=fix)), color=True)
    assert "\x1b[31m4 -     y = torch.tensor(x)\x1b[0m\n\x1b[32m  +     y = g(x)\x1b[0m\n" in output


# -- anything ------------------------------------------------------------------------------------------

COLUMN = st.integers(1, 30)
SPANS = st.builds(lambda line, column, more, end: Span(line, column, line + more, end), COLUMN, COLUMN, COLUMN, COLUMN)
TEXT = st.text(max_size=60)
FOUND = st.builds(
    lambda span, message, evidence, edits, severity: PLAIN._replace(
        span=span,
        message=message,
        evidence=tuple(Evidence(*each) for each in evidence),
        fix=Fix(message, Safety.UNSAFE, tuple(Edit(*each) for each in edits), message) if edits else None,
        severity=severity,
    ),
    SPANS,
    TEXT,
    st.lists(st.tuples(COLUMN, COLUMN, TEXT), max_size=3),
    st.lists(st.tuples(SPANS, TEXT), max_size=2),
    st.sampled_from(Severity),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(FOUND, max_size=4), st.lists(st.text(max_size=90), max_size=40), st.integers(1, 130), st.booleans())
def test_any_findings_in_any_source_give_a_harmless_report(
    found: list[Finding], lines: list[str], columns: int, show_info: bool
) -> None:
    output = rendered("text", run_of(*found), "\n".join(lines), width=columns, show_info=show_info)
    assert controls(output) == []
    assert len(heads(output)) == sum(show_info or finding.severity is not Severity.INFO for finding in found)


# -- many findings -------------------------------------------------------------------------------------


def test_after_twenty_blocks_there_is_a_line_for_each_rule_and_file() -> None:
    first = [at(1, 1, 2, path=f"a{number:02}.py") for number in range(20)]
    rest = [at(line, 1, 2, path="b.py", message=f"line {line}") for line in range(1, 9)]
    rest += [at(3, 1, 2, path="c.py", rule="TL102", name="list-of-ndarrays")]
    output = rendered("text", run_of(*first, *rest))
    assert [head for head in heads(output) if head.startswith("a")] == [f"a{n:02}.py:1:1: TL101" for n in range(20)]
    assert output.endswith(
        "\n\n"
        "9 more findings, one line for each rule and file (in full: -v):\n"
        "b.py:1:1: TL101 tensor-copies-ndarray warning, and in lines 2, 3, 4, 5, 6 and 2 more\n"
        "c.py:3:1: TL102 list-of-ndarrays warning\n"
        "\n"
        "Found 29 warnings in 12 files.\n"
    )
    assert "more findings" not in rendered("text", run_of(*first, *rest), verbose=1)
    assert "more finding" not in rendered("text", run_of(*first))


def test_own_code_comes_before_tests_and_copies_of_other_projects() -> None:
    paths = ["src/train.py", "src/latest.py", "attest/run.py", "src/external/a.py", "tests/a.py", "src/test_a.py"]
    findings = [at(1, 1, 2, path=path) for path in reversed(paths)]
    found = [head.partition(":")[0] for head in heads(rendered("text", run_of(*findings)))]
    assert set(found[:3]) == set(paths[:3])
    error = at(1, 1, 2, path="third_party/a.py", severity=Severity.ERROR)
    assert heads(rendered("text", run_of(error, findings[-1])))[0].startswith("src/train.py")


def test_infos_that_are_not_shown_count_as_fixable_since_they_are_fixed_as_well() -> None:
    fix = Fix("do it", Safety.SAFE, (Edit(Span(1, 1, 1, 2), "y"),))
    warned, advised = at(1, 1, 2, fix=fix), at(2, 1, 2, fix=fix, severity=Severity.INFO, rule="TL103")
    for shown in (False, True):
        assert "2 fixable with --fix." in rendered("text", run_of(warned, advised), show_info=shown)

"""Suppression comments: what they silence, and which of them silenced nothing."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torchlint
from torchlint.run.linting.suppress import Suppressions, scan, unused_findings
from torchlint.text.comments import comments
from torchlint.text.lines import Places

KNOWN = {
    "TL000": "syntax-error",
    "TL001": "unused-suppression",
    "TL101": "tensor-copies-ndarray",
    "TL701": "hardcoded-cuda",
}


def silences(text: str, rule: str = "TL101", first: int = 1, last: int | None = None) -> bool:
    return scan(text).matches(rule, KNOWN[rule], first, last or first)


def messages(text: str | Suppressions, active: set[str] | None = None) -> list[str]:
    found = scan(text) if isinstance(text, str) else text
    return [unused.message for unused in found.unused(KNOWN, active or set(KNOWN))]


def found_comments(text: str) -> list[str]:
    return [text[start:end] for start, end in comments(text)]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "x = '# noqa'\n",
        'x = """\n# noqa\n"""\n# end\n',
        "x = 'a\\\n# noqa'\n",
        "x = r'\\'# noqa'\n",
        "x = f'{d['# noqa']}'\n",
        "x = f'{a:# noqa}'\n",
        "x = f'''{a!r:{w}# noqa}'''\n",
        "x = rf'{{# noqa}}'\n",
        "x = f'\\N{NUMBER SIGN} # noqa'\n",
        "x = f'{ {1: \"# noqa\"}[1] }'\n",
        "x = 1  # no noqa: this is prose\n",
        "x = 1  # noqa: E501\n",
        "x = 1  # noqa: E501,F401 too long\n",
        "x = 1  # noqa: E501 as TL101 says\n",
        "x = 1  # noqas\n",
        "# flake8: noqa\n",
        "x = 1  # torchlint: ignore[TL701]\n",
        "x = 1  # torchlint: ignore[TL701] not TL101\n",
        "x = 1  # ruff: ignore[TL101]\n",
    ],
)
def test_what_is_no_suppression_of_the_rule_silences_nothing(text: str) -> None:
    assert not any(silences(text, first=line) for line in (1, 2, 3))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#NOQA",
        "# NoQA because",
        "# noqa:",
        "# noqa: TL101",
        "# noqa:tl101",
        "# noqa : E501, TL101 - written to later",
        "# noqa: E501 tensor-copies-ndarray",
        "# type: ignore  # noqa: TL101",
        "# torchlint: ignore",
        "#torchlint:ignore[TL101]",
        "# Torchlint: Ignore[ hardcoded-cuda , tensor-copies-ndarray ] it is written to later",
        "# torchlint: ignore[TL101] see #12",
        "# pylint: disable=x # torchlint: ignore[TL101]  # noqa: E501",
    ],
)
def test_a_suppression_silences_its_line(comment: str) -> None:
    assert silences(f"x = 1  {comment}\n")
    assert silences(f"\ufeffy = '''\r\n'''\rx = f'{{x}}'  {comment}", first=3)
    assert not silences(f"x = 1  {comment}\n", first=2)


def test_a_comment_on_any_line_of_the_statement_counts() -> None:
    text = "x = f(\n    1,  # torchlint: ignore[TL101]\n    2,\n)\n"
    assert silences(text, first=1, last=4)
    assert silences(text, first=2, last=2)
    assert not silences(text, first=3, last=4)


def test_lines_are_counted_over_every_kind_of_newline() -> None:
    text = "a\r\nb\rc\n\x0cd\n\ne  # noqa: TL101\r\n# noqa: TL701"
    assert silences(text, first=6)
    assert silences(text, "TL701", first=7)


def test_a_comment_inside_a_field_of_an_f_string_counts() -> None:
    assert silences('x = f"""{\n  y  # noqa: TL101\n}"""\n', first=2)


def test_the_file_is_skipped_by_a_comment_on_its_own_line() -> None:
    assert scan("import torch\n\n  # torchlint: skip-file generated\n").skip_file
    assert not scan("'''\n# torchlint: skip-file\n'''\n").skip_file


def test_skip_file_behind_code_does_not_skip_and_says_so() -> None:
    found = scan("x = 1  # torchlint: skip-file\n")
    assert not found.skip_file
    assert "line of its own" in messages(found)[0]


@pytest.mark.parametrize(
    "text",
    ["x = 1  # noqa\n", "x = 1  # noqa: E501\n", "x  # noqa: the-bar is-low\n", "# torchlint is a linter\n"],
)
def test_what_is_not_torchlints_own_is_never_reported(text: str) -> None:
    assert messages(text) == []


def test_a_suppression_that_was_needed_is_not_reported() -> None:
    found = scan("x  # noqa: TL101  # torchlint: ignore\n")
    assert found.matches("TL101", "tensor-copies-ndarray", 1, 1)
    assert messages(found) == []


def test_a_rule_that_did_not_run_is_not_reported() -> None:
    assert messages("x  # noqa: TL101\n", {"TL000", "TL001"}) == []


def test_an_unused_code_is_reported_where_it_stands() -> None:
    found = scan("\nx = 'é'  # torchlint: ignore[TL701, tensor-copies-ndarray] why\n")
    found.matches("TL701", "hardcoded-cuda", 2, 2)
    (unused,) = found.unused(KNOWN, set(KNOWN))
    assert (unused.line, unused.column, unused.end_column) == (2, 37, 58)
    assert unused.message == "unused suppression: TL101 tensor-copies-ndarray is not found here; remove it"


def test_an_unused_bare_ignore_is_reported() -> None:
    (unused,) = scan("x  # torchlint: ignore  \n").unused(KNOWN, set(KNOWN))
    assert (unused.column, unused.end_column) == (4, 23)
    assert "nothing is found here" in unused.message


def without_unused(text: str) -> str:
    """The text after the fixes of TL001; a range that two fixes share is edited once."""
    edits = {
        finding.fix.edits[0] for finding in unused_findings(scan(text), "a.py", text, KNOWN, set(KNOWN)) if finding.fix
    }
    for edit in sorted(edits, reverse=True):
        start, end = Places(text).offsets(edit.span)
        text = text[:start] + edit.text + text[end:]
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# torchlint: ignore[TL101]", ""),
        ("# torchlint: ignore[TL101]  keep this", "  # keep this"),
        ("# noqa: TL101 - the reader shares memory", "  # the reader shares memory"),
        ("# noqa: TL101 -", ""),
        ("# noqa: TL101, not needed", "  # not needed"),
        ("# noqa: TL101 (why)  ", "  # (why)  "),
        ("# type: ignore  # torchlint: ignore[TL101]  why", "  # type: ignore  # why"),
        ("# torchlint: ignore[TL101]: why  # type: ignore", "  # why  # type: ignore"),
        ("# torchlint: ignore[TL101] see #123", "  # see #123"),
        ("# noqa: E501,TL101  why", "  # noqa: E501  why"),
        ("# noqa: TL101,E501  why", "  # noqa: E501  why"),
        ("# torchlint: ignore[TL101, TL701] of both", "  # of both"),
        ("# noqa: TL101 für später", "  # für später"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", ""])
def test_the_text_after_an_unused_suppression_stays_as_a_comment(before: str, after: str, newline: str) -> None:
    assert without_unused(f"x = 1  {before}{newline}") == f"x = 1{after}{newline}"


def test_a_suppression_with_text_on_its_own_line_leaves_a_line_with_the_text() -> None:
    assert without_unused("  # torchlint: ignore[TL101] why\nx\n") == "  # why\nx\n"
    assert without_unused("  # torchlint: ignore[TL101]\nx\n") == "x\n"


@pytest.mark.parametrize("rest", ["type: ignore", "noqa", "fmt: off", "-*- coding: latin-1 -*-"])
def test_text_that_would_become_a_directive_of_another_tool_is_left_where_it_is(rest: str) -> None:
    text = f"x = 1  # torchlint: ignore[TL101] {rest}\n"
    assert messages(text)
    assert without_unused(text) == text


@pytest.mark.parametrize("text", ["x  # noqa: TL102\n", "x  # torchlint: ignore[tensor-copy-ndarray]\n"])
def test_an_unknown_rule_is_reported_with_the_nearest(text: str) -> None:
    (message,) = messages(text)
    assert "unknown rule" in message
    assert "did you mean" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# torchlint: ignroe[TL101]", "did you mean `ignore`?"),
        ("# torchlint: skip_file", "did you mean `skip-file`?"),
        ("# torchlint: whatever", "unknown directive 'whatever'"),
        ("# torchlint:", "unknown directive ''"),
        ("# torchlint: ignore[]", "names no rule"),
        ("# torchlint: ignore[TL101", "malformed"),
        ("# torchlint: ignore TL101", "malformed"),
    ],
)
def test_a_malformed_suppression_is_reported_and_silences_nothing(text: str, words: str) -> None:
    assert words in messages(text)[0]
    assert not silences(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # torchlint: ignore[TL203]\n",
        "x = 1  # noqa: TL203\n",
        "x = 1  # noqa: manual-pin-then-copy\n",
        "x = 1  # torchlint: ignore[manual-pin-then-copy] the batch is small\n",
    ],
)
def test_a_suppression_of_a_retired_rule_says_that_it_is_gone_and_can_be_deleted(text: str) -> None:
    found = torchlint.lint_source(text)
    (finding,) = found.findings
    assert finding.rule == "TL001"
    assert "TL203 manual-pin-then-copy was retired: measured on a GPU" in finding.message
    assert finding.fix is not None


def test_reports_of_unused_suppressions_can_be_suppressed() -> None:
    assert messages("x  # torchlint: ignore[TL101, unused-suppression]\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "'",
        "'''",
        'f"{',
        "f'{x:",
        'f"""{(',
        "f'}' # noqa",
        "x = 'abc\n# noqa",
        "f'{(}' # noqa",
        "\\",
        ")]} # noqa",
    ],
)
def test_broken_text_is_scanned_without_error(text: str) -> None:
    scan(text + "\n# torchlint: ignore[TL101]\n# noqa").unused(KNOWN, set(KNOWN))


def test_after_an_unclosed_string_the_next_line_is_scanned() -> None:
    assert silences("x = 'abc\ny = 1  # noqa: TL101\n", first=2)
    assert silences("x = f'abc\ny = 1  # noqa: TL101\n", first=2)


@given(st.text(alphabet="'\"#{}[]():\\ frN\n\rxnoqa", max_size=60))
def test_any_text_is_scanned_and_comments_lie_in_order(text: str) -> None:
    spans = list(comments(text))
    assert all(text[start] == "#" and start < end for start, end in spans)
    assert spans == sorted(spans)
    scan(text + "# noqa").unused(KNOWN, set(KNOWN))


@pytest.mark.parametrize(
    "folder", [Path(torchlint.__file__).parent, Path(__file__).parent, Path(tokenize.__file__).parent]
)
def test_comments_are_those_that_python_sees(folder: Path) -> None:
    for path in sorted(folder.glob("*.py")):
        data = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
        tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
        assert found_comments(text) == [t.string for t in tokens if t.type == tokenize.COMMENT], path

"""Every fixture: what is marked is found, nothing else is, and form does not matter."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from tests import harness

FILES = harness.files()
LABELS = [str(path.relative_to(harness.FIXTURES)) for path in FILES]
each_file = pytest.mark.parametrize("path", FILES, ids=LABELS)


def lines(text: str | bytes, path: Path) -> list[int]:
    return [finding.span.line for finding in harness.lint(text, path)]


@each_file
def test_marked_lines_are_found_and_all_others_are_silent(path: Path) -> None:
    found = harness.differences(path)
    assert not found, "\n" + "\n".join(found)


@each_file
def test_two_runs_agree(path: Path) -> None:
    assert harness.lint(path.read_bytes(), path) == harness.found(path)


@each_file
def test_no_rule_finds_anything_in_code_that_cannot_run(path: Path) -> None:
    text = path.read_text(encoding="utf-8").removeprefix("from __future__ import annotations\n")
    assert lines(f"raise SystemExit\n{text}", path) == []
    indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    assert lines(f"if False:\n{indented}\n    pass\n", path) == []


@each_file
def test_suppressing_every_finding_silences_every_finding(path: Path) -> None:
    """One comment or the other, in turn."""
    rewritten = path.read_text(encoding="utf-8").split("\n")
    wanted = sorted({finding.span.line for finding in harness.found(path)})
    for line, comment in zip(wanted, itertools.cycle(("torchlint: ignore[{}]", "noqa: {}"))):
        if not rewritten[line - 1].endswith("\\"):
            rewritten[line - 1] += f"  # {comment.format(harness.rule_of(path).id)}"
    assert lines("\n".join(rewritten), path) == []


@each_file
def test_newlines_indentation_and_the_end_of_the_file_do_not_matter(path: Path) -> None:
    text = _with_tabs(path.read_text(encoding="utf-8")).rstrip("\n").replace("\n", "\r\n")
    assert lines(text.encode(), path) == [finding.span.line for finding in harness.found(path)]


def _with_tabs(text: str) -> str:
    """Indentation by tabs, outside strings of several lines."""
    inside = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    done = []
    for number, line in enumerate(text.split("\n"), 1):
        body = line.lstrip(" ")
        width = len(line) - len(body)
        done.append(line if number in inside or width % 4 else "\t" * (width // 4) + body)
    return "\n".join(done)


@pytest.mark.parametrize("name", list(harness.folders()))
def test_a_fixture_shows_a_dozen_guilty_and_more_innocent_shapes(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in harness.folders()[name]]
    flagged = sum(mark.expected for text in texts for mark in harness.marks(text).values())
    innocent = sum(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and "innocent" in node.name.lower()
        for text in texts
        for node in ast.walk(ast.parse(text))
    )
    assert flagged >= 12, f"{flagged} marked lines"
    assert innocent >= 15, f"{innocent} functions and classes with 'innocent' in their names"

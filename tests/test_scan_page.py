"""The HTML page of a scan's summary in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from tests.browser import TOO_FAINT, opened
from torchlint.scan.html import page
from torchlint.scan.summary import Example, Left, Repository, Rule, Summary

LONG = "organization-with-a-long-name/" + "repository_with_a_name_without_breaks" * 3


def rule(number: str, severity: str, findings: int) -> Rule:
    """A rule that found something in a repository with a long name."""
    example = Example(LONG, "folder/" * 20 + "a.py:3:12", "`x.cpu()` " + "copies `" + "very_long_name." * 20 + "x`")
    words = ("A tensor is copied to the host and back", "https://example.org/rule")
    return Rule(number, f"rule-{number.lower()}", severity, *words, findings, 1, 0.5, (example,))


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a scan that found something, with long names."""
    found = Summary(
        folder="/data/" + "scan" * 40,
        complete=False,
        versions={"torchlint": "0.1.0", "ray": "2.60.0"},
        source="s3://bucket/" + "data" * 40,
        files={"linted": 1_234_567, "failed": 1},
        repositories={"linted": 2},
        bytes=1_000_000,
        linted=2,
        hit=1,
        findings={"error": 1, "warning": 12_345},
        rules=(rule("TL507", "error", 1), rule("TL201", "warning", 12_345)),
        most=(Repository(LONG, 12_346, 3, "in-parts"),),
        left_out=(Left(f"{LONG}: a.py", "the process ended while this file was linted"),),
        more_left_out=2,
    )
    target = tmp_path_factory.mktemp("summary") / "scan.html"
    target.write_text(page(found), encoding="utf-8")
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_the_page_of_a_scan_fits_the_window_and_is_legible(
    chromium: Any, summary: Path, scheme: str, width: int
) -> None:
    with opened(chromium, summary, width=width, scheme=scheme) as seen:
        seen.page.click("#unfold")
        assert not seen.overflows
        assert seen.evaluate(TOO_FAINT) == []
        words = seen.page.inner_text("body")
        assert "1 error" in words
        assert "12,345 warnings" in words


def test_the_name_of_a_rule_leads_to_its_examples(chromium: Any, summary: Path) -> None:
    with opened(chromium, summary) as seen:
        assert not seen.evaluate("document.getElementById('TL201').open")
        seen.page.click("a[href='#TL201']")
        seen.page.wait_for_function("document.getElementById('TL201').open")

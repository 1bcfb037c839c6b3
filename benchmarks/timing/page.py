"""The page that shows the measurements."""

from __future__ import annotations

from pathlib import Path

from timing.record import BenchmarkError

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"


def write(text: str, page: Path = PAGE) -> None:
    """Put the text between the markers of the page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchmarkError(f"{page.name} lacks {BEGIN} or {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")

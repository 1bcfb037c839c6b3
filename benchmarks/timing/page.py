"""The page that shows the measurements."""

from __future__ import annotations

from pathlib import Path

from timing.record import BenchmarkError

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "speed.md"


def write(part: str, text: str, page: Path = PAGE) -> None:
    """Put the text between the markers of a part of the page."""
    opening, closing = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    before, begin, rest = page.read_text(encoding="utf-8").partition(opening)
    _, end, after = rest.partition(closing)
    if not begin or not end:
        raise BenchmarkError(f"{page.name} lacks {opening} or {closing}")
    page.write_text(f"{before}{opening}\n{text}\n{closing}{after}", encoding="utf-8")

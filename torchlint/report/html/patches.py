"""The patch that a fix makes, as lines for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from torchlint.model import Finding
from torchlint.report.html.source import written_out
from torchlint.text.visible import shows

_KINDS = {"+": "add", "-": "del", "@": "at"}
# Larger patches are left to --diff.
_LINES, _COLUMNS = 60, 1000


class Patch(NamedTuple):
    """A patch: its lines with their kind, and whether its text can be applied as it is shown."""

    lines: tuple[tuple[str, Markup], ...]
    hunks: int
    exact: bool


def patch(finding: Finding, lines: Sequence[str]) -> Patch | None:
    """The patch of a finding's fix alone; None where there is none, or where the source has changed."""
    fix = finding.fix
    if fix is None or any(e.span.end_line > len(lines) or e.cell != finding.cell for e in fix.edits):
        return None
    from torchlint.run.fixing.fix import applied
    from torchlint.run.fixing.fixer import file_diff

    text = "\n".join(lines)
    try:
        before, after = (each.encode() for each in (text, applied(text, [finding])))
        made = file_diff(finding.path, before, after, cell=finding.cell).decode()
    except ValueError:  # a name or a text that no patch can contain
        return None
    written = made.split("\n")[:-1]
    if not written or len(written) > _LINES or max(map(len, written)) > _COLUMNS:
        return None
    exact = all(shows(character) or character in "\t\n" for character in made)
    return Patch(tuple(map(_line, written)), sum(line.startswith("@@") for line in written), exact)


def _line(text: str) -> tuple[str, Markup]:
    head = text.startswith(("--- ", "+++ "))
    return "head" if head else _KINDS.get(text[:1], "same"), _tabbed(text)


def _tabbed(text: str) -> Markup:
    return Markup("&#9;").join(written_out(part) for part in text.split("\t"))

"""The summary of a scan as one HTML file that loads nothing."""

from __future__ import annotations

from torchlint.report.html.pages import page as whole
from torchlint.scan.summary import Summary, headline, states


def page(summary: Summary) -> str:
    """The page for a summary."""
    return whole(
        "scan.html",
        title=headline(summary),
        summary=summary,
        severities=[(name, count) for name in ("error", "warning", "info") if (count := summary.findings.get(name, 0))],
        files=states(summary.files),
        repositories=states(summary.repositories),
    )

"""How text reports look: their width, colors and links."""

from __future__ import annotations

from typing import NamedTuple

from torchlint.model import Finding, RuleInfo, Severity
from torchlint.report.shared import rule_url
from torchlint.text.visible import visible

BOLD, GUTTER, SECONDARY, REMOVED, ADDED = "1", "34", "36", "31", "32"
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}


class Style(NamedTuple):
    """The width of a report in cells, and whether it has colors and hyperlinks."""

    width: int
    color: bool
    links: bool

    def paint(self, text: str, code: str) -> str:
        """Text in a color."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def rule(self, finding: Finding, rules: dict[str, RuleInfo]) -> str:
        """The id of a rule in the color of the finding; with links, one that opens the rule's page (OSC 8)."""
        shown = self.paint(visible(finding.rule), COLORS[finding.severity])
        url = rule_url(finding, rules) if self.links else None
        if not url or not (url.isascii() and url.isprintable()):
            return shown
        return f"\x1b]8;;{url}\x1b\\{shown}\x1b]8;;\x1b\\"

"""The severities that a configuration gives to findings: by the preset ``strict``, and by the table ``severity``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchlint.config.config import Config
from torchlint.config.presets import STRICT, Facts
from torchlint.config.select import most_specific, selections
from torchlint.model import SYNTAX_ERROR, Finding, Severity


def with_severities(findings: Iterable[Finding], config: Config, rules: Sequence[Facts]) -> list[Finding]:
    """The findings with their severities under a configuration.

    ``strict`` makes warnings of infos. The table ``severity`` applies after that, to every finding of a rule, including
    those that the rule reports as ``info``. Code that is not valid Python remains an error, and Python 2 a notice.
    """
    found = list(findings)
    if not found:
        return found
    if any(STRICT in (*(each.select or ()), *each.extend_select) for each in selections(config)):
        found = [f._replace(severity=Severity.WARNING) if _is_advice(f) else f for f in found]
    given = most_specific(config.severity, rules)
    given.pop(SYNTAX_ERROR, None)
    return [f._replace(severity=given.get(f.rule, f.severity)) for f in found] if given else found


def _is_advice(finding: Finding) -> bool:
    return finding.severity is Severity.INFO and not finding.is_notice

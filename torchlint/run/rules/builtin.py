"""The findings that torchlint reports without a rule class, TL000 and TL001; their pages stand beside this module."""

from __future__ import annotations

from torchlint.base.pages import Page
from torchlint.groups import group_of
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION, RuleInfo, Severity
from torchlint.rule import DOCS_URL


def _info(rule_id: str, name: str, severity: Severity, summary: str, fix: str) -> RuleInfo:
    made = RuleInfo(
        id=rule_id,
        name=name,
        topic="lint",
        severity=severity,
        summary=summary,
        default=True,
        fix=fix,
        since="0.1.0",
        page=Page(__name__, name),
        url=DOCS_URL.format(name=name),
    )
    return made._replace(group=group_of(made))


BUILT_IN = (
    _info(SYNTAX_ERROR, "syntax-error", Severity.ERROR, "The file cannot be read as Python", "never"),
    _info(UNUSED_SUPPRESSION, "unused-suppression", Severity.INFO, "A suppression suppresses nothing", "sometimes"),
)

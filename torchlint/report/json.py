"""The JSON report, in torchlint's own schema. Its keys are a stable interface."""

from __future__ import annotations

from typing import Any

from torchlint.base.version import __version__
from torchlint.model import Evidence, Finding, Fix, RuleInfo, RunResult, Span, Understood
from torchlint.report import ReportOptions, summary
from torchlint.report.causes import places
from torchlint.report.observed import observed_document, recorded_document
from torchlint.report.shared import by_severity, dump, fixable, rule_url, rules_by_id

SCHEMA = 1


def render(run: RunResult, options: ReportOptions) -> str:
    """The document as text, in pure ASCII."""
    return dump(_counted(run) if options.statistics else document(run))


def _counted(run: RunResult) -> dict[str, Any]:
    """The document with the number of findings of each rule, the most frequent first, instead of the findings."""
    keys = ("rule", "name", "count", "fixable")
    whole = document(run)
    del whole["findings"]
    return {**whole, "statistics": [dict(zip(keys, row, strict=True)) for row in summary.counts(run)]}


def document(run: RunResult) -> dict[str, Any]:
    """A run as plain data."""
    rules, found = rules_by_id(run), summary.without_notices(run.findings)
    return {
        "schema": SCHEMA,
        "torchlint": __version__,
        "findings": [_with_locations(finding, rules) for finding in run.findings],
        "errors": [{"path": p.path, "cell": p.cell, "line": p.line, "message": p.message} for p in run.problems],
        "notes": list(run.notes),
        "understood": _understood(run.understood) if run.understood is not None else None,
        "summary": {
            **{severity.value: count for severity, count in by_severity(found).items()},
            "notices": len(run.findings) - len(found),
            "files": run.files,
            "suppressed": run.suppressed,
            "baselined": run.baselined,
            "unchanged": run.unchanged,
            "obsolete": sum(entry.times for entry in run.obsolete),
            "fixable": fixable(run.findings),
            "fixed": len(run.repairs.fixed) if run.repairs is not None else 0,
            "unchecked": run.unchecked,
            "unfollowed": _unfollowed(run.understood) if run.understood is not None else None,
        },
        "recorded": recorded_document(run.recorded) if run.recorded is not None else None,
    }


def _understood(known: Understood) -> dict[str, Any]:
    return {
        "loops": [loop._asdict() for loop in known.loops],
        "unresolved": [one._asdict() for one in known.unresolved],
        "on_accelerator": known.on_accelerator,
        "unfinished": [one._asdict() for one in known.unfinished],
    }


def _unfollowed(known: Understood) -> dict[str, int]:
    """How much of the programs was not followed to the end."""
    bodies, functions = summary.unfollowed(known)
    return {"files": len(bodies), "functions": functions}


def finding_document(finding: Finding, rules: dict[str, RuleInfo]) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "rule": finding.rule,
        "name": finding.name,
        "topic": finding.topic,
        "group": rules[finding.rule].group if finding.rule in rules else None,
        "severity": finding.severity.value,
        "path": finding.path,
        **_span(finding.span),
        "message": finding.message,
        "url": rule_url(finding, rules),
        "cell": finding.cell,
        "heat": finding.heat.value if finding.heat else None,
        "evidence": [*map(_evidence, finding.evidence)],
        "fix": _fix(finding.fix) if finding.fix else None,
        "fingerprint": finding.fingerprint,
        **({"seen": [observed_document(one) for one in finding.seen]} if finding.seen else {}),
    }


def _evidence(one: Evidence) -> dict[str, Any]:
    return {"cell": one.cell, "line": one.line, "column": one.column, "text": one.text, "context": one.context}


def _with_locations(finding: Finding, rules: dict[str, RuleInfo]) -> dict[str, Any]:
    return {**finding_document(finding, rules), "locations": [_location(place) for place in places(finding)]}


def _location(place: Finding) -> dict[str, Any]:
    return {
        "cell": place.cell,
        **_span(place.span),
        "message": place.message,
        "fix": _fix(place.fix) if place.fix else None,
        "fingerprint": place.fingerprint,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "caveat": fix.caveat,
        "edits": [{"cell": edit.cell, **_span(edit.span), "text": edit.text} for edit in fix.edits],
    }


def _span(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }

"""SARIF 2.1.0, for code scanning and SARIF viewers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from torchlint.base.version import REPOSITORY, __version__
from torchlint.model import Evidence, Finding, Fix, Problem, RuleInfo, RunResult, Severity, Span
from torchlint.report import ReportOptions
from torchlint.report.shared import dump, evidence_place, file_lines, in_notebook, rule_url, rules_by_id, uri
from torchlint.rule import is_core

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "torchlint/v1"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# Code scanning sorts by this property of a rule.
PROBLEM_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}


def render(run: RunResult, options: ReportOptions) -> str:
    """A log file with one run."""
    return dump(document(run, options))


def document(run: RunResult, options: ReportOptions) -> dict[str, Any]:
    """A log with one run, as plain data."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(run, options)]}


def _run(run: RunResult, options: ReportOptions) -> dict[str, Any]:
    rules = [_rule(rule) for rule in run.rules] + _unlisted(run)
    indices = {rule["id"]: index for index, rule in enumerate(rules)}
    return {
        "tool": {
            "driver": {
                "name": "torchlint",
                "version": __version__,
                "semanticVersion": __version__,
                "informationUri": REPOSITORY,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder that torchlint was run in."}}},
        "invocations": [
            {
                "executionSuccessful": not run.problems,
                "toolExecutionNotifications": [_notification(problem) for problem in run.problems],
            }
        ],
        "results": [_result(finding, indices[finding.rule], options) for finding in run.findings],
    }


def _rule(rule: RuleInfo) -> dict[str, Any]:
    page = rule.documentation
    help_text = page or rule.summary
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _found(page) or rule.summary},
        "help": {"text": help_text, "markdown": help_text},
        **({"helpUri": rule.url} if rule.url else {}),
        "defaultConfiguration": {"enabled": rule.default, "level": LEVELS[rule.severity]},
        "properties": {
            "tags": ["pytorch", rule.topic],
            "problem.severity": PROBLEM_SEVERITIES[rule.severity],
            **({"package": rule.package} if not is_core(rule.id) else {}),
        },
    }


def _found(page: str) -> str:
    section = re.search(r"^## What it finds\n+(.+?)(?=\n\n|\n## |\Z)", page, re.MULTILINE | re.DOTALL)
    return " ".join(section[1].split()) if section else ""


def _unlisted(run: RunResult) -> list[dict[str, Any]]:
    listed = rules_by_id(run)
    names = {f.rule: f for f in reversed(run.findings) if f.rule not in listed}
    return [
        {"id": rule, "name": finding.name, **({"helpUri": url} if (url := rule_url(finding, listed)) else {})}
        for rule, finding in sorted(names.items())
    ]


def _result(finding: Finding, index: int, options: ReportOptions) -> dict[str, Any]:
    facts = {
        "topic": finding.topic,
        "heat": finding.heat.value if finding.heat else None,
        "cell": finding.cell,
        "seen": _seen(finding),
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": in_notebook(finding) + finding.message},
        "locations": [_place(finding, options)],
        "properties": {key: value for key, value in facts.items() if value is not None},
    }
    others = [_also(place) for place in finding.places[1:]]
    if finding.evidence or others:
        result["relatedLocations"] = [
            _related(number, finding.path, evidence, options)
            for number, evidence in enumerate(_places([*finding.evidence, *others]), 1)
        ]
    if finding.fingerprint:
        result["partialFingerprints"] = {FINGERPRINT: finding.fingerprint}
    if finding.fix and finding.cell is None:  # the columns of a notebook's file are not those of its code
        result["fixes"] = [_fix(finding.path, finding.fix)]
    return result


def _seen(finding: Finding) -> list[dict[str, Any]] | None:
    """What recordings of runs show at its lines, as in the JSON report."""
    if not finding.seen:
        return None
    from torchlint.report.observed import observed_document

    return [observed_document(one) for one in finding.seen]


def _also(place: Finding) -> Evidence:
    """A further place of a finding, as evidence at its position."""
    return Evidence(place.span.line, place.span.column, place.message, place.cell)


def _place(finding: Finding, options: ReportOptions) -> dict[str, Any]:
    """The location of a finding; in a notebook, lines of the file, and the cell as a logical location."""
    if finding.cell is None:
        return _location(finding.path, _region(finding.span))
    first, last = file_lines(finding, options)
    region = {"startLine": first, "endLine": last or first} if first is not None else None
    return {**_location(finding.path, region), "logicalLocations": [_cell(finding.cell)]}


def _cell(cell: int) -> dict[str, Any]:
    return {"name": f"cell {cell}", "kind": "cell"}


def _places(evidence: Iterable[Evidence]) -> Iterable[Evidence]:
    """What has a location of its own; locations in notebooks have no columns."""
    return dict.fromkeys(each if each.cell is None else each._replace(column=1) for each in evidence)


def _related(number: int, path: str, evidence: Evidence, options: ReportOptions) -> dict[str, Any]:
    region: dict[str, int] | None = {"startLine": evidence.line, "startColumn": evidence.column}
    text = evidence.text
    if evidence.cell is not None:
        line = options.file_line(path, evidence.cell, evidence.line)
        region = {"startLine": line} if line is not None else None
        text = f"{evidence_place(evidence)}: {text}"
    return {"id": number, **_location(path, region), "message": {"text": text}}


def _fix(path: str, fix: Fix) -> dict[str, Any]:
    facts = {"safety": fix.safety.value, "caveat": fix.caveat}
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
        "properties": {key: value for key, value in facts.items() if value is not None},
    }


def _notification(problem: Problem) -> dict[str, Any]:
    region = {"startLine": problem.line} if problem.line else None
    return {
        "level": "error",
        "message": {"text": problem.message},
        "locations": [_location(problem.path, region)],
    }


def _location(path: str, region: dict[str, int] | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if region is not None:
        physical["region"] = region
    return {"physicalLocation": physical}


def _artifact(path: str) -> dict[str, str]:
    if PurePath(path).is_absolute():
        return {"uri": uri(path)}
    return {"uri": uri(path), "uriBaseId": ROOT}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }

"""Shared parts of reports: counts, links, paths."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torchlint.model import Evidence, Finding, Problem, RuleInfo, RunResult, Safety, Severity
from torchlint.text.visible import visible, visible_path, without_commands

if TYPE_CHECKING:
    from torchlint.report import ReportOptions

SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def dump(data: object) -> str:
    """``data`` as JSON in pure ASCII.

    Surrogates of undecodable file names are escaped as text: many parsers reject a document with unpaired surrogates.
    """
    import json

    text = json.dumps(data, indent=2)
    if r"\ud" in text:
        whole = json.dumps(data, ensure_ascii=False)
        text = json.dumps(json.loads(re.sub("[\ud800-\udfff]", _written_out, whole)), indent=2)
    return without_commands(text, r"\u0023") + "\n"


def _written_out(surrogate: re.Match[str]) -> str:
    return "\\" + ascii(surrogate[0])[1:-1]


def place(path: str, *numbers: int | None, cell: int | None = None) -> str:
    """``path:line:column`` as far as known; in a notebook, the cell comes before the line."""
    parts = [visible_path(path), *([f"cell {cell}"] if cell is not None else [])]
    return ":".join(parts + [str(number) for number in numbers if number is not None])


def in_notebook(finding: Finding) -> str:
    """What formats that know only files say before a message: the cell and the line in it; empty for other files."""
    return f"cell {finding.cell}, line {finding.span.line}: " if finding.cell is not None else ""


def evidence_place(evidence: Evidence) -> str:
    """The line of evidence in words, with its cell."""
    cell = f"cell {evidence.cell}, " if evidence.cell is not None else ""
    return f"{cell}line {evidence.line}"


def evidence_lines(evidence: Iterable[Evidence]) -> list[str]:
    """The evidence in words, with its place; what says the same of one line is said once."""
    return list(dict.fromkeys(f"{evidence_place(each)}: {visible(each.text)}" for each in evidence))


def file_lines(finding: Finding, options: ReportOptions) -> tuple[int | None, int | None]:
    """The first and last line of a finding in its file; None for a notebook that can no longer be read."""
    span = finding.span
    if finding.cell is None:
        return span.line, span.end_line
    first = options.file_line(finding.path, finding.cell, span.line)
    return first, options.file_line(finding.path, finding.cell, span.end_line) or first


def problem_line(problem: Problem) -> str:
    """A problem on one line."""
    return f"{place(problem.path, problem.line, cell=problem.cell)}: error: {visible(problem.message)}"


def by_severity(findings: Iterable[Finding]) -> dict[Severity, int]:
    """The number of findings of each severity, most severe first."""
    counts = Counter(finding.severity for finding in findings)
    return {severity: counts[severity] for severity in SEVERITIES}


def fixable(findings: Iterable[Finding], safety: Safety | None = None) -> int:
    """The number of places with a fix, or with a fix of the given safety, which is what ``--fix`` counts."""
    fixes = (place.fix for finding in findings for place in (finding.places or (finding,)))
    return sum(fix is not None and safety in (None, fix.safety) for fix in fixes)


def plural(count: int, noun: str) -> str:
    """A count and its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_words(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def listed(names: Sequence[str], most: int, *, whole: bool = False) -> str:
    """The names in words; of many only the first, and how many more there are, unless the ``whole`` list is wanted."""
    rest = 0 if whole else len(names) - most
    return in_words([*names[:most], f"{rest} more"] if rest > 0 else names)


def rules_by_id(run: RunResult) -> dict[str, RuleInfo]:
    """The rules of a run by id."""
    return {rule.id: rule for rule in run.rules}


def rule_url(finding: Finding, rules: dict[str, RuleInfo]) -> str | None:
    """The URL of the documentation of a finding's rule; None if a rule of another package has none."""
    known = rules.get(finding.rule)
    if known is not None:
        return known.url
    from torchlint.rule import DOCS_URL, is_core

    return DOCS_URL.format(name=finding.name) if is_core(finding.rule) else None


def slashed(path: str) -> str:
    """A path with forward slashes and without a leading ``./``."""
    from pathlib import PurePath

    return PurePath(path).as_posix()


def uri(path: str) -> str:
    """A path as a percent-encoded URI reference: relative if the path is relative."""
    from pathlib import PurePath
    from urllib.parse import quote

    posix = slashed(path)
    try:
        quoted = quote(os.fsencode(posix))
    except UnicodeEncodeError:
        quoted = quote(posix.encode("utf-8", "surrogatepass"))
    if not PurePath(path).is_absolute():
        return quoted
    if os.name == "nt" and quoted.startswith("//"):  # a share: its server is the authority
        return f"file:{quoted}"
    return "file:///" + quoted.replace("%3A", ":", 1 if os.name == "nt" else 0).lstrip("/")

"""Shared parts of reports: counts, links, paths."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torchlint.model import Evidence, Finding, Problem, Repairs, RuleInfo, RunResult, Safety, Severity
from torchlint.text.visible import visible, visible_path, without_commands

if TYPE_CHECKING:
    from torchlint.report import ReportOptions

_NAMED = 5  # entries of a baseline that a remark lists
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
    """The number of findings with a fix, or with a fix of the given safety."""
    return sum(f.fix is not None and safety in (None, f.fix.safety) for f in findings)


def plural(count: int, noun: str) -> str:
    """A count and its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def closing(run: RunResult, hidden: int = 0) -> str:
    """The summary of a run, as a sentence; ``hidden`` infos, which the report leaves out, are a remark in brackets."""
    files = plural(run.files, "file")
    remarks = [f"{plural(hidden, 'info')} not shown: --show-info"] if hidden else []
    counted = (
        (run.suppressed, "suppressed"),
        (run.baselined, "in the baseline"),
        (run.unchanged, "on unchanged lines"),
    )
    remarks += [f"{count} {reason}" for count, reason in counted if count]
    aside = f" ({'; '.join(remarks)})" if remarks else ""
    counts = by_severity(run.findings)
    counts[Severity.INFO] -= hidden
    listed = in_words([plural(n, severity.value) for severity, n in counts.items() if n])
    if listed:
        verdict = f"Found {listed} in {files}{aside}"
    elif hidden:
        verdict = f"Found no warnings in {files}{aside}"
    elif run.problems:
        verdict = f"Found nothing in {files}{aside}" if run.files else "No file was checked"
    elif run.files:
        return f"All clear: {files} checked{aside}."
    else:
        return "No files to check."
    parts = [verdict]
    parts += [plural(len(run.problems), "problem")] if run.problems else []
    parts += [f"{plural(run.unchecked, 'file')} could not be fully checked"] if run.unchecked and run.files else []
    return f"{'; '.join(parts)}."


def in_words(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def offers(run: RunResult) -> str:
    """What ``--fix`` could repair, as a sentence; empty if that is nothing or if the run has tried."""
    findings = run.findings if run.repairs is None else ()
    safe, unsafe = (fixable(findings, safety) for safety in (Safety.SAFE, Safety.UNSAFE))
    parts = [f"{safe} fixable with --fix"] if safe else []
    parts += [f"{unsafe} {'more' if safe else 'fixable'} with --fix --unsafe-fixes"] if unsafe else []
    return f"{', '.join(parts)}." if parts else ""


def about_baselines(run: RunResult) -> list[str]:
    """What there is to say about baselines and about files that were not compared."""
    said = [visible(note) for note in run.notes]
    if run.obsolete:
        count = sum(entry.times for entry in run.obsolete)
        places = list(dict.fromkeys(f"{visible(entry.rule)} in {visible(entry.path)}" for entry in run.obsolete))
        listed = ", ".join(places[:_NAMED])
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        occur = "no longer occurs" if count == 1 else "no longer occur"
        what = f"{plural(count, 'finding')} of the baseline {occur} ({listed}{more})"
        said.append(f"{what}; --prune-baseline drops {'it' if count == 1 else 'them'}.")
    return said


def repaired(run: RunResult, done: str = "fixed") -> str:
    """The result of ``--fix``, as a sentence: ``3 fixed, 2 need --unsafe-fixes, 1 skipped: conflicts.``"""
    repairs = run.repairs or Repairs()
    parts = [f"{len(repairs.fixed)} {done}"]
    parts += [f"{repairs.unsafe} need{'s' if repairs.unsafe == 1 else ''} --unsafe-fixes"] if repairs.unsafe else []
    parts += [f"{count} skipped: {reason}" for reason, count in repairs.skipped]
    return f"{', '.join(parts)}."


def repairs_by_file(run: RunResult) -> list[str]:
    """The fixes made, one line for each file and rule."""
    counts = Counter((f.path, f.rule, f.name) for f in run.repairs.fixed) if run.repairs else Counter()
    return [
        f"Fixed {place(path)}: {n} x {visible(rule)} {visible(name)}"
        for (path, rule, name), n in sorted(counts.items())
    ]


def statistics(run: RunResult) -> list[str]:
    """Counts by rule as a table, the most frequent first; a mark says whether all or some of them can be fixed."""
    counts = Counter((finding.rule, finding.name) for finding in run.findings)
    fixes = Counter((finding.rule, finding.name) for finding in run.findings if finding.fix is not None)
    digits = len(str(max(counts.values(), default=0)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    marks = {rule: "[*]" if fixes[rule] == count else "[-]" if fixes[rule] else "[ ]" for rule, count in ordered}
    return [f"{n:>{digits}}  {visible(rule[0])}  {marks[rule]} {visible(rule[1])}" for rule, n in ordered]


def counted(run: RunResult, *, quiet: bool) -> list[str]:
    """The report of ``--statistics``: the counts of each rule, then the problems and the summary."""
    table = statistics(run)
    lines = [*table, *map(problem_line, run.problems)]
    if quiet:
        return lines
    legend = ["[*] all have a fix, [-] some have"] if any(finding.fix is not None for finding in run.findings) else []
    return [*lines, *([""] if lines else []), *tail(run), *legend]


def tail(run: RunResult, hidden: int = 0) -> list[str]:
    """The lines after the findings: the summary, what was fixed, and remarks on baselines."""
    return [closing(run, hidden), *([repaired(run)] if run.repairs is not None else []), *about_baselines(run)]


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

"""Shared parts of reports: escaped text, counts, links, paths."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

from torchlint.model import Finding, Problem, Repairs, RuleInfo, RunResult, Safety, Severity

SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def visible(text: str) -> str:
    r"""``text`` on one line, with control and invisible characters escaped.

    That covers C0 and C1 controls, bidirectional and other format characters, line separators and the surrogates of
    undecodable file names: ESC becomes ``\x1b``.
    """
    if text.isprintable():
        return text
    return "".join(c if shows(c) else ascii(c)[1:-1] for c in text)


def visible_lines(text: str) -> list[str]:
    """The lines of a message, each escaped by :func:`visible`."""
    return [visible(line) for line in text.replace("\r\n", "\n").split("\n")]


def shows(character: str) -> bool:
    """Whether a terminal just draws a character. Python calls wide and non-breaking spaces unprintable."""
    if character.isprintable():
        return True
    from unicodedata import category

    return category(character) == "Zs"


def dump(data: object) -> str:
    """``data`` as JSON in pure ASCII.

    Surrogates of undecodable file names are escaped as text: many parsers reject a document with unpaired surrogates.
    """
    import json

    text = json.dumps(data, indent=2)
    if r"\ud" in text:
        whole = json.dumps(data, ensure_ascii=False)
        text = json.dumps(json.loads(re.sub("[\ud800-\udfff]", _written_out, whole)), indent=2)
    return text + "\n"


def _written_out(surrogate: re.Match[str]) -> str:
    return "\\" + ascii(surrogate[0])[1:-1]


def place(path: str, *numbers: int | None, cell: int | None = None) -> str:
    """``path:line:column`` as far as known; in a notebook, the cell comes before the line."""
    parts = [visible(path), *([f"cell {cell}"] if cell is not None else [])]
    return ":".join(parts + [str(number) for number in numbers if number is not None])


def problem_line(problem: Problem) -> str:
    """A problem on one line."""
    return f"{place(problem.path, problem.line)}: error: {visible(problem.message)}"


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


def closing(run: RunResult) -> str:
    """The summary of a run, as a sentence."""
    files = plural(run.files, "file")
    suppressed = f" ({run.suppressed} suppressed)" if run.suppressed else ""
    counts = [plural(n, severity.value) for severity, n in by_severity(run.findings).items() if n]
    if counts:
        listed = " and ".join(filter(None, [", ".join(counts[:-1]), counts[-1]]))
        verdict = f"Found {listed} in {files}{suppressed}"
    elif run.problems:
        verdict = f"Found nothing in {files}{suppressed}" if run.files else "No file was checked"
    elif run.files:
        return f"All clear: {files} checked{suppressed}."
    else:
        return "No files to check."
    parts = [verdict]
    parts += [plural(len(run.problems), "problem")] if run.problems else []
    parts += [f"{plural(run.unchecked, 'file')} could not be fully checked"] if run.unchecked and run.files else []
    return f"{'; '.join(parts)}."


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
    """Counts by rule as a table, the most frequent first."""
    counts = Counter((finding.rule, finding.name) for finding in run.findings)
    digits = len(str(max(counts.values(), default=0)))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count:>{digits}}  {visible(rule)}  {visible(name)}" for (rule, name), count in ordered]


def tail(run: RunResult, *, quiet: bool, counted: bool) -> list[str]:
    """The lines after the findings: statistics if requested, and the summary."""
    table = statistics(run) if counted else []
    if quiet:
        return table
    done = [repaired(run)] if run.repairs is not None else []
    return [*table, *([""] if table else []), closing(run), *done]


def rules_by_id(run: RunResult) -> dict[str, RuleInfo]:
    """The rules of a run by id."""
    return {rule.id: rule for rule in run.rules}


def rule_url(finding: Finding, rules: dict[str, RuleInfo]) -> str:
    """The URL of the documentation of a finding's rule."""
    known = rules.get(finding.rule)
    if known is not None:
        return known.url
    from torchlint.rule import DOCS_URL

    return DOCS_URL.format(name=finding.name)


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
    return "file:///" + quoted.replace("%3A", ":", 1 if os.name == "nt" else 0).lstrip("/")

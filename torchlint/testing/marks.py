"""Reads the marks of fixtures, compares them with findings, and words the differences.

A mark is a comment at the end of a line:

- ``# flag`` - exactly one finding, a warning or an error, starts on this line;
- ``# flag[info]`` - exactly one finding of severity info starts here;
- ``# flag: "words"`` - as above, and the message contains the words;
- ``# known miss: why`` - should be flagged and is not;
- ``# known false alarm: why`` - is flagged and should not be.

All other lines are silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from torchlint.model import Finding, Severity

_MARK = re.compile(
    r"#\s*(?:(?P<flag>flag)(?P<info>\[info\])?(?::\s*\"(?P<words>[^\"]*)\")?|known (?P<known>miss|false alarm): .+)\s*$"
)
_BEGINS = re.compile(r"#\s*(?:flag|known miss|known false alarm)\b")
_FORMS = '`# flag`, `# flag: "words"`, `# flag[info]`, `# known miss: why` and `# known false alarm: why`'


class Mark(NamedTuple):
    """The expectation for one line: whether a finding starts there, of which severity and with which words.

    ``known`` is "miss" or "false alarm" where the rule is wrong, and that is known.
    """

    expected: bool
    info: bool
    words: str
    known: str | None


def marks(text: str) -> dict[int, Mark]:
    """The marks of a source text by line."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _MARK.search(line)
        if match:
            known = match["known"]
            expected = bool(match["flag"]) or known == "false alarm"
            found[number] = Mark(expected, bool(match["info"]), match["words"] or "", known)
    return found


def differences(text: str, findings: Iterable[Finding], label: str) -> list[str]:
    """Where the marks of a text and findings in it disagree: the place and the reason, then the line of the text."""
    lines, wanted = text.split("\n"), marks(text)
    by_line: dict[int, list[Finding]] = {}
    for finding in findings:
        by_line.setdefault(finding.span.line, []).append(finding)
    reasons = dict.fromkeys(_malformed(lines), f"malformed mark; the forms are {_FORMS}")
    for number in {*wanted, *by_line}:
        reason = _difference(wanted.get(number), by_line.get(number, []))
        if reason:
            reasons.setdefault(number, reason)
    return [
        f"{label}:{number}: {reason}\n    {lines[number - 1].strip()}" for number, reason in sorted(reasons.items())
    ]


def _malformed(lines: Iterable[str]) -> list[int]:
    """The lines with a comment that begins like a mark and is none."""
    return [number for number, line in enumerate(lines, 1) if _BEGINS.search(line) and not _MARK.search(line)]


def _difference(mark: Mark | None, findings: list[Finding]) -> str | None:
    if mark is None or not mark.expected:
        if not findings:
            return None
        if mark is not None:
            return "a known miss is found now: make it `# flag`"
        return f"expected silence, found: {findings[0].message}"
    if not findings:
        if mark.known:
            return "a known false alarm is gone: remove the mark"
        return "expected a finding, none reported"
    if len(findings) > 1:
        return f"expected one finding, found {len(findings)}"
    return _wrong(mark, findings[0])


def _wrong(mark: Mark, finding: Finding) -> str | None:
    is_info = finding.severity is Severity.INFO
    if is_info != mark.info and not mark.known:
        return f"expected {'info' if mark.info else 'a warning'}, found {finding.severity.value}: {finding.message}"
    if mark.words not in finding.message:
        return f"expected {mark.words!r} in the message: {finding.message}"
    return None

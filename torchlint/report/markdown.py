"""A summary in Markdown, for pages such as the summary of a job on GitHub: what costs most, and counts by rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchlint.model import Finding, Problem, RuleInfo, RunResult
from torchlint.report import ReportOptions
from torchlint.report.order import gravest_first
from torchlint.report.shared import place, plural, problem_line, rule_url, rules_by_id
from torchlint.report.summary import counts, tail, without_notices
from torchlint.text.visible import visible, visible_lines

_MOST = 20  # findings and problems that are listed
# What Markdown or HTML would take for more than text.
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&#$!])")


def render(run: RunResult, options: ReportOptions) -> str:  # noqa: ARG001 - no option changes the summary
    """The counts as a sentence, the findings that cost most as a table, and a table of counts by rule."""
    rules = rules_by_id(run)
    blocks = [
        ["### torchlint", "", *(f"{_text(line)}  " for line in tail(run))],
        _problems(run.problems),
        _findings(gravest_first(without_notices(run.findings)), rules),
        _counts(run, rules),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks if block)


def _problems(problems: Iterable[Problem]) -> list[str]:
    lines = [f"- {_text(problem_line(problem))}" for problem in problems]
    return [*lines[:_MOST], *_more(len(lines), "problem")]


def _findings(findings: list[Finding], rules: dict[str, RuleInfo]) -> list[str]:
    if not findings:
        return []
    rows = [
        (f.severity.value, _code(place(f.path, f.span.line, cell=f.cell)), _rule(f, rules), _message(f.message))
        for f in findings[:_MOST]
    ]
    return [*_table(("severity", "place", "rule", "finding"), rows), *_more(len(findings), "finding")]


def _counts(run: RunResult, rules: dict[str, RuleInfo]) -> list[str]:
    of_rule = {(f.rule, f.name): f for f in run.findings}
    rows = [(_rule(of_rule[rule, name], rules), str(count), str(fixes)) for rule, name, count, fixes in counts(run)]
    return _table(("rule", "findings", "with a fix"), rows) if rows else []


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def _more(count: int, noun: str) -> list[str]:
    """A line about what a list leaves out."""
    return ["", f"{plural(count - _MOST, f'more {noun}')} not listed here."] if count > _MOST else []


def _rule(finding: Finding, rules: dict[str, RuleInfo]) -> str:
    url, name = rule_url(finding, rules), _text(f"{finding.rule} {finding.name}")
    return f"[{name}]({visible(url).replace(' ', '%20').replace(')', '%29').replace('|', '%7C')})" if url else name


def _message(message: str) -> str:
    """A message in which code stands between backticks."""
    parts = " ".join(visible_lines(message)).split("`")
    if len(parts) % 2 == 0:  # a backtick that nothing closes
        return _text("`".join(parts))
    return "".join(_code(part) if number % 2 else _text(part) for number, part in enumerate(parts))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Text that stands for itself in Markdown."""
    return _MARKUP.sub(r"\\\1", visible(text))

"""The text report: each finding with its source line and evidence, and a final count.

All external text (source, paths, messages) is escaped by ``visible``, so that linted files cannot control the terminal.
The only control sequences are the colors that this module adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from torchlint.model import Evidence, Finding, Fix, RuleInfo, RunResult, Safety, Severity
from torchlint.report import ReportOptions
from torchlint.report.shared import (
    fixable,
    place,
    plural,
    problem_line,
    repairs_by_file,
    rule_url,
    rules_by_id,
    tail,
    visible,
    visible_lines,
)

if TYPE_CHECKING:
    from torchlint.report.snippet import Row

Paint = Callable[[str, str], str]

BOLD, GUTTER, SECONDARY = "1", "34", "36"
_NAMED = 5  # files that a remark lists by name
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}


def render(run: RunResult, options: ReportOptions) -> str:
    """The findings of a run with their source lines, then its problems, then the counts."""
    paint = _colored if options.color else _plain
    rules = rules_by_id(run)
    blocks: list[str] = []
    for path, findings in groupby(run.findings, lambda finding: finding.path):
        lines = options.source(path)
        blocks += [_finding(f, lines, paint, rules if options.verbose else None) for f in findings]
    if run.problems:
        blocks.append("\n".join(_problem(problem_line(problem), paint) for problem in run.problems))
    ending = tail(run, quiet=options.quiet, counted=options.statistics)
    if not options.quiet:
        ending += _remarks(run, options)
    if ending:
        blocks.append("\n".join(ending))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _finding(finding: Finding, lines: Sequence[str] | None, paint: Paint, rules: dict[str, RuleInfo] | None) -> str:
    # Lines of a notebook count from the beginning of each cell, so lines of its file mean nothing.
    known = lines if lines is not None and finding.cell is None else ()
    from torchlint.report.snippet import rows

    shown = rows(known, finding.span)
    margin = _margin(finding, shown)
    output = [_head(finding, paint), *(f"  {line}" for line in visible_lines(finding.message))]
    if shown:
        output.append(_gutter("", margin, paint))
    for row in shown:
        output += _marked(row, margin, paint, COLORS[finding.severity])
    before = shown[-1].line if shown and shown[-1] else None
    for evidence in finding.evidence:
        output += _evidence(evidence, known, before, margin, paint)
        before = evidence.line
    notes = _fix(finding.fix) if finding.fix else []
    if rules is not None:
        notes.append(f"see {visible(rule_url(finding, rules))}")
    return "\n".join(output + [f"{' ' * margin} = {note}" for note in notes])


def _head(finding: Finding, paint: Paint) -> str:
    where = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    rule = paint(visible(finding.rule), COLORS[finding.severity])
    severity = paint(finding.severity.value, COLORS[finding.severity])
    return f"{paint(where, BOLD)}: {rule} {paint(visible(finding.name), BOLD)} {severity}"


def _margin(finding: Finding, shown: Sequence[Row | None]) -> int:
    numbers = [row.line for row in shown if row] + [evidence.line for evidence in finding.evidence]
    return max((len(str(number)) for number in numbers), default=1)


def _marked(row: Row | None, margin: int, paint: Paint, color: str) -> list[str]:
    if row is None:
        return [f"{' ' * margin}{paint('...', GUTTER)}"]
    source = f"{_gutter(str(row.line), margin, paint)} {row.text}".rstrip()
    if not row.width:
        return [source]
    marks = " " * row.start + paint("^" * row.width, color)
    return [source, f"{_gutter('', margin, paint)} {marks}"]


def _evidence(evidence: Evidence, lines: Sequence[str], before: int | None, margin: int, paint: Paint) -> list[str]:
    from torchlint.report.snippet import point

    row = point(lines, evidence.line, evidence.column)
    text = visible(evidence.text)
    if row is None:
        return [f"{' ' * margin} = line {evidence.line}: {text}"]
    mark = f"{_gutter('', margin, paint)} {' ' * row.start}{paint('- ' + text, SECONDARY)}"
    if evidence.line == before:
        return [mark]
    return [f"{_gutter(str(row.line), margin, paint)} {row.text}", mark]


def _gutter(number: str, margin: int, paint: Paint) -> str:
    return paint(f"{number:>{margin}} |", GUTTER)


def _fix(fix: Fix) -> list[str]:
    notes = [f"fix ({fix.safety.value}): {visible(fix.title)}"]
    return notes + ([f"caveat: {visible(fix.caveat)}"] if fix.caveat else [])


def _problem(line: str, paint: Paint) -> str:
    return paint(line, COLORS[Severity.ERROR])


def _remarks(run: RunResult, options: ReportOptions) -> list[str]:
    counted = run.findings if run.repairs is None else ()
    safe, unsafe = (fixable(counted, safety) for safety in (Safety.SAFE, Safety.UNSAFE))
    offers = [f"{safe} fixable with --fix"] if safe else []
    offers += [f"{unsafe} fixable with --fix --unsafe-fixes"] if unsafe else []
    remarks = [", ".join(offers) + "."] if offers else []
    if options.verbose:
        remarks += repairs_by_file(run)
        remarks.append(f"{plural(run.from_cache, 'file')} taken from the cache.")
        remarks += _without_device(run)
        remarks += [f"{visible(link)}: links to a folder outside the tree; not followed." for link in run.unfollowed]
    return remarks


def _without_device(run: RunResult) -> list[str]:
    """Which files were linted carefully: without a sign of an accelerator, tensors count as being on the CPU."""
    if not run.without_device:
        return []
    named = ", ".join(visible(path) for path in run.without_device[:_NAMED])
    more = f" and {plural(len(run.without_device) - _NAMED, 'other file')}" if len(run.without_device) > _NAMED else ""
    shown = f"Nothing that was linted shows that the tensors of {named}{more} are on an accelerator"
    advice = "If other files of the project show it, lint them together."
    return [f"{shown}, so synchronizations and transfers were not reported there. {advice}"]


def _plain(text: str, _code: str) -> str:
    return text


def _colored(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"

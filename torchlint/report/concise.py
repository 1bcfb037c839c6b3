"""The report for ``grep`` and editors: what the text report shows, a line for each finding, in the order of places."""

from __future__ import annotations

from torchlint.model import Finding, Recorded, RunResult
from torchlint.report import ReportOptions
from torchlint.report.ending import counted, ending, shown_and_hidden
from torchlint.report.observed import recordings, seen_lines, words
from torchlint.report.shared import place, problem_line
from torchlint.text.visible import visible, visible_lines


def render(run: RunResult, options: ReportOptions) -> str:
    """A line for each finding and each problem, then the counts."""
    if options.statistics:
        return "".join(f"{line}\n" for line in counted(run, options))
    shown, hidden = shown_and_hidden(run, options)
    output = [
        *map(_line, sorted(shown, key=lambda finding: finding.sort_key)),
        *(_recorded(run.recorded) if run.recorded is not None else ()),
    ]
    output += map(problem_line, run.problems)
    if not options.quiet:
        output += recordings(run.recorded, whole=bool(options.verbose)) if run.recorded is not None else ()
        output += ending(run, options, len(hidden))
    return "".join(f"{line}\n" for line in output)


def _line(finding: Finding) -> str:
    where = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    rule = f"{visible(finding.rule)} {visible(finding.name)} {finding.severity.value}"
    return f"{where}: {rule}: {'; '.join([' '.join(visible_lines(finding.message)), *seen_lines(finding)])}"


def _recorded(recorded: Recorded) -> list[str]:
    """What happened at lines without a finding."""
    return [
        f"{place(one.path, one.line)}: seen in the run, without a finding: {words(one)}" for one in recorded.unreported
    ]

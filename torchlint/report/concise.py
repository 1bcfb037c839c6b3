"""The report for ``grep`` and editors: a line for each place of each finding, in the order of files and lines."""

from __future__ import annotations

from torchlint.model import Finding, RunResult
from torchlint.report import ReportOptions
from torchlint.report.causes import every_place
from torchlint.report.shared import place, problem_line
from torchlint.report.summary import counted, tail
from torchlint.text.visible import visible, visible_lines


def render(run: RunResult, options: ReportOptions) -> str:
    """A line for each place and each problem, then the counts."""
    if options.statistics:
        return "".join(f"{line}\n" for line in counted(run, quiet=options.quiet))
    output = [_line(finding) for finding in every_place(run.findings)] + list(map(problem_line, run.problems))
    output += [] if options.quiet else tail(run)
    return "".join(f"{line}\n" for line in output)


def _line(finding: Finding) -> str:
    where = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    rule = f"{visible(finding.rule)} {visible(finding.name)} {finding.severity.value}"
    return f"{where}: {rule}: {' '.join(visible_lines(finding.message))}"

"""The report for ``grep`` and editors: one line for each finding of any severity, in the order of files and lines."""

from __future__ import annotations

from torchlint.model import Finding, RunResult
from torchlint.report import ReportOptions
from torchlint.report.shared import counted, place, problem_line, tail
from torchlint.text.visible import visible, visible_lines


def render(run: RunResult, options: ReportOptions) -> str:
    """A line for each finding and each problem, then the counts."""
    if options.statistics:
        return "".join(f"{line}\n" for line in counted(run, quiet=options.quiet))
    output = [_line(finding) for finding in run.findings] + list(map(problem_line, run.problems))
    output += [] if options.quiet else tail(run)
    return "".join(f"{line}\n" for line in output)


def _line(finding: Finding) -> str:
    where = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    rule = f"{visible(finding.rule)} {visible(finding.name)} {finding.severity.value}"
    return f"{where}: {rule}: {' '.join(visible_lines(finding.message))}"

"""What the reports for people share: which findings they show one by one, and their last lines."""

from __future__ import annotations

from torchlint.model import Finding, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.cells import wrapped
from torchlint.report.shared import in_words, plural, problem_line
from torchlint.report.summary import offers, recognized, repairs_by_file, statistics, tail, without_notices
from torchlint.text.visible import visible_path


def shown_and_hidden(run: RunResult, options: ReportOptions) -> tuple[list[Finding], list[Finding]]:
    """The findings that are shown one by one, and the infos that are only counted.

    An info of which a recording shows what it costs is shown.
    """
    findings = without_notices(run.findings)
    if options.show_info:
        return findings, []
    return [one for one in findings if not _is_advice(one)], [one for one in findings if _is_advice(one)]


def _is_advice(finding: Finding) -> bool:
    return finding.severity is Severity.INFO and not finding.seen


def ending(run: RunResult, options: ReportOptions, hidden: int, width: int = 0) -> list[str]:
    """The lines after the findings and problems; ``hidden`` infos are not among those findings.

    What is said about loops is wrapped at ``width`` cells, if that is given; the other lines are short, or name paths.
    """
    whole = bool(options.verbose)
    said = recognized(run, hidden, whole=whole)
    return [
        *tail(run, hidden, whole=whole),
        *(part for line in said for part in (wrapped(line, width) if width else [line])),
        *_remarks(run, options),
    ]


def counted(run: RunResult, options: ReportOptions) -> list[str]:
    """The report of ``--statistics``: the counts of each rule, then the problems and the summary."""
    lines = [*statistics(run), *map(problem_line, run.problems)]
    if options.quiet:
        return lines
    legend = ["[*] all have a fix, [-] some have"] if any(finding.fix is not None for finding in run.findings) else []
    said = [*tail(run, whole=bool(options.verbose)), *legend, *_remarks(run, options)]
    return [*lines, *([""] if lines else []), *said]


def _remarks(run: RunResult, options: ReportOptions) -> list[str]:
    """What could be fixed, and with ``-v`` how files were found and linted."""
    found = [offer] if (offer := offers(run)) else []
    if options.verbose:
        found += repairs_by_file(run)
        found.append(f"{plural(run.from_cache, 'file')} taken from the cache.")
        found += _without_device(run)
        found += [f"{visible_path(link)}: links to a folder outside the tree; not followed." for link in run.unfollowed]
    return found


def _without_device(run: RunResult) -> list[str]:
    """Which files were linted carefully: without a sign of an accelerator, tensors count as being on the CPU."""
    if not run.without_device:
        return []
    named = in_words([visible_path(path) for path in run.without_device])
    shown = f"Nothing that was linted shows that the tensors of {named} are on an accelerator"
    advice = "If other files of the project show it, lint them together."
    return [f"{shown}, so synchronizations and transfers were not reported there. {advice}"]

"""The text report: what costs most first, each finding with its source, evidence and patch, and a final count.

Findings of severity ``info`` are one line for each rule, unless they are asked for.
All external text (source, paths, messages) is escaped by ``visible``, so that linted files cannot control the terminal.
The only control sequences are the colors and links of :mod:`torchlint.report.style`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from torchlint.model import Finding, Recorded, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.cells import wrapped
from torchlint.report.shared import plural, problem_line, rules_by_id
from torchlint.report.style import COLORS, Style
from torchlint.report.summary import counted, offers, recognized, repairs_by_file, tail, without_notices
from torchlint.text.visible import visible, visible_path

_NAMED = 5  # files that a remark lists by name
_BLOCKS = 20  # that are shown in full: nobody reads more at once
_KEPT = 200  # files whose lines are kept in memory


def render(run: RunResult, options: ReportOptions) -> str:
    """The findings of a run, then its problems, then the counts."""
    style = Style(options.width, options.color, options.links)
    if options.statistics:
        remarks = [] if options.quiet else _remarks(run, options)
        return "".join(f"{line}\n" for line in counted(run, quiet=options.quiet) + remarks)
    findings = without_notices(run.findings)
    hidden = [] if options.show_info else [each for each in findings if _is_advice(each)]
    shown = [each for each in findings if not _is_advice(each)] if hidden else findings
    parts = list(_blocks(shown, run, options, style))
    if hidden:
        from torchlint.report.folded import table

        parts.append("\n".join(table(hidden, rules_by_id(run), style)))
    if run.recorded is not None:
        parts += _recorded(run.recorded, style, quiet=options.quiet)
    if run.problems:
        parts.append("\n".join(style.paint(problem_line(each), COLORS[Severity.ERROR]) for each in run.problems))
    if not options.quiet:
        notes = (part for line in run.notes for part in wrapped(visible(line), style.width))
        said = (part for line in recognized(run) for part in wrapped(line, style.width))
        ending = tail(run._replace(notes=()), len(hidden))
        parts.append("\n".join([*ending, *notes, *said, *_remarks(run, options)]))
    return "\n\n".join(parts) + "\n" if parts else ""


def _is_advice(finding: Finding) -> bool:
    """Whether one line for its rule is enough: an info of which no recording shows what it costs."""
    return finding.severity is Severity.INFO and not finding.seen


def _recorded(recorded: Recorded, style: Style, *, quiet: bool) -> list[str]:
    """What recordings show beside the findings."""
    from torchlint.report.observed import recordings, section

    whole = () if quiet else recordings(recorded)
    parts = ([part for line in lines for part in wrapped(line, style.width)] for lines in (section(recorded), whole))
    return ["\n".join(part) for part in parts if part]


def _blocks(findings: Sequence[Finding], run: RunResult, options: ReportOptions, style: Style) -> Iterator[str]:
    if not findings:
        return
    from torchlint.report.block import block
    from torchlint.report.order import blocks

    rules = rules_by_id(run)
    source = lru_cache(maxsize=_KEPT)(options.source)
    every = blocks(findings)
    count = len(every) if options.verbose else _BLOCKS
    for together in every[:count]:
        lines = _lines(source, together[0][0].path)
        yield block(together, lines, rules, style, links=bool(options.verbose))
    if rest := [finding for together in every[count:] for expression in together for finding in expression]:
        from torchlint.report.folded import by_file

        head = f"{plural(len(rest), 'more finding')}, one line for each rule and file (in full: -v):"
        yield "\n".join([head, *by_file(rest, rules, style)])


def _lines(
    source: Callable[[str, int | None], Sequence[str] | None], path: str
) -> Callable[[int | None], Sequence[str]]:
    """The lines of a path, or of its cells."""
    return lambda cell: source(path, cell) or ()


def _remarks(run: RunResult, options: ReportOptions) -> list[str]:
    remarks = [offer] if (offer := offers(run)) else []
    if options.verbose:
        remarks += repairs_by_file(run)
        remarks.append(f"{plural(run.from_cache, 'file')} taken from the cache.")
        remarks += _without_device(run)
        remarks += [
            f"{visible_path(link)}: links to a folder outside the tree; not followed." for link in run.unfollowed
        ]
    return remarks


def _without_device(run: RunResult) -> list[str]:
    """Which files were linted carefully: without a sign of an accelerator, tensors count as being on the CPU."""
    if not run.without_device:
        return []
    named = ", ".join(visible_path(path) for path in run.without_device[:_NAMED])
    more = f" and {plural(len(run.without_device) - _NAMED, 'other file')}" if len(run.without_device) > _NAMED else ""
    shown = f"Nothing that was linted shows that the tensors of {named}{more} are on an accelerator"
    advice = "If other files of the project show it, lint them together."
    return [f"{shown}, so synchronizations and transfers were not reported there. {advice}"]

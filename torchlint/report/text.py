"""The text report: what costs most first, each finding with its source, evidence and patch, and a final count.

Findings of severity ``info`` are one line for each rule, unless they are asked for.
All external text (source, paths, messages) is escaped by ``visible``, so that linted files cannot control the terminal.
The only control sequences are the colors and links of :mod:`torchlint.report.terminal.style`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from torchlint.model import Finding, Recorded, RunResult, Severity
from torchlint.report import ReportOptions
from torchlint.report.cells import wrapped
from torchlint.report.ending import counted, ending, shown_and_hidden
from torchlint.report.shared import plural, problem_line, rules_by_id
from torchlint.report.terminal.style import COLORS, Style

_BLOCKS = 20  # that are shown in full: nobody reads more at once
_KEPT = 200  # files whose lines are kept in memory


def render(run: RunResult, options: ReportOptions) -> str:
    """The findings of a run, then its problems, then the counts."""
    style = Style(options.width, options.color, options.links)
    if options.statistics:
        return "".join(f"{line}\n" for line in counted(run, options))
    shown, hidden = shown_and_hidden(run, options)
    parts = list(_blocks(shown, run, options, style))
    if hidden:
        from torchlint.report.terminal.folded import table

        parts.append("\n".join(table(hidden, rules_by_id(run), style)))
    if run.recorded is not None:
        parts += _recorded(run.recorded, style, options)
    if run.problems:
        parts.append("\n".join(style.paint(problem_line(each), COLORS[Severity.ERROR]) for each in run.problems))
    if not options.quiet:
        parts.append("\n".join(ending(run, options, len(hidden), style.width)))
    return "\n\n".join(parts) + "\n" if parts else ""


def _recorded(recorded: Recorded, style: Style, options: ReportOptions) -> list[str]:
    """What recordings show beside the findings."""
    from torchlint.report.observed import recordings, section

    verbose = bool(options.verbose)
    said = section(recorded, whole=verbose), () if options.quiet else recordings(recorded, whole=verbose)
    parts = ([part for line in lines for part in wrapped(line, style.width)] for lines in said)
    return ["\n".join(part) for part in parts if part]


def _blocks(findings: Sequence[Finding], run: RunResult, options: ReportOptions, style: Style) -> Iterator[str]:
    if not findings:
        return
    from torchlint.report.order import blocks
    from torchlint.report.terminal.block import block

    rules = rules_by_id(run)
    source = lru_cache(maxsize=_KEPT)(options.source)
    every = blocks(findings)
    count = len(every) if options.verbose else _BLOCKS
    for together in every[:count]:
        lines = _lines(source, together[0][0].path)
        yield block(together, lines, rules, style, links=bool(options.verbose))
    if rest := [finding for together in every[count:] for expression in together for finding in expression]:
        from torchlint.report.terminal.folded import by_file

        head = f"{plural(len(rest), 'more finding')}, one line for each rule and file (in full: -v):"
        yield "\n".join([head, *by_file(rest, rules, style)])


def _lines(
    source: Callable[[str, int | None], Sequence[str] | None], path: str
) -> Callable[[int | None], Sequence[str]]:
    """The lines of a path, or of its cells."""
    return lambda cell: source(path, cell) or ()

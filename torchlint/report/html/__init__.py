"""The report of linting as one HTML file: the counts, the rules, and the annotated source of each file.

The file loads nothing, is readable without script, and stays below a megabyte (:mod:`torchlint.report.html.files`).
"""

from __future__ import annotations

from itertools import groupby

from torchlint.model import RunResult, Safety
from torchlint.report import ReportOptions
from torchlint.report.html.cards import Card, card, overview
from torchlint.report.html.files import Annotated, Note, fitting
from torchlint.report.html.pages import page, part
from torchlint.report.shared import by_severity, closing, fixable, plural, repaired, rules_by_id

# More problems than these are counted.
_PROBLEMS = 200


def render(run: RunResult, options: ReportOptions) -> str:
    """The page for a run; ``options`` provide the sources."""
    rules = rules_by_id(run)
    files: list[Annotated] = []
    cards: list[Card] = []
    for path, group in groupby(run.findings, lambda finding: finding.path):
        lines = options.source(path) or ()
        name = f"f{len(files)}"
        own = [card(finding, name, number, lines, rules) for number, finding in enumerate(group, start=1)]
        files.append(Annotated(name, path, lines, list(map(_note, own)), plural(len(own), "finding")))
        cards += own
    return page(
        "lint.html",
        title=closing(run),
        run=run,
        severities=[(severity.value, count) for severity, count in by_severity(run.findings).items() if count],
        offers=_offers(run),
        overview=overview(cards, rules),
        problems=run.problems[:_PROBLEMS],
        fitted=fitting(files),
    )


def _note(one: Card) -> Note:
    return Note(one.finding.span, part("parts.html", "finding", one), tuple(e.line for e in one.finding.evidence))


def _offers(run: RunResult) -> str:
    """What was fixed, or could be."""
    if run.repairs is not None:
        return repaired(run)
    safe, unsafe = (fixable(run.findings, safety) for safety in (Safety.SAFE, Safety.UNSAFE))
    offers = [f"{safe} fixable with --fix"] if safe else []
    offers += [f"{unsafe} fixable with --fix --unsafe-fixes"] if unsafe else []
    return f"{', '.join(offers)}." if offers else ""

"""The report of linting as one HTML file: the counts, what costs most, the rules, and each file's annotated source.

Files come in the order of what costs most in them. Script adds a search and filters to the findings.

The file loads nothing, is readable without script, and stays below a megabyte (:mod:`torchlint.report.html.files`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from torchlint.model import Finding, RunResult
from torchlint.report import ReportOptions
from torchlint.report.html.cards import Card, card, costliest, overview
from torchlint.report.html.files import Annotated, Note, fitting
from torchlint.report.html.pages import page, part
from torchlint.report.order import by_cost
from torchlint.report.shared import by_severity, place, plural, rules_by_id
from torchlint.report.summary import closing, not_checked, offers, recognized, repaired

# More problems than these are counted.
_PROBLEMS = 200


def render(run: RunResult, options: ReportOptions) -> str:
    """The page for a run; ``options`` provide the sources."""
    rules = rules_by_id(run)
    files: list[Annotated] = []
    cards: list[Card] = []
    for (path, cell), group in groupby(_files_by_cost(run.findings), lambda finding: (finding.path, finding.cell)):
        lines = options.source(path, cell) or ()
        name = f"f{len(files)}"
        own = [card(finding, name, number, lines, rules) for number, finding in enumerate(group, start=1)]
        files.append(Annotated(name, place(path, cell=cell), lines, list(map(_note, own)), plural(len(own), "finding")))
        cards += own
    return page(
        "lint.html",
        title=closing(run),
        run=run,
        offers=repaired(run) if run.repairs is not None else offers(run),
        recognized=[*not_checked(run), *recognized(run)],
        costliest=costliest(cards),
        severities=[severity.value for severity, count in by_severity(run.findings).items() if count],
        overview=overview(cards, rules),
        problems=run.problems[:_PROBLEMS],
        fitted=fitting(files),
    )


def _files_by_cost(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with the costliest file first, and in it in the order of lines."""
    first: dict[str, int] = {}
    for number, finding in enumerate(sorted(findings, key=by_cost)):
        first.setdefault(finding.path, number)
    return sorted(findings, key=lambda finding: (first[finding.path], finding.sort_key))


def _note(one: Card) -> Note:
    finding = one.finding
    lines = tuple(e.line for e in finding.evidence if e.cell == finding.cell)
    lines += tuple(place.span.line for place in finding.places[1:] if place.cell == finding.cell)
    return Note(one.finding.span, part("parts.html", "finding", one), lines)

"""A block of the text report: what findings say about one expression, its source, the evidence and the patches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, zip_longest

from torchlint.model import Evidence, Finding, RuleInfo, Span
from torchlint.report.cells import wrapped
from torchlint.report.order import Block, outside_in, widest
from torchlint.report.shared import evidence_lines, place, rule_url
from torchlint.report.terminal import snippet
from torchlint.report.terminal.patch import MOST_LINES, Change, changes, size
from torchlint.report.terminal.sheet import Mark, Sheet
from torchlint.report.terminal.style import BOLD, COLORS, SECONDARY, Style
from torchlint.text.visible import visible, visible_lines

Source = Callable[[int | None], Sequence[str]]


def block(expressions: Block, source: Source, rules: dict[str, RuleInfo], style: Style, *, links: bool) -> str:
    """What is found in one or more expressions of a file; ``links`` adds the addresses of the rules.

    ``source`` returns the lines of a cell of a notebook, and those of any other file for None.
    """
    findings = [finding for expression in expressions for finding in expression]
    patches = {each.fix: changes(each.fix, source) for each in findings if each.fix is not None}
    sheet = Sheet(style, _margin(findings, len(source(findings[0].cell)), patches.values()))
    caveats = [finding.fix.caveat for finding in findings if finding.fix is not None]
    simple = all(f.fix is None and not f.evidence and f.span.line == f.span.end_line for f in findings)
    for expression in expressions:
        _expression(expression, source, sheet, spaced=not (simple and sheet.rows))
        for finding in expression:
            if finding.fix is not None:
                caveats.pop(0)
                rule = f"{visible(finding.rule)} " if len(expression) > 1 else ""
                _fix(finding, patches[finding.fix], rule, sheet, caveat=finding.fix.caveat not in caveats)
    if links:
        for url in dict.fromkeys(rule_url(finding, rules) for finding in findings):
            if url:
                sheet.note(f"see {visible(url)}")
    return "\n".join(_heads(findings, rules, style) + sheet.rows)


def _heads(findings: Sequence[Finding], rules: dict[str, RuleInfo], style: Style) -> list[str]:
    """The places and rules of findings with their messages; neighbors with one message share it."""
    lines = []
    for finding, following in zip_longest(findings, findings[1:]):
        where = style.paint(place(finding.path, finding.span.line, finding.span.column, cell=finding.cell), BOLD)
        name = style.paint(visible(finding.name), BOLD)
        severity = style.paint(finding.severity.value, COLORS[finding.severity])
        lines.append(f"{where}: {style.rule(finding, rules)} {name} {severity}")
        if following is None or following.message != finding.message:
            said = (part for line in visible_lines(finding.message) for part in wrapped(line, style.width - 2))
            lines += [f"  {part}" for part in said]
        lines += [f"  {part}" for part in _seen(finding, style)]
    return lines


def _seen(finding: Finding, style: Style) -> list[str]:
    """What recordings of runs show at its lines."""
    if not finding.seen:
        return []
    from torchlint.report.observed import seen_lines

    return [part for line in seen_lines(finding) for part in wrapped(line, style.width - 2)]


def _margin(findings: Sequence[Finding], lines: int, patches: Iterable[Sequence[Change] | None]) -> int:
    """The width of the largest line number."""
    numbers = [evidence.line for finding in findings for evidence in finding.evidence]
    numbers += [min(finding.span.end_line, lines) for finding in findings]
    numbers += [change.line + len(change.old) for patch in patches for change in patch or ()]
    return len(str(max(numbers)))


# -- the source ----------------------------------------------------------------------------------------


def _expression(findings: Sequence[Finding], source: Source, sheet: Sheet, *, spaced: bool) -> None:
    """The lines of an expression with their marks and the evidence on them, then the other evidence."""
    span, cell = widest(findings), findings[0].cell
    lines = source(cell)
    evidence = list(dict.fromkeys(each for finding in findings for each in finding.evidence))
    shown = snippet.of_span(lines, span)
    if shown and spaced:
        sheet.row("")
    for row in shown:
        if row is None:
            sheet.gap()
            continue
        number, columns = row
        marks = _underlines(findings, lines[number - 1], columns, first=number == span.line) if columns else []
        here = [each for each in evidence if (each.cell, each.line) == (cell, number)]
        evidence = [each for each in evidence if each not in here]
        sheet.source(number, lines[number - 1], [*marks, *_points(here)])
    shown_cell = cell
    for (of, number), group in groupby(evidence, lambda each: (each.cell, each.line)):
        _evidence(number, list(group), source(of), "" if of == shown_cell else f"cell {of}", sheet)
        shown_cell = of


def _evidence(number: int, evidence: Sequence[Evidence], lines: Sequence[str], where: str, sheet: Sheet) -> None:
    """Evidence on one line; ``where`` names the cell if it is not that of the row above."""
    if 1 <= number <= len(lines):
        if where:
            sheet.note(f"{where}:")
        sheet.source(number, lines[number - 1], _points(evidence))
        return
    for note in evidence_lines(evidence):
        sheet.note(note)


def _underlines(findings: Sequence[Finding], line: str, columns: snippet.Range, *, first: bool) -> list[Mark]:
    """The marks of spans: one for ``columns`` of the widest, and on its first line one for each span inside it."""
    spans = sorted({finding.span for finding in findings}, key=outside_in) if first else ()
    if len(spans) < 2:
        return [Mark([columns], "^", "", COLORS[findings[0].severity])]
    return [Mark([columns], "^", *_label(findings, spans[0]))] + [
        Mark(
            [(span.column, span.end_column if span.end_line == span.line else len(line) + 1)],
            "^",
            *_label(findings, span),
        )
        for span in spans[1:]
    ]


def _label(findings: Sequence[Finding], span: Span) -> tuple[str, str]:
    """The rules that speak of a span, and their color."""
    own = [finding for finding in findings if finding.span == span]
    return ", ".join(dict.fromkeys(visible(finding.rule) for finding in own)), COLORS[own[0].severity]


def _points(evidence: Iterable[Evidence]) -> list[Mark]:
    """The marks of evidence on one line; what says the same shares a row."""
    columns: dict[str, list[int]] = {}
    for each in evidence:
        columns.setdefault(visible(each.text), []).append(each.column)
    return [
        Mark([(column, column + 1) for column in dict.fromkeys(found)], "-", text, SECONDARY)
        for text, found in columns.items()
    ]


# -- the fix -------------------------------------------------------------------------------------------


def _fix(finding: Finding, patch: Sequence[Change] | None, rule: str, sheet: Sheet, *, caveat: bool) -> None:
    fix = finding.fix
    assert fix is not None
    sheet.note(f"{rule}fix ({fix.safety.value}): {visible(fix.title)}")
    if patch is not None and size(patch) <= MOST_LINES:
        elsewhere = any(change.cell != finding.cell for change in patch)
        for cell, group in groupby(patch, lambda change: change.cell):
            if elsewhere:
                sheet.note(f"cell {cell}:")
            for change in group:
                sheet.change(change)
    elif patch is not None:
        sheet.note(f"{size(patch)} lines change: --diff shows them")
    if fix.caveat and caveat:
        sheet.note(f"caveat: {visible(fix.caveat)}")

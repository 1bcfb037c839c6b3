"""The tables of ``docs/field.md``."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from survey.counts import Counts, having, rules
from torchlint.docs import marked
from torchlint.model import Severity
from torchlint.run.rules import registry


def written(page: str, found: Sequence[Counts], when: str) -> str:
    """The page with its tables and figures in numbers, and when they were counted."""
    page = marked(page, "survey", _summary(found, when))
    page = marked(page, "rules", _by_rule(found))
    return marked(page, "repositories", _by_repository(found))


def _summary(found: Sequence[Counts], when: str) -> str:
    warned = sum(one.warnings() > 0 for one in found)
    per_thousand = median(density(one) for one in found)
    return (
        f"{len(found)} repositories, {sum(one.files for one in found):,} files that mention torch with "
        f"{sum(one.lines for one in found):,} lines. {warned} of the repositories ({warned / len(found):.0%}) have at "
        f"least one warning, {sum(one.warnings() for one in found):,} together; the median is {per_thousand:.1f} "
        f"warnings per thousand lines. Counted {when}{_changed(found)}\n"
    )


def _changed(found: Sequence[Counts]) -> str:
    """The rules with warnings that have none by default any more, in a sentence."""
    known = {rule.id: rule for rule in registry.load()}
    warned = sorted(rule for rule in rules(found) if having(found, rule))
    retired = [rule for rule in warned if rule not in known]
    quiet = [
        rule
        for rule in warned
        if rule in known and (known[rule].severity is Severity.INFO or known[rule].group == "preview")
    ]
    groups = {"retired": retired, "no warnings by default": quiet}
    said = "; ".join(f"{', '.join(some)} ({what})" for what, some in groups.items() if some)
    return f" Changed since then: {said}." if said else ""


def density(one: Counts) -> float:
    """Warnings and errors per thousand lines of files that mention torch."""
    return 1000 * one.warnings() / max(one.lines, 1)


def _by_rule(found: Sequence[Counts]) -> str:
    by_id = {rule.id: rule for rule in registry.load()}
    rows = [
        "| rule | repositories with warnings | with infos only | warnings | infos |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in rules(found):
        name = f"[{rule} {by_id[rule].name}](rules/{by_id[rule].name}.md)" if rule in by_id else rule
        warnings, infos = (sum(one.of_rule(rule, infos=kind) for one in found) for kind in (False, True))
        some = having(found, rule)
        share = f"{some} ({some / len(found):.0%})"
        rows.append(f"| {name} | {share} | {having(found, rule, infos=True)} | {warnings} | {infos} |")
    return "\n".join(rows) + "\n"


def _by_repository(found: Sequence[Counts]) -> str:
    rows = ["| repository | commit | files | lines | warnings | infos |", "| --- | --- | --- | --- | --- | --- |"]
    for one in sorted(found, key=lambda one: one.repository.lower()):
        infos = sum(each.findings for each in one.findings) - one.warnings()
        facts = (one.repository, one.commit[:8], one.files, f"{one.lines:,}", one.warnings(), infos)
        rows.append(f"| {' | '.join(map(str, facts))} |")
    return "\n".join(rows) + "\n"

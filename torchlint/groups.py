"""Groups of rules: what a rule promises about its findings.

The group of a rule follows from its severity unless the rule names another one. Which group a rule may be in is decided
by readings of its findings in code that it was not written on (docs/evaluation.md, "What a group promises").
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torchlint.model import Severity

DEAD, WASTE, ADVICE, PORTABILITY, PREVIEW = "dead", "waste", "advice", "portability", "preview"


class Group(NamedTuple):
    """What the rules of a group promise, and the highest severity of their findings."""

    promise: str
    highest: Severity


GROUPS = {
    DEAD: Group("Wrong or dead code. The fault is proved by a run, and no false alarm is known.", Severity.ERROR),
    WASTE: Group(
        "Wasted time or memory. The aim: at least 90 % of warnings are right and worth fixing.", Severity.WARNING
    ),
    ADVICE: Group(
        "Advice: often pointless although it is true, or read too seldom to promise more. A warning only where every "
        "step of a training or a sampler waits.",
        Severity.INFO,
    ),
    PORTABILITY: Group("The program fails on a machine without CUDA; nothing is wasted with it.", Severity.WARNING),
    PREVIEW: Group(
        "Not found in real code yet, or wrong too often there. Off unless `preview` is set.", Severity.ERROR
    ),
}
_BY_SEVERITY = {Severity.ERROR: DEAD, Severity.WARNING: WASTE, Severity.INFO: ADVICE}


class Grouped(Protocol):
    """What has a group, or a severity that implies one: a rule class, or a record of its facts."""

    @property
    def group(self) -> str:
        """The group; empty if it follows from the severity."""

    @property
    def severity(self) -> Severity:
        """The severity of most findings."""

    @property
    def default(self) -> bool:
        """Whether the rule is enabled without being selected, unless its group is off."""


def group_of(rule: Grouped) -> str:
    """The group of a rule: its own, or else the one that its severity implies."""
    return rule.group or _BY_SEVERITY[rule.severity]


def on_by_default(rule: Grouped) -> bool:
    """Whether a rule is enabled without being selected."""
    return rule.default and group_of(rule) != PREVIEW


def bounded(severity: Severity, group: str) -> Severity:
    """The severity of a finding of a rule that names this group, if any: at most the highest one of the group."""
    return min(severity, GROUPS[group].highest, key=lambda each: each.rank) if group else severity


def implied_by(group: str) -> Severity | None:
    """The severity that rules of a group have; None if it may be any."""
    return next((severity for severity, name in _BY_SEVERITY.items() if name == group), None)

"""A campaign: many programs for one rule, with the number generated, fixed, and changed by a fix."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pprint import pformat

import hypothesis
from hypothesis import HealthCheck, Phase, assume, given, settings

from tests.differential.case import Case, Verdict, judged
from tests.differential.strategies import STRATEGIES


@dataclass
class Campaign:
    """The figures for one rule, and the shortest program for each kind of difference."""

    rule: str
    generated: int = 0
    repaired: int = 0
    differing: int = 0
    found: dict[tuple[str, ...], tuple[Case, Verdict]] = field(default_factory=dict)

    def tried(self, case: Case) -> bool:
        """Judge a program. False if it has no fix, and proves nothing."""
        self.generated += 1
        verdict = judged(case)
        self.repaired += verdict.repaired
        if verdict.differences:
            self.differing += 1
            known = self.found.get(verdict.differences)
            if known is None or len(case.text) < len(known[0].text):
                self.found[verdict.differences] = (case, verdict)
        return verdict.repaired

    def __str__(self) -> str:
        share = self.repaired / max(1, self.generated)
        return (
            f"{self.rule}: {self.repaired:,} programs repaired ({share:.0%} of {self.generated:,} generated), "
            f"{self.differing:,} changed by it"
        )


def run(rule: str, programs: int, seed: int, each: Callable[[Campaign], None] = lambda _: None) -> Campaign:
    """Fix this many programs for a rule; differences are collected, and do not end the campaign."""
    campaign = Campaign(rule)

    @hypothesis.seed(seed)
    @settings(
        max_examples=programs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(STRATEGIES[rule])
    def trial(case: Case) -> None:
        assume(campaign.tried(case))
        each(campaign)

    trial()
    return campaign


def shown(case: Case, verdict: Verdict) -> str:
    """A program before and after a fix that changes its outcome, with everything needed to run it again."""
    given = {"inputs": case.inputs, "surroundings": case.surroundings, "cuda": case.cuda}
    texts = f"-- before\n{case.text}-- after\n{verdict.after}"
    return f"differs in {', '.join(verdict.differences)}\n{pformat(given)}\n{texts}"


def progress(campaign: Campaign) -> None:
    """Print the progress now and then, since campaigns take long."""
    if campaign.repaired % 1000 == 0:
        sys.stderr.write(f"{campaign}\n")

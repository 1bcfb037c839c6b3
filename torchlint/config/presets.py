"""Presets: named sets of rules for a purpose, computed from facts about the rules.

They are selectors like topics, so rules of other packages belong to them as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torchlint.groups import Grouped, on_by_default
from torchlint.model import Severity

RECOMMENDED, STRICT = "recommended", "strict"


class Facts(Grouped, Protocol):
    """The facts about a rule that selection needs; rule classes and their records have them."""

    @property
    def id(self) -> str:
        """The letters of the package, and digits."""

    @property
    def name(self) -> str:
        """The kebab-case name."""

    @property
    def topic(self) -> str:
        """The topic; empty if it follows from the id."""

    @property
    def fix(self) -> str:
        """Whether there is a fix: ``never``, ``sometimes`` or ``always``."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The kinds of programs in which findings cost time or memory."""


class Preset(NamedTuple):
    """A set of rules: what it is for, and whether a rule belongs to it."""

    purpose: str
    has: Callable[[Facts], bool]


def _training(rule: Facts) -> bool:
    return on_by_default(rule) and "training" in rule.programs


def _inference(rule: Facts) -> bool:
    return on_by_default(rule) and "inference" in rule.programs


def _ci(rule: Facts) -> bool:
    return on_by_default(rule) and rule.severity is not Severity.INFO and rule.fix != "never"


PRESETS = {
    RECOMMENDED: Preset("The rules that are on by default.", on_by_default),
    STRICT: Preset(
        "The rules that are on by default, with every info as a warning: advice fails a run, too.",
        on_by_default,
    ),
    "training": Preset("What costs time or memory in programs that train a model.", _training),
    "inference": Preset("What costs time or memory in programs that only evaluate or serve a model.", _inference),
    "ci": Preset(
        "What is certain and easy to fix: rules with warnings or errors, and with fixes.",
        _ci,
    ),
}


def presets_of(rule: Facts) -> list[str]:
    """The presets that a rule belongs to."""
    return [name for name, preset in PRESETS.items() if preset.has(rule)]

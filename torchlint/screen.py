"""Screening: which rules could fire on these bytes at all, decided without parsing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.knowledge.screening import Whole

if TYPE_CHECKING:
    from torchlint.contents import Contents
    from torchlint.knowledge.screening import Trigger
    from torchlint.rule import Rule

    Groups = tuple[tuple[Trigger, ...], ...]


def survivors(contents: Contents, rules: Iterable[type[Rule]]) -> tuple[type[Rule], ...]:
    """The rules of which every group of triggers has one in the bytes, and every group of words one in the text.

    What is no UTF-8 is searched for triggers alone.
    """
    triggered = [rule for rule in rules if all(map(contents.any, _cheapest_first(rule)))]
    if not triggered or contents.text is None:
        return tuple(triggered)
    return tuple(
        rule for rule in triggered if _asks_all(rule) or all(map(contents.may_hold, contents.near(rule.near_in)))
    )


_ordered: dict[type[Rule], Groups] = {}


def _cheapest_first(rule: type[Rule]) -> Groups:
    """The groups of triggers of a rule, those with patterns last."""
    found = _ordered.get(rule)
    if found is None:
        found = _ordered[rule] = tuple(sorted(rule.triggers, key=_has_patterns))
    return found


def _has_patterns(group: tuple[Trigger, ...]) -> bool:
    return not all(isinstance(one, (bytes, Whole)) for one in group)


def _asks_all(rule: type[Rule]) -> bool:
    """The rule looks at the module as a whole, whatever words stand in it."""
    return hasattr(rule, "visit_Module")

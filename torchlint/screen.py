"""Screening: which rules could fire on these bytes at all, decided without parsing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.rule import Rule


def survivors(data: bytes, rules: Sequence[type[Rule]]) -> tuple[type[Rule], ...]:
    """The rules of which every trigger group has an alternative in the bytes."""
    seen: dict[tuple[bytes | re.Pattern[bytes], ...], bool] = {}
    found = []
    for rule in rules:
        for group in rule.triggers:
            if group not in seen:
                seen[group] = any(_occurs(trigger, data) for trigger in group)
            if not seen[group]:
                break
        else:
            found.append(rule)
    return tuple(found)


def _occurs(trigger: bytes | re.Pattern[bytes], data: bytes) -> bool:
    return trigger in data if isinstance(trigger, bytes) else trigger.search(data) is not None

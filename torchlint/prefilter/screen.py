"""Which rules could fire on these bytes at all, decided without parsing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.prefilter.contents import Contents
    from torchlint.rule import Rule


def survivors(contents: Contents, rules: Iterable[type[Rule]]) -> tuple[type[Rule], ...]:
    """The rules of which some visitor has all that it needs in the bytes."""
    return tuple(rule for rule in rules if any(map(contents.all, rule.alternatives())))

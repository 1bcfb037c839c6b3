"""What the bytes of one file tell by themselves: which rules may fire in it, and whether it has to be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.facts import from_bytes, needs_parsing
from torchlint.screen import survivors
from torchlint.timings import phase

if TYPE_CHECKING:
    from torchlint.contents import Contents
    from torchlint.project import FileFacts
    from torchlint.rule import Rule


class Screened(NamedTuple):
    """The facts that need no parsing, the ids of the rules that may fire, and what else matters.

    ``commented``: there may be suppressions. ``offers``: other files may want to know more of this one.
    """

    facts: FileFacts
    survivors: frozenset[str]
    commented: bool
    offers: bool

    @property
    def parses(self) -> bool:
        """The file has to be parsed."""
        return bool(self.survivors) or self.offers


def screened(
    data: bytes,
    contents: Contents,
    rules: Sequence[type[Rule]],
    active: frozenset[str],
    *,
    alone: bool = True,
    exhaustive: bool = False,
) -> Screened:
    """Screen the bytes of one file for the rules whose ids are on for it, without importing LibCST.

    Unless the file is linted ``alone``, its facts are known already. ``exhaustive`` has every rule survive.
    """
    with phase("screen"):
        on = [rule for rule in rules if rule.id in active]
        return Screened(
            from_bytes(contents),
            frozenset(rule.id for rule in (on if exhaustive else survivors(contents, on))),
            commented=b"torchlint:" in data or b"noqa" in data.lower(),
            offers=alone and (exhaustive or needs_parsing(contents)),
        )

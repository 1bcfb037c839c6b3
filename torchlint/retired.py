"""Rules that torchlint no longer has. Their ids and names are not given to other rules.

A configuration, a command or a suppression that names one is told why it is gone.
"""

from __future__ import annotations

from typing import NamedTuple


class Retired(NamedTuple):
    """A rule that is gone, and why; ``why`` continues a sentence."""

    id: str
    name: str
    why: str


RETIRED = (
    Retired(
        "TL203",
        "manual-pin-then-copy",
        "measured on a GPU, pinning a batch by hand and copying it takes half as long as a copy from pageable memory",
    ),
)


def why_retired(word: str) -> str | None:
    """That the rule with this id or name was retired, and why; None for any other word."""
    folded = word.casefold()
    found = next((rule for rule in RETIRED if folded in (rule.id.casefold(), rule.name)), None)
    return f"{found.id} {found.name} was retired: {found.why}" if found is not None else None

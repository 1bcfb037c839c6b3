"""What a probe is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchlint.confirm.case import Case
from torchlint.confirm.verdict import Verdict


@dataclass(frozen=True)
class Probe:
    """A judge, whether it needs an accelerator, and whether it looks at the whole run instead of one place.

    ``kinds`` are the transfers and waits it speaks of: at its places, these are no longer unflagged. ``notes`` is what
    the marks of its findings note beside counts and times: ``flags`` of backends, or autograd ``graphs`` that results
    carry. ``confirms`` is False where only a comparison of two runs could confirm a finding.
    """

    judge: Callable[[Case], Verdict]
    device: bool = False
    everywhere: bool = False
    kinds: tuple[str, ...] = ()
    notes: str | None = None
    confirms: bool = True

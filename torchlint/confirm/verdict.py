"""What a run says of a finding."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(str, enum.Enum):
    """What a run says of a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not reached"
    UNKNOWN = "unknown"


class Basis(str, enum.Enum):
    """Where a figure comes from: a clock, a count of events, or a price list applied to counts."""

    MEASURED = "measured"
    COUNTED = "counted"
    MODELLED = "modelled"


@dataclass(frozen=True)
class Verdict:
    """What a run says of one finding, and why.

    ``count`` and ``bytes`` are those of the whole run, ``per_step`` is a count; ``cost`` is in microseconds for each
    step (of the whole run where there were no steps) on the given ``cost_basis``; ``share`` is the part of a step's
    measured time, between 0 and 1.
    """

    status: Status
    reason: str
    basis: Basis | None = None
    count: int = 0
    bytes: int = 0
    per_step: float | None = None
    cost: float | None = None
    cost_basis: Basis | None = None
    share: float | None = None

"""Verdicts: what a run shows about a finding."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from torchlint.confirm.bursts import Burst
from torchlint.confirm.by_line import LineCost
from torchlint.confirm.costs import Basis
from torchlint.confirm.evidence import Event


class Status(str, enum.Enum):
    """The outcome for a finding, in the order of reports."""

    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"
    NOT_REACHED = "not reached"
    REFUTED = "refuted"


@dataclass(frozen=True)
class Verdict:
    """The outcome for one finding, and the reason.

    ``count`` and ``bytes`` are for the whole run, ``per_step`` is a count; ``cost`` is in microseconds per step (or for
    the whole run if there were no steps) on the given ``cost_basis``, both for steps of ``phase``; ``share`` is the
    part of a step's time, between 0 and 1. ``beside`` says that it happened in workers, beside the step, which
    it does not block; ``shared`` names the verdict that has the cost of the same ``events``. ``lines`` has the cost by
    line where there are several, and ``burst`` is set if it happened in few steps.
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
    phase: str | None = None
    beside: bool = False
    shared: str | None = None
    lines: tuple[LineCost, ...] = ()
    burst: Burst | None = None
    events: tuple[Event, ...] = field(default=(), repr=False, compare=False)

    def is_loading_beside(self, mode: str) -> bool:
        """Whether its time is that of loading data while the processor also computes in place of the device."""
        return mode == "sim" and any(event.kind == "batch" for event in self.events)

"""Phases of a run: before training, training, evaluation, after.

A run is a sequence of segments. What a segment was becomes clear only at its end or later, for example that the code
between two optimizer steps was an evaluation; events are counted by segment until then.
"""

from __future__ import annotations

from array import array

OPEN, BEFORE, TRAINING, EVALUATION, AFTER = range(5)
NAMES = {BEFORE: "before", TRAINING: "training", EVALUATION: "evaluation", AFTER: "after"}
_STEADY = 8


class Ledger:
    """The segments of a run: the phase and step of each, as soon as they are known.

    Steps are numbered from 1 in the order of time, those of training and of evaluation together. A segment is steady
    unless it belongs to the first step of a training, which includes work that is done once.
    """

    def __init__(self) -> None:
        self.current = 0
        self._outcomes = array("q", [OPEN])

    def reset(self) -> None:
        """Begin anew in a child process."""
        self.current = 0
        self._outcomes = array("q", [OPEN])

    def open(self) -> int:
        """Begin a new segment; returns the one that has ended."""
        ended = self.current
        self._outcomes.append(OPEN)
        self.current = ended + 1
        return ended

    def decide(self, segment: int, phase: int, step: int = 0, *, steady: bool = False) -> None:
        """Set the phase of a segment, and the number of the step that it belongs to (0: none)."""
        self._outcomes[segment] = step << 4 | (_STEADY if steady else 0) | phase

    def phase(self, segment: int) -> int:
        """The phase of a segment; ``OPEN`` (0) while it is not known."""
        return self._outcomes[segment] & 7

    def outcome(self, segment: int) -> tuple[int, int, bool]:
        """The phase of a segment, its step, and whether that is a step of training other than the first."""
        outcome = self._outcomes[segment]
        return outcome & 7, outcome >> 4, bool(outcome & _STEADY)

    def step(self, segment: int) -> int:
        """The number of the step that it belongs to; 0 for none."""
        return self._outcomes[segment] >> 4

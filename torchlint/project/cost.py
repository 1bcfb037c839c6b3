"""What an event costs a normal run: the one place that decides how severe a read, another wait or a copy is.

The classes of events follow what readers said of findings in public repositories: ``benchmarks/readings.py classes``
counts them by rule, phase, use or origin, and loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge.forms import BLOCKING, HOLDING
from torchlint.project.followed import EVALUATION, FOREIGN, HOT, SAMPLING

if TYPE_CHECKING:
    from torchlint.project.followed import FollowedEvent

# Uses of a value for which a step must read it, or that take much longer than the wait; a step of decoding can be late
# with what ends it, and with what it makes.
_MEANT = frozenset({"check", "picture", "handed on", "measured"})
_NEEDED = _MEANT | {"needed", "stop", "backward"}
_TESTS = ("test", "stop")
_COPY = "copy "


def is_costly(event: FollowedEvent) -> bool:
    """Whether a normal run pays for it in every step, as following it has shown."""
    if event.form.startswith("growth"):  # the caches of all layers
        return event.is_in_steps and event.phase in (SAMPLING, HOT) and event.origin == "kept" and bool(event.loops)
    costs = event.phase not in ("inference", EVALUATION) or _costs_inference(event)
    return event.seen or (event.is_in_steps and costs and not is_needed(event) and not _is_slight(event))


def is_needed(event: FollowedEvent) -> bool:
    """Whether a step must read it or copy it, or what it is read for takes much longer."""
    return event.use in (_MEANT if event.phase == SAMPLING else _NEEDED) or event.origin == FOREIGN


def _costs_inference(event: FollowedEvent) -> bool:
    """Whether a step of inference or of an evaluation pays for it, too, which reads its results in any case.

    It does for what goes to and fro, for elements and shapes that the host must know before it goes on, and for what
    loops inside of the step multiply, except for results, single numbers and, in an evaluation, batches.
    """
    if event.use == "selects":
        return False  # what it selects on the host, which would wait for a mask on the device, too
    if event.is_round_trip or event.use == "index":
        return event.use != "size"
    holds, infers = event.form in HOLDING, event.phase != EVALUATION
    copies = event.form.startswith(_COPY) and infers and event.origin != "number"
    return (holds and infers) or (bool(event.loops) and (holds or copies or event.use in _TESTS))


def _is_slight(event: FollowedEvent) -> bool:
    """Whether nothing is left to wait for when a number is copied, or when decoding tests whether to end.

    Of what decoding copies once in a step, it must be known where that comes from.
    """
    if event.phase != SAMPLING:
        return False
    drained, once = event.behind[1] > 0, not event.loops
    unclear = event.form == BLOCKING.key and not event.origin and once
    return unclear or (drained and (event.origin == "number" or (event.use in _TESTS and once)))

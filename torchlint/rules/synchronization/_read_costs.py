"""What is known about the cost of single reads: what their values are for, and whether the host waits anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.rules.synchronization._destinations import Destinations
from torchlint.rules.synchronization._host_uses import host_use
from torchlint.rules.synchronization._needed_waits import NeededWaits
from torchlint.rules.synchronization._waits import Waits, in_words

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.read import Read
    from torchlint.analysis.things.step import Step

_DECIDED = {
    "size": "compute this size on the host, from what it is made of, before that is moved (`max(map(len, rows))`)",
    "test": "choose on the device with `torch.where`, or test every N steps",
}


class ReadCosts:
    """Judges the reads in one step."""

    def __init__(self, module: SourceModule, step: Step) -> None:
        self._module = module
        self._waits = Waits(module, step)
        self._known: dict[Read, cst.CSTNode | None] = {}
        self._goes = module.shared(Destinations)
        self._place = step.place

    def is_small(self, read: Read) -> bool:
        """Whether a read hardly matters: its value is drawn, or the host waits directly before it."""
        return self._goes.only(read, "picture") or self._wait(read) is not None

    def note(self, read: Read) -> str | None:
        """What evidence says about a read, beside where it is."""
        wait = self._wait(read)
        return in_words(self._module, wait) if wait is not None else purpose(self._module, [read]) or self._use(read)

    def advice(self, reads: list[Read]) -> str | None:
        """What to do about these reads, if the same holds for all of them, and the usual advice does not fit."""
        wait = self._wait(reads[0])
        if wait is not None and all(self._wait(read) is not None for read in reads):
            return in_words(self._module, wait)
        found = purpose(self._module, reads)
        if found is None and all(map(self.is_small, reads)):
            return "each of them costs little"
        uses = {self._use(read) for read in reads}
        return found or (uses.pop() if len(uses) == 1 else None)

    def logged(self, reads: list[Read]) -> list[Read]:
        """Those of some reads whose values decide nothing in the step, of which there may be none."""
        return [read for read in reads if self._use(read) is None]

    def _use(self, read: Read) -> str | None:
        """What to do about a read whose value decides something at once."""
        found = host_use(self._module, read, self._place)
        return _DECIDED[found] if found is not None else None

    def _wait(self, read: Read) -> cst.CSTNode | None:
        if read not in self._known:
            self._known[read] = self._waits.before(read.node, read.tensor)
        return self._known[read]


def purpose(module: SourceModule, reads: list[Read]) -> str | None:
    """What to do about reads whose values go nowhere, back to the device, or into pictures."""
    goes = module.shared(Destinations)
    if all(goes.only(read, "nothing") for read in reads):
        meant = module.shared(NeededWaits).may_include(reads[0].node)
        return f"nothing uses the result: delete it{', unless the wait itself is needed' if meant else ''}"
    if all(goes.only(read, "device") for read in reads):
        return f"keep it on the device: {reads[0].how} is not needed here"
    if all(goes.only(read, "picture") for read in reads):
        return "the value is only drawn, which takes much longer than the wait"
    return None

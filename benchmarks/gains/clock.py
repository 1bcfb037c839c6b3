"""Times the steps of the program in this process, from the end of one optimizer step to that of the next."""

from __future__ import annotations

import platform
import statistics
import sys
import weakref
from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter_ns
from typing import Any, Protocol

from gains.programs import Program
from torchlint.runtime.turns import Turns


class Gate(Protocol):
    """Where a process pauses until it is its turn, and hands in what it measured."""

    def wait(self) -> None:
        """Return when nothing else runs."""

    def deliver(self, measured: dict[str, Any]) -> None:
        """Hand in the result; does not return, since nothing is left to do."""


class Clock:
    """Counts steps, and times blocks of them.

    With several optimizers a step is a round of them, as in :class:`torchlint.runtime.turns.Turns`. The device is
    waited for at the pause and at the ends of blocks only: a program that reads nothing may be many steps ahead of it.
    """

    def __init__(self, program: Program, gate: Gate) -> None:
        self._program, self._gate = program, gate
        self._turns = Turns()
        self._optimizers: list[weakref.ref[Any]] = []
        self._ends: list[int] = []
        self._intervals: list[int] = []
        self._blocks: list[float] = []
        self.steps = 0
        self._course = self._run()
        self._until = next(self._course)

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """An optimizer has stepped: a hook of ``torch.optim``."""
        if all(known() is not optimizer for known in self._optimizers):
            self._optimizers.append(weakref.ref(optimizer))
        rounds, _taken = self._turns.rounds(optimizer)
        if rounds:
            self._ends.append(perf_counter_ns())
            self.steps += rounds
            if self.steps >= self._until:
                self._until = next(self._course)

    def _run(self) -> Iterator[int]:
        """Yields the number of steps after which it goes on."""
        program = self._program
        yield program.warm_up
        synchronize()
        self._gate.wait()
        if program.settle:
            yield self.steps + program.settle
        for _ in range(program.blocks):
            synchronize()
            before, since = self.steps, perf_counter_ns()
            self._ends = [since]
            yield before + program.steps
            synchronize()
            self._blocks.append((perf_counter_ns() - since) / (self.steps - before))
            self._intervals += [end - start for start, end in pairwise(self._ends)]
        self._gate.deliver(self._measured())

    def _measured(self) -> dict[str, Any]:
        return {
            "step_us": statistics.median(self._blocks) / 1000,
            "blocks_us": [spent / 1000 for spent in self._blocks],
            "interval_us": statistics.median(self._intervals) / 1000,
            "weight": sum(_weight(optimizer) for known in self._optimizers if (optimizer := known()) is not None),
            "device": device(),
        }


def _weight(optimizer: Any) -> float:
    """The sum of the absolute values of all parameters: two runs with other results have another one."""
    return sum(
        float(parameter.detach().cpu().double().abs().sum())
        for group in optimizer.param_groups
        for parameter in group["params"]
    )


def _cuda() -> Any:
    """``torch.cuda`` if the program uses it. Nothing here must be the first to."""
    cuda = sys.modules["torch"].cuda
    return cuda if cuda.is_initialized() else None


def synchronize() -> None:
    """Wait for the device, if the program uses one."""
    if (cuda := _cuda()) is not None:
        cuda.synchronize()


def device() -> str:
    """What the program runs on."""
    cuda = _cuda()
    return str(cuda.get_device_name()) if cuda is not None else f"CPU ({platform.machine()})"

"""The answer that a report begins with: what a step takes, and how much of it is waiting.

A step waits for data (measured), is blocked by copies and reads (measured or modelled), and computes. On the simulated
GPU the processor computes in place of the device, so that only waiting for data is a time that also holds on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.figures import duration, percent
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import each_step
from torchlint.confirm.totals import Totals, blocks
from torchlint.confirm.verdict import Basis, Status, Verdict

# Below this part of a step, nothing is worth a sentence.
_LITTLE = 0.005
DATA, BLOCKED = "waiting for data", "blocked by copies and reads"


@dataclass(frozen=True)
class Part:
    """A part of a step, in microseconds."""

    name: str
    us: float
    basis: Basis


@dataclass(frozen=True)
class Answer:
    """What the median step consists of. ``step_us`` and the parts are None and empty where no step was timed."""

    sentences: tuple[str, ...]
    step_us: float | None = None
    parts: tuple[Part, ...] = ()

    @property
    def modelled(self) -> bool:
        """Whether a part is modelled."""
        return any(part.basis is Basis.MODELLED and part.us for part in self.parts)

    @property
    def blocked(self) -> float:
        """How long copies and reads block a step, in microseconds."""
        return sum(part.us for part in self.parts if part.name == BLOCKED)


def answer(run: Run, prices: Prices, totals: Totals | None, verdicts: tuple[Verdict, ...]) -> Answer:
    """The answer of a run."""
    if run.left is not None:
        return Answer(("The program left what can be simulated, so nothing can be said about its steps.",))
    if totals is None:
        return Answer(("The run did not complete a step.",))
    if not run.step_ns:
        return Answer(("The run has too few steps to say how long one takes.",))
    step, data = run.step_ns / 1000, totals.waiting_us
    blocked, basis = _blocked(run, prices, verdicts)
    parts = [Part(DATA, data, Basis.MEASURED)]
    if run.mode != "cpu":
        parts.append(Part(BLOCKED, blocked, basis))
    inside = data if run.mode == "sim" else data + blocked
    name = "computing on the CPU in place of a GPU" if run.mode == "sim" else "the rest"
    parts.append(Part(name, max(step - inside, 0.0), Basis.MEASURED))
    return Answer(tuple(_sentences(run, step, data, parts)), step, tuple(parts))


def _blocked(run: Run, prices: Prices, verdicts: tuple[Verdict, ...]) -> tuple[float, Basis]:
    """How long copies and reads block a step: modelled for all, unless a GPU has measured those of the findings."""
    confirmed = [v for v in verdicts if v.status is Status.CONFIRMED and not v.beside]
    measured = [v for v in confirmed if v.cost_basis is Basis.MEASURED]
    if run.mode == "gpu" and measured:
        return sum(v.cost or 0.0 for v in measured if v.phase == run.main), Basis.MEASURED
    events = [event for event in run.events if event.main and blocks(event)]
    return each_step(run, events, prices.of) or 0.0, Basis.MODELLED


def _sentences(run: Run, step: float, data: float, parts: list[Part]) -> list[str]:
    what = "A step of evaluation" if run.main == EVALUATION else "A step"
    takes = f"{what} takes {duration(step)}{' here' if run.mode == 'sim' else ''}"
    if data > step:
        first = f"{takes}; it waits for data {duration(data)} on average, so a few steps wait long."
    elif data < step * _LITTLE:
        first = f"{takes}, and hardly waits for data."
    else:
        first = f"{takes}; {duration(data)} of it ({percent(data / step)}) is waiting for data."
    simulated = ["The CPU computes in place of a GPU, which would be faster."] if run.mode == "sim" else []
    return [first, *simulated, *_blocking(run, step, parts)]


def _blocking(run: Run, step: float, parts: list[Part]) -> list[str]:
    found = next((part for part in parts if part.name == BLOCKED), None)
    if found is None:
        return []
    if run.mode == "sim":
        if not found.us:
            return ["Copies and reads would not block a step on a GPU."]
        return [f"On a GPU, copies and reads would block a step for about {duration(found.us)} (modelled)."]
    about = "about " if found.basis is Basis.MODELLED else ""
    said = f"{percent(found.us / step)}, {found.basis.value}"
    return [f"Copies and reads block a step for {about}{duration(found.us)} ({said})."]

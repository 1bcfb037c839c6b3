"""The answer that a report begins with: what a step takes, and how much of it is waiting.

A step waits for data (measured), is blocked by copies and reads (measured or modelled), and computes. On the simulated
GPU the processor computes in place of the device, so that only waiting for data is a time that also holds on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.confirm.case import times
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import each_step
from torchlint.confirm.totals import Totals, blocks
from torchlint.confirm.verdict import Basis, Status, Verdict
from torchlint.report.figures import duration, percent

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
    parts = [Part(DATA, data, Basis.MEASURED)]
    if run.mode != "cpu":
        parts += _blocked(run, prices, verdicts)
    inside = data if run.mode == "sim" else sum(part.us for part in parts)
    name = "computing on the CPU in place of a GPU" if run.mode == "sim" else "the rest"
    parts.append(Part(name, max(step - inside, 0.0), Basis.MEASURED))
    sentences = [*_sentences(run, step, data, parts), *_worth(run, verdicts)]
    return Answer(tuple(sentences), step, tuple(parts))


def _blocked(run: Run, prices: Prices, verdicts: tuple[Verdict, ...]) -> list[Part]:
    """How long copies and reads block a step: as a GPU has measured it at findings, and modelled for all others."""
    measured = [verdict for verdict in verdicts if run.mode == "gpu" and _is_measured(verdict, run)]
    known = {id(event) for verdict in measured for event in verdict.events}
    events = [event for event in run.events if event.main and blocks(event) and id(event) not in known]
    modelled = each_step(run, events, prices.of) or 0.0
    found = [Part(BLOCKED, sum(verdict.cost or 0.0 for verdict in measured), Basis.MEASURED)] if measured else []
    return found + ([Part(BLOCKED, modelled, Basis.MODELLED)] if modelled or not measured else [])


def _is_measured(verdict: Verdict, run: Run) -> bool:
    return _counts(verdict, run) and verdict.cost_basis is Basis.MEASURED and any(map(blocks, verdict.events))


def _counts(verdict: Verdict, run: Run) -> bool:
    """Whether a finding has a cost that is a part of a step."""
    own = verdict.status is Status.CONFIRMED and verdict.phase == run.main and not verdict.beside
    return own and verdict.cost is not None


def _worth(run: Run, verdicts: tuple[Verdict, ...]) -> list[str]:
    """How much of a step the findings stand for."""
    found = [verdict for verdict in verdicts if _counts(verdict, run)]
    if not found:
        return []
    modelled = any(verdict.cost_basis is Basis.MODELLED for verdict in found)
    saved = f"{'about ' if modelled else ''}{duration(sum(verdict.cost or 0.0 for verdict in found))}"
    would = "would save" if run.mode == "sim" else "saves"
    return [f"Fixing {times(len(found), 'finding')} {would} at most {saved} a step."]


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
    found = [part for part in parts if part.name == BLOCKED]
    if not found:
        return []
    whole = sum(part.us for part in found)
    if run.mode == "sim":
        if not whole:
            return ["Copies and reads would not block a step on a GPU."]
        return [f"On a GPU, copies and reads would block a step for about {duration(whole)} (modelled)."]
    about = "about " if any(part.basis is Basis.MODELLED for part in found) else ""
    bases = " and ".join(f"{duration(part.us)} {part.basis.value}" for part in found)
    said = f"{percent(whole / step)}, {found[0].basis.value if len(found) == 1 else bases}"
    return [f"Copies and reads block a step for {about}{duration(whole)} ({said})."]

"""The answer that a report begins with: what a step takes, and how much of it is waiting.

A step waits for data (measured), is blocked by copies and reads (measured or modeled), and computes. On the simulated
GPU the processor computes in place of the device, and how long that takes says nothing: the answer consists of copies,
waits and their modeled time, and of waiting for data.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.confirm.case import times
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.prices import Prices
from torchlint.confirm.rates import each_step
from torchlint.confirm.totals import Totals, blocks
from torchlint.confirm.verdict import Basis, Status, Verdict
from torchlint.report.figures import duration, number, percent

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
    """What the median step consists of. ``step_us`` and the parts are None and empty where no step was timed.

    On the simulated GPU, ``step_us`` is what the user says that a step takes on a GPU; the rest of it is no part.
    """

    sentences: tuple[str, ...]
    step_us: float | None = None
    parts: tuple[Part, ...] = ()

    @property
    def modeled(self) -> bool:
        """Whether a part is modeled."""
        return any(part.basis is Basis.MODELED and part.us for part in self.parts)

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
    worth = _worth(run, prices, verdicts)
    if run.mode == "sim":
        sentences = [*_simulated(run, prices, totals, parts), *worth, *_advice(prices, parts)]
        return Answer(tuple(sentences), prices.step, tuple(parts))
    parts.append(Part("the rest", max(step - sum(part.us for part in parts), 0.0), Basis.MEASURED))
    return Answer((*_sentences(run, step, data, parts), *worth), step, tuple(parts))


def _blocked(run: Run, prices: Prices, verdicts: tuple[Verdict, ...]) -> list[Part]:
    """How long copies and reads block a step: as a GPU has measured it at findings, and modeled for all others."""
    measured = [verdict for verdict in verdicts if run.mode == "gpu" and _is_measured(verdict, run)]
    known = {id(event) for verdict in measured for event in verdict.events}
    events = [event for event in run.events if event.main and blocks(event) and id(event) not in known]
    modeled = each_step(run, events, prices.of) or 0.0
    found = [Part(BLOCKED, sum(verdict.cost or 0.0 for verdict in measured), Basis.MEASURED)] if measured else []
    return found + ([Part(BLOCKED, modeled, Basis.MODELED)] if modeled or not measured else [])


def _is_measured(verdict: Verdict, run: Run) -> bool:
    return _counts(verdict, run) and verdict.cost_basis is Basis.MEASURED and any(map(blocks, verdict.events))


def _counts(verdict: Verdict, run: Run) -> bool:
    """Whether a finding has a cost that is a part of a step."""
    own = verdict.status is Status.CONFIRMED and verdict.phase == run.main and not verdict.beside
    return own and verdict.cost is not None


def _worth(run: Run, prices: Prices, verdicts: tuple[Verdict, ...]) -> list[str]:
    """How much of a step the findings stand for."""
    found = [verdict for verdict in verdicts if _counts(verdict, run)]
    if not found:
        return []
    modeled = any(verdict.cost_basis is Basis.MODELED for verdict in found)
    whole = sum(verdict.cost or 0.0 for verdict in found)
    saved = f"{'about ' if modeled else ''}{duration(whole)}"
    if run.mode != "sim":
        return [f"Fixing {times(len(found), 'finding')} saves at most {saved} a step."]
    share = f" ({_share(whole, prices)})" if prices.step else ""
    return [f"Fixing {times(len(found), 'finding')} would save at most {saved} a step{share}."]


def _share(us: float, prices: Prices) -> str:
    """The part of a step that lasts as long as the user says."""
    assert prices.step is not None
    return f"{percent(min(us / prices.step, 1.0))} of a step of {duration(prices.step)}"


def _simulated(run: Run, prices: Prices, found: Totals, parts: list[Part]) -> list[str]:
    """What is known without a GPU: copies and waits with their modeled time, and waiting for data, by time."""
    blocked = sum(part.us for part in parts if part.name == BLOCKED)
    what = _step_of(run)
    made = [
        f"{number(count)} {one if count == 1 else several}"
        for count, one, several in (
            (found.uploads, "copy to the device", "copies to the device"),
            (found.downloads, "copy to the host", "copies to the host"),
            (found.synchronizations, "wait for the device", "waits for the device"),
        )
        if count
    ]
    first = f"{what} copies nothing and never waits for the device."
    if made:
        basis = f"modeled; {_share(blocked, prices)}" if prices.step else "modeled"
        included = ", blocking copies included" if found.synchronizations and len(made) > 1 else ""
        listed = f"{', '.join(made[:-1])} and {made[-1]}{included}" if len(made) > 1 else made[0]
        first = f"{what} makes {listed}: about {duration(blocked)} on a GPU ({basis})."
    if found.waiting_us < (run.step_ns or 0) / 1000 * _LITTLE:
        return [first]
    data = f"{what} waits {duration(found.waiting_us)} for data, as measured here."
    return [data, first] if found.waiting_us > blocked else [first, data]


def _advice(prices: Prices, parts: list[Part]) -> list[str]:
    """How modeled times become shares of a step."""
    if prices.step or not any(part.us for part in parts if part.name == BLOCKED):
        return []
    return ["How long a step takes on a GPU is not known; with `--gpu-step TIME`, costs are given as shares of it."]


def _step_of(run: Run) -> str:
    return "A step of evaluation" if run.main == EVALUATION else "A step"


def _sentences(run: Run, step: float, data: float, parts: list[Part]) -> list[str]:
    takes = f"{_step_of(run)} takes {duration(step)}"
    if data > step:
        first = f"{takes}; it waits for data {duration(data)} on average, so a few steps wait long."
    elif data < step * _LITTLE:
        first = f"{takes}, and hardly waits for data."
    else:
        first = f"{takes}; {duration(data)} of it ({percent(data / step)}) is waiting for data."
    return [first, *_blocking(step, parts)]


def _blocking(step: float, parts: list[Part]) -> list[str]:
    found = [part for part in parts if part.name == BLOCKED]
    if not found:
        return []
    whole = sum(part.us for part in found)
    about = "about " if any(part.basis is Basis.MODELED for part in found) else ""
    bases = " and ".join(f"{duration(part.us)} {part.basis.value}" for part in found)
    said = f"{percent(whole / step)}, {found[0].basis.value if len(found) == 1 else bases}"
    return [f"Copies and reads block a step for {about}{duration(whole)} ({said})."]

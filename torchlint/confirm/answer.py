"""The answer that a report begins with: what a step takes, and how much of it is waiting.

A step waits for data (measured), loses time to copies and waits (measured where steps were profiled, else modeled), and
computes. On the simulated GPU the processor computes in place of the device, and how long that takes says nothing: the
answer consists of copies, waits and their modeled time. How long loading took is said after that, and is no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.confirm.case import times
from torchlint.confirm.costs import Basis, Costs
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.prices import Prices
from torchlint.confirm.totals import Totals, blocks
from torchlint.confirm.verdict import Status, Verdict
from torchlint.report.figures import duration, number, percent

# Below this part of a step, nothing is worth a sentence.
_LITTLE = 0.005
DATA, BLOCKED, IDLE = "waiting for data", "blocked by copies and reads", "idle because of copies and waits"


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
        """How long copies and waits block a step or leave the device idle, in microseconds."""
        return sum(part.us for part in self.parts if part.name in (BLOCKED, IDLE))


def answer(costs: Costs, totals: Totals | None, verdicts: tuple[Verdict, ...]) -> Answer:
    """The answer of a run."""
    run, prices = costs.run, costs.prices
    if run.left is not None:
        return Answer(("The program left what can be simulated, so nothing can be said about its steps.",))
    if totals is None:
        return Answer(("The run did not complete a step.",))
    if not run.step_ns:
        return Answer(("The run has too few steps to say how long one takes.",))
    step, data = run.step_ns / 1000, totals.waiting_us
    parts = [Part(DATA, data, Basis.MEASURED)] if run.mode != "sim" else []
    if run.mode != "cpu":
        parts.append(_waits(costs))
    worth = _worth(costs, verdicts)
    if run.mode == "sim":
        sentences = [*_simulated(run, prices, totals, parts), *worth, *_advice(prices, parts)]
        return Answer(tuple(sentences), prices.step, tuple(parts))
    parts.append(Part("the rest", max(step - sum(part.us for part in parts), 0.0), Basis.MEASURED))
    return Answer((*_sentences(run, step, data, parts), *worth), step, tuple(parts))


def _waits(costs: Costs) -> Part:
    """What copies and waits cost in a step: measured where steps were profiled, and modeled elsewhere."""
    found = costs.of([event for event in costs.run.events if event.main and blocks(event)])
    if costs.profiled:
        return Part(IDLE, found.us if found is not None and found.basis is Basis.MEASURED else 0.0, Basis.MEASURED)
    return Part(BLOCKED, found.us if found is not None else 0.0, Basis.MODELED)


def _counts(verdict: Verdict, run: Run) -> bool:
    """Whether a finding has a cost that is a part of a step."""
    own = verdict.status is Status.CONFIRMED and verdict.phase == run.main and not verdict.beside
    return own and verdict.cost is not None and not verdict.is_loading_beside(run.mode)


def _worth(costs: Costs, verdicts: tuple[Verdict, ...]) -> list[str]:
    """How much of a step the findings stand for; what several of them are about counts once."""
    run, prices = costs.run, costs.prices
    found = [verdict for verdict in verdicts if _counts(verdict, run)]
    if not found:
        return []
    modeled = any(verdict.cost_basis is Basis.MODELED for verdict in found)
    whole = _together(costs, found)
    saved = f"{'about ' if modeled else ''}{duration(whole)}"
    if run.mode != "sim":
        return [f"Fixing {times(len(found), 'finding')} saves at most {saved} a step."]
    share = f" ({_share(whole, prices)})" if prices.step else ""
    return [f"Fixing {times(len(found), 'finding')} would save at most {saved} a step{share}."]


def _together(costs: Costs, verdicts: list[Verdict]) -> float:
    """The cost of several verdicts: that of waits is the cost of all their events, each of which counts once."""
    waits = [verdict for verdict in verdicts if any(map(blocks, verdict.events))]
    whole = sum(verdict.cost or 0.0 for verdict in verdicts if verdict not in waits)
    for basis in (Basis.MEASURED, Basis.MODELED):
        found = [verdict for verdict in waits if verdict.cost_basis is basis]
        events = {id(event): event for verdict in found for event in verdict.events if event.main and blocks(event)}
        cost = costs.of(events.values()) if events else None
        whole += cost.us if cost is not None else 0.0
    return whole


def _share(us: float, prices: Prices) -> str:
    """The part of a step that lasts as long as the user says."""
    assert prices.step is not None
    return f"{percent(min(us / prices.step, 1.0))} of a step of {duration(prices.step)}"


def _simulated(run: Run, prices: Prices, found: Totals, parts: list[Part]) -> list[str]:
    """What is known without a GPU: copies and waits with their modeled time, and then how long loading took here.

    The processor, which may have other work, computes in place of the GPU, so the second is no finding of the run.
    """
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
    loading = f"Loading data took the host {duration(found.waiting_us)} of {what[0].lower()}{what[1:]} here"
    return [first, f"{loading}, where the processor also computes in place of the GPU: measure that on a GPU."]


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
    found = next((part for part in parts if part.name in (BLOCKED, IDLE)), None)
    if found is None:
        return []
    if found.name == IDLE:
        share = f" ({percent(min(found.us / step, 1.0))}, measured)" if found.us else ""
        return [f"The GPU computes nothing for {duration(found.us)} of a step{share} because of copies and waits."]
    said = f"{percent(found.us / step)}, modeled" if found.us else "modeled"
    return [f"Copies and reads block a step for about {duration(found.us)} ({said})."]

"""Verdicts: evaluates each finding with the evidence of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from torchlint.confirm.bursts import burst
from torchlint.confirm.by_line import by_line
from torchlint.confirm.case import NO_MARK, Case, times, total, where
from torchlint.confirm.costs import Costs
from torchlint.confirm.evidence import COSTLY, EVALUATION, NOTHING, Event, Run
from torchlint.confirm.order import Order
from torchlint.confirm.places import Place, Sources, places_of, real
from torchlint.confirm.prices import Prices
from torchlint.confirm.probes import PROBES
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Finding, Recipe
from torchlint.report.figures import number

UNCONFIRMED = Verdict(Status.UNKNOWN, "its rule does not say how a run would confirm it")


def judge(order: Order, run: Run, prices: Prices) -> dict[str, Verdict]:
    """The verdicts on all findings of an order, by name."""
    sources, costs = Sources(run.sources), Costs(run, prices)
    verdicts = {}
    for name in order.findings:
        recipe = order.recipes[name]
        if recipe is None:
            verdicts[name] = UNCONFIRMED
            continue
        case = _case(name, recipe, order, costs, sources)
        verdict = _shown(case) if name in order.shown else _verdict(case)
        verdicts[name] = _detailed(verdict, case, order.base)
    return {**verdicts, **_shared(order, verdicts, costs)}


def _detailed(verdict: Verdict, case: Case, base: str) -> Verdict:
    """A confirmed finding with its cost by line, and whether it is a burst."""
    if verdict.status is not Status.CONFIRMED:
        return verdict
    lines = by_line(verdict.events, case.costs, base) if verdict.cost is not None else ()
    return replace(verdict, lines=lines, burst=burst(verdict.events, case.run))


def _shared(order: Order, verdicts: dict[str, Verdict], costs: Costs) -> dict[str, Verdict]:
    """The verdicts on events some of which are also those of another one, which has their cost: so costs add up."""
    priced = [
        name
        for name in sorted(verdicts, key=lambda name: (-len(verdicts[name].events), order.findings[name].sort_key))
        if verdicts[name].status is Status.CONFIRMED and verdicts[name].cost is not None
    ]
    found: dict[str, Verdict] = {}
    taken: dict[int, str] = {}  # events, and the verdict that has their cost
    for name in priced:
        events = {id(event): event for event in verdicts[name].events if event.kind in COSTLY}
        others = [taken[key] for key in events if key in taken]
        if others:
            left = [event for key, event in events.items() if key not in taken]
            found[name] = _without_cost_of(verdicts[name], left, order.findings[others[0]], costs, order.base)
        taken.update({key: name for key in events if key not in taken})
    return found


def _without_cost_of(verdict: Verdict, left: list[Event], other: Finding, costs: Costs, base: str) -> Verdict:
    """A verdict with the cost of the events that are ``left`` to it, the others being those of another finding."""
    at = f"{other.rule} at {os.path.basename(other.path)}:{other.span.line}"
    cost = costs.of(left, verdict.phase) if left else None
    if cost is None or not cost.us or not verdict.cost:
        reason = f"{verdict.reason}; these are the events of {at}, which has their cost"
        return replace(verdict, reason=reason, cost=None, cost_basis=None, share=None, shared=at)
    reason = f"{verdict.reason}; some of these are the events of {at}, which has their cost"
    share = verdict.share * cost.us / verdict.cost if verdict.share is not None else None
    lines = by_line(left, costs, base)
    return replace(verdict, reason=reason, cost=cost.us, cost_basis=cost.basis, share=share, lines=lines)


def _case(name: str, recipe: Recipe, order: Order, costs: Costs, sources: Sources) -> Case:
    finding, run = order.findings[name], costs.run
    path = real(finding.path, order.base)
    places = places_of(finding, path, sources, named=recipe.span == "evidence")
    rivals = _rivals(name, order, sources)
    events = [event for event in run.events if not _is_derived(event) and _nearest(event.place, places, rivals)]
    own = [event for event in events if event.place.overlaps(places[0])]
    return Case(finding, recipe, run.marks.get(name, NO_MARK), places, events, own, run, costs, order.lint)


def _is_derived(event: Event) -> bool:
    """Whether it happened in a backward pass for what stands elsewhere: no finding at the call is about it."""
    return event.facts.get("how") == "derivative"


def _rivals(name: str, order: Order, sources: Sources) -> list[Place]:
    """The spans of other findings of the same rule in the file, which may match an event better."""
    mine = order.findings[name]
    others = (f for other, f in order.findings.items() if other != name and f.rule == mine.rule and f.path == mine.path)
    return [sources.place(real(f.path, order.base), f.span) for f in others]


def _nearest(place: Place, own: Iterable[Place], rivals: Iterable[Place]) -> bool:
    matching = [mine for mine in own if mine.overlaps(place)]
    if not matching:
        return False
    best = min(mine.size for mine in matching)
    return not any(rival.overlaps(place) and rival.size < best for rival in rivals)


def _verdict(case: Case) -> Verdict:
    run = case.run
    if run.left is not None:
        return case.unknown(left(run))
    probe = PROBES.get(case.recipe.probe)
    if probe is None:
        return case.unknown(f"this version of torchlint has no probe {case.recipe.probe!r}")
    if probe.device and run.mode == "cpu":
        return case.unknown("there was no accelerator in this run: observe it with --on sim, or on a GPU")
    if not probe.everywhere and not case.reached:
        return _unreached(case)
    verdict = probe.judge(case)
    if verdict.status is Status.REFUTED and not run.complete and probe.everywhere:
        return case.unknown(f"{verdict.reason} so far, but {run.gap}")
    return _with_ranks(case, verdict)


def _shown(case: Case) -> Verdict:
    """The verdict on a finding that the run has shown: what it rests on is what happened there."""
    probe = PROBES.get(case.recipe.probe)
    events = case.of(*probe.kinds if probe is not None else ()) or case.of(*COSTLY)
    each = case.per_step(events)
    often = f", {number(each)} a step" if each is not None else ""
    return _with_ranks(case, case.confirmed(events, f"seen in the run: {times(total(events), 'event')}{often}"))


def left(run: Run) -> str:
    """Where a program used something that cannot be simulated, and what."""
    assert run.left is not None
    place, what = run.left
    at = f" at {where([place])}" if place.known else ""
    return f"left the simulated subset{at}: {what}"


def _unreached(case: Case) -> Verdict:
    run = case.run
    if not run.complete:
        return case.unknown(f"not evaluated as far as is known: {run.gap}")
    if case.block:
        return case.unknown(f"nothing of it was seen in the block; what ran before it was not observed{_earlier(case)}")
    if not case.mark.loaded:
        return Verdict(Status.NOT_REACHED, "its file was never loaded in this run")
    if not case.mark.placed:
        return case.unknown("its evaluations cannot be counted")
    if run.compiled and run.mode != "sim":
        return case.unknown("not evaluated outside of compiled regions, inside of which nothing is counted")
    return Verdict(Status.NOT_REACHED, "never evaluated in this run")


def _earlier(case: Case) -> str:
    """What the block shows of loaders that were made before it, whose lines are not known."""
    if case.recipe.probe != "pageable-batches":
        return ""
    made = [(event, event.place_of("loader")) for event in case.run.of("upload") if not event.facts.get("pinned")]
    count = sum(event.count for event, loader in made if loader is not None and not loader.known)
    return f", but {times(count, 'copy')} in it came from pageable batches of loaders made earlier" if count else ""


def _with_ranks(case: Case, verdict: Verdict) -> Verdict:
    """Note in the verdict if only some ranks have seen it."""
    seen: set[str] = set()
    for event in case.events:
        seen |= event.ranks
    if (
        verdict.status is not Status.CONFIRMED
        or len(case.run.ranks) < 2
        or not seen
        or len(seen) == len(case.run.ranks)
    ):
        return verdict
    return replace(verdict, reason=f"{verdict.reason} (only on rank {', '.join(sorted(seen))})")


def unflagged(order: Order, run: Run) -> list[list[Event]]:
    """Transfers and synchronizations in steps that no finding covers, by kind and place."""
    spoken, loaders = _spoken(order, run)
    found: dict[tuple[str, Place], list[Event]] = {}
    for event in run.of(*COSTLY):
        if not _is_asynchronous(event) and not _is_spoken(event, spoken[event.kind], loaders):
            found.setdefault((event.kind, event.place), []).append(event)
    return [events for events in found.values() if sum(map(_repeated, events)) > 1]


def _is_asynchronous(event: Event) -> bool:
    """Whether it is a copy to the device that nothing waits for, from pinned memory: there is nothing to advise."""
    return event.kind == "upload" and bool(event.facts.get("pinned") and event.facts.get("non_blocking"))


def _is_spoken(event: Event, places: Iterable[Place], loaders: Iterable[Place]) -> bool:
    """Whether a finding covers an event: at its place, or as a copy of a batch of its loader from pageable memory."""
    if _is_derived(event):
        return False
    if any(place.overlaps(event.place) for place in places):
        return True
    made = None if event.facts.get("pinned") else event.place_of("loader")
    return made is not None and any(loader.overlaps(made) for loader in loaders)


def _repeated(event: Event) -> int:
    """How often it happened in steps of training other than the first, and in steps of evaluation."""
    return event.steady.number + event.phases.get(EVALUATION, NOTHING).number


def _spoken(order: Order, run: Run) -> tuple[dict[str, list[Place]], list[Place]]:
    """The places of findings by the kinds of events that they cover, and the loaders whose batches they cover."""
    sources = Sources(run.sources)
    spoken: dict[str, list[Place]] = {"sync": [], "upload": [], "download": []}
    loaders: list[Place] = []
    for name, finding in order.findings.items():
        recipe = order.recipes[name]
        probe = PROBES.get(recipe.probe) if recipe is not None else None
        if recipe is None or probe is None:
            continue
        places = places_of(finding, real(finding.path, order.base), sources, named=recipe.span == "evidence")
        loaders += places[:1] if probe.batches else []
        for kind in probe.kinds:
            spoken[kind] += places
    return spoken, loaders

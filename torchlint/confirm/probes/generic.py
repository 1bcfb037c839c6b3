"""Probes for any rule: evaluations of the flagged code, calls of functions, results with a graph, and none of them."""

from __future__ import annotations

from dataclasses import replace

from torchlint.confirm.case import Case, times, total
from torchlint.confirm.evidence import Event
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict
from torchlint.report.figures import duration, number


def evaluations(case: Case) -> Verdict:
    """The flagged code runs as often as the recipe requires."""
    figures, often = evaluated(case), float(case.mark.begun)
    each = case.per_step(case.evaluated_events)
    if case.recipe.each == "step" and each is not None:
        figures += f", {number(each)} a step"
        often = each
    if often < case.recipe.least:
        return case.too_few(figures)
    return case.confirmed(case.evaluated_events, figures)


def function_calls(case: Case) -> Verdict:
    """The functions that the recipe names are called in the flagged code."""
    calls = [event for event in _calls(case) if event.facts["function"] in case.recipe.functions]
    named = ", ".join(sorted({str(event.facts["function"]) for event in calls}) or case.recipe.functions)
    if not calls:
        return case.unknown(f"{case.evaluated}, and no call of {named} was seen there")
    figures = f"{times(total(calls), 'call')} of {named}"
    each = case.per_step(calls) if case.recipe.each == "step" else None
    if each is not None:
        figures += f", {number(each)} a step"
    if (total(calls) if each is None else each) < case.recipe.least:
        return case.too_few(figures, calls)
    return case.confirmed(calls, figures, priced=case.of("sync"))


def _calls(case: Case) -> list[Event]:
    """Calls in the flagged code; and those in steps of the optimizer that it constructs, wherever these are."""
    made = [(event, event.place_of("optimizer")) for event in case.run.of("call")]
    steps = [event for event, place in made if place is not None and place.overlaps(case.places[0])]
    here = case.of("call")
    return [*here, *(event for event in steps if event not in here)]


def graphs(case: Case) -> Verdict:
    """The result of the flagged expression has an autograd graph."""
    mark = case.mark
    if not mark.tensors:
        return case.unknown(f"{case.evaluated}, and no tensor was seen in a result")
    seen = times(mark.tensors, "result")
    if not mark.graphs:
        return case.refuted(f"none of {seen} carries an autograd graph")
    verdict = case.confirmed(case.evaluated_events, f"{mark.graphs:,} of {seen} carry an autograd graph", lasts=True)
    return replace(verdict, count=mark.graphs)


def undecidable(case: Case) -> Verdict:
    """No run decides it, for the reason that the recipe gives."""
    return case.unknown(f"no run decides it: {case.recipe.seen}")


def evaluated(case: Case) -> str:
    """How often the flagged code ran and, if the run does not distort it, how long it took."""
    runs, spent = case.mark.begun, case.mark.ns
    figures = times(runs, "evaluation")
    if case.run.mode == "sim":  # which slows down Python code, too
        return figures
    return f"{figures}, {duration(spent / 1000 / max(runs, 1))} each"


PROBES = {
    "evaluations": Probe(evaluations),
    "function-calls": Probe(function_calls, kinds=("sync",)),
    "graphs": Probe(graphs, notes="graphs"),
    "undecidable": Probe(undecidable, confirms=False, decides=False),
}

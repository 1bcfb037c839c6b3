"""Probes for compiled code: where graphs ended, and what functions were compiled again for."""

from __future__ import annotations

from torchlint.confirm.case import Case, times, total
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict

_SIMULATED = "the simulated GPU runs compiled code eagerly; `--on cpu` and `--on gpu` compile it"


def graph_breaks(case: Case) -> Verdict:
    """A graph ended in the flagged code."""
    if case.run.mode == "sim":
        return case.unknown(_SIMULATED)
    breaks = case.of("break")
    if breaks:
        return case.confirmed(breaks, f"{times(total(breaks), 'graph')} ended here: {breaks[0].facts['reason']}")
    return _otherwise(case, case.refuted("no graph ended here"))


def recompilations(case: Case) -> Verdict:
    """A function was compiled again, since a guard on something in the flagged code failed."""
    if case.run.mode == "sim":
        return case.unknown(_SIMULATED)
    again = case.of("recompilation")
    if total(again) >= case.recipe.least:
        return case.confirmed(
            again, f"{times(total(again), 'recompilation')}, the last after `{again[-1].facts['reason']}`"
        )
    return _otherwise(case, case.refuted(f"{times(total(again), 'recompilation')} because of it", again))


def _otherwise(case: Case, refuted: Verdict) -> Verdict:
    """The finding is refuted if the function that its evidence names was compiled at all."""
    begins = {evidence.line for evidence in case.finding.evidence}
    compiled = [event.place for event in case.run.of("compilation")]
    here = any(place.path == case.places[0].path and place.line in begins for place in compiled)
    return refuted if here else case.unknown("the code was not compiled in this run")


PROBES = {
    "graph-breaks": Probe(graph_breaks, everywhere=True),
    "recompilations": Probe(recompilations, everywhere=True),
}

"""A probe for gradients that are filled with zeros instead of being dropped."""

from __future__ import annotations

from torchlint.confirm.case import Case, times, total
from torchlint.confirm.probes.generic import evaluations
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict
from torchlint.report.figures import number


def filled_gradients(case: Case) -> Verdict:
    """Gradients are filled with zeros, by ``zero_grad`` or by the flagged code itself."""
    zeroed = case.of("zeroed")
    if not zeroed:
        return evaluations(case)
    filled = [event for event in zeroed if event.facts["filled"]]
    if not filled:
        return case.refuted(f"{times(total(zeroed), 'call')}, all of which drop the gradients in this torch", zeroed)
    figures, each = times(total(filled), "call"), case.per_step(filled)
    if each is not None:
        figures += f", {number(each)} a step"
    if (total(filled) if each is None else each) < case.recipe.least:
        return case.too_few(figures, filled)
    return case.confirmed(case.evaluated_events, figures)


PROBES = {"filled-gradients": Probe(filled_gradients)}

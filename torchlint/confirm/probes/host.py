"""Probes for work on the host: copied arrays, lists of arrays, data created in Python, and waiting for batches."""

from __future__ import annotations

from collections import Counter

from torchlint.confirm.case import Case, size, times, total
from torchlint.confirm.probes.generic import evaluated, function_calls
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict
from torchlint.report.figures import duration

_MILLISECOND = 1_000_000
# Converting a list of arrays in less time than this per call is not worth a finding (TL102).
_LIST_NS = 50_000


def array_copies(case: Case) -> Verdict:
    """``torch.tensor`` copies an ndarray whose memory it could have shared."""
    arrays = case.of("array")
    if not arrays:
        return _no_array(case)
    same = [event for event in arrays if event.facts["same_dtype"]]
    if not same:
        return case.refuted(f"the dtype changes in all {times(total(arrays), 'call')}: a copy is needed", arrays)
    writable = [event for event in same if event.facts["writable"]]
    if not writable:
        return case.refuted(f"the array is read-only in all {times(total(same), 'call')}: a copy is needed", same)
    on_host = [event for event in writable if event.facts["on_host"]]
    if not on_host:
        return case.refuted("the tensor is made on the device, by a single copy", writable)
    copied = sum(event.bytes for event in on_host)
    reason = f"{times(total(on_host), 'copy')} of an ndarray with the tensor's dtype, {size(copied)}; {_sharing(case)}"
    return case.confirmed(on_host, reason)


def _no_array(case: Case) -> Verdict:
    given = Counter[str]()
    for event in case.of("data", "arrays"):
        given[str(event.facts.get("type", "list of ndarrays"))] += event.count
    if not given:
        return case.unknown("the call was not seen: its function may have been bound before the observation began")
    named = ", ".join(f"{name} ({count:,} times)" for name, count in given.most_common(3))
    return case.refuted(f"the argument was never an ndarray, but {named}")


def _sharing(case: Case) -> str:
    """Whether sharing memory would have been safe in this run."""
    outcomes = Counter[str]()
    for event in case.of("shared"):
        outcomes[str(event.facts["outcome"])] += event.count
    watched = sum(outcomes.values())
    unsafe = [outcome for outcome in outcomes if outcome != "safe"]
    if unsafe:
        written = sum(outcomes[outcome] for outcome in unsafe)
        named = " and ".join(outcome.partition(" ")[0] for outcome in sorted(unsafe))
        return f"sharing memory would have been UNSAFE: the {named} was written to afterwards in {written} of {watched}"
    if not watched:
        return "whether sharing memory would have been safe is not known"
    return f"sharing memory would have been safe in this run ({times(watched, 'call')} observed)"


def array_lists(case: Case) -> Verdict:
    """torch converts a list of ndarrays element by element."""
    lists = case.of("arrays")
    if not lists:
        if case.of("data", "array"):
            return (
                _no_array(case) if case.of("data") else case.refuted("the argument was one ndarray, not a list of them")
            )
        return case.unknown("the call was not seen: constructors of legacy types cannot be watched")
    each = sum(event.ns for event in lists) / max(total(lists), 1)
    reason = f"{times(total(lists), 'call')} with a list of ndarrays, {duration(each / 1000)} each"
    if each < _LIST_NS:
        return case.refuted(f"{reason}: too little to matter", lists)
    return case.confirmed(lists, reason)


def host_content(case: Case) -> Verdict:
    """Data is created in Python that torch could create."""
    runs, spent = case.mark.begun, case.mark.ns
    moved = case.of("upload")
    figures = evaluated(case)
    if not moved and case.of("made") and not case.of("data", "array", "arrays"):
        return case.refuted(f"{figures}: made on the device, with nothing made on the host or copied")
    if runs < case.recipe.least and (spent < _MILLISECOND or case.run.mode == "sim"):  # which slows down Python code
        return case.too_few(figures)
    return case.confirmed(moved or case.evaluated_events, figures)


def loader_waits(case: Case) -> Verdict:
    """Waiting for batches that the process makes itself."""
    batches = [event for event in case.of("batch") if event.main]
    if not batches:
        return case.too_few(f"{case.evaluated}, but no batch was fetched")
    each = sum(event.ns for event in batches) / total(batches)
    reason = f"{times(total(batches), 'batch')}, for each of which the program waited {duration(each / 1000)}"
    if each < _MILLISECOND:
        return case.refuted(f"{reason}: too little for workers to save much", batches)
    return case.confirmed(batches, reason)


def worker_starts(case: Case) -> Verdict:
    """Iterators of loaders that start worker processes."""
    batches = case.of("batch")
    if batches and not any(event.facts.get("workers") for event in batches):
        return case.refuted(f"{times(total(batches), 'batch')}, none of which came from a worker process", batches)
    return function_calls(case)


PROBES = {
    "array-copies": Probe(array_copies),
    "array-lists": Probe(array_lists),
    "host-content": Probe(host_content, kinds=("upload",)),
    "loader-waits": Probe(loader_waits),
    "worker-starts": Probe(worker_starts),
}

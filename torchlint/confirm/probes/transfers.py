"""Probes for copies between host and device, and for synchronizations."""

from __future__ import annotations

from torchlint.confirm.case import Case, size, times, total, where
from torchlint.confirm.evidence import Event
from torchlint.confirm.places import Place
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict
from torchlint.report.figures import duration, number

# At 20 GB/s, 64 KiB take 3 us, which is less than it takes to start any copy.
_FEW_BYTES = 64 * 1024


def _blocking(event: Event) -> bool:
    return not event.facts.get("non_blocking")


def synchronizations(case: Case) -> Verdict:
    """The host waits for the device."""
    waits = [event for event in case.of("sync", "download") if _blocking(event)]
    if case.run.uncounted_waits and total(waits) < case.recipe.least:
        return case.unknown("torch did not report synchronizations in this run, only copies were counted")
    if not waits:
        return case.refuted(f"{case.evaluated}, none on a tensor of the device")
    count = total(waits)
    if case.recipe.each == "step":
        each = case.per_step(waits)
        if each is None:
            each = float(count)
        if each <= case.recipe.least:
            return case.too_few(f"{number(each)} synchronizations a step", waits)
        reason = f"{times(count, 'synchronization')}, {number(each)} a step"
        return case.confirmed(waits, reason)
    if count < case.recipe.least:
        return case.too_few(f"{times(count, 'synchronization')} in the whole run", waits)
    lines = where(event.place for event in waits)
    reason = f"{times(count, 'synchronization')} at {lines}"
    return case.confirmed(waits, reason)


def blocking_uploads(case: Case) -> Verdict:
    """Blocking copies to the device."""
    uploads = case.of("upload")
    indexed = [event for event in case.of("sync") if event.facts.get("why") == "index"]
    if not uploads and indexed:  # a GPU was observed, and this line was in none of the steps that were profiled
        return case.confirmed(indexed, f"{times(total(indexed), 'wait')} in indexing")
    if not uploads:
        return case.refuted(f"{case.evaluated}, none of which copied anything to the device")
    blocking = [event for event in uploads if _blocking(event)]
    if not blocking:
        return case.refuted(f"all {times(total(uploads), 'copy')} are asynchronous", uploads)
    if total(blocking) < case.recipe.least:
        return case.too_few("ran once", blocking)
    pageable = total(event for event in blocking if not event.facts.get("pinned"))
    memory = "all from pinned memory" if not pageable else f"{pageable:,} from pageable memory, to be pinned first"
    copied = size(sum(event.bytes for event in blocking))
    reason = f"{times(total(blocking), 'copy')} that the host waited for, {copied}; {memory}"
    return case.confirmed(blocking, reason)


def repeated_uploads(case: Case) -> Verdict:
    """Copies to the device of something that does not change."""
    uploads = case.of("upload")
    if not uploads:
        return case.refuted(f"{case.evaluated}, none of which copied anything to the device")
    if total(uploads) < case.recipe.least:
        return case.too_few("ran once", uploads)
    copied = size(sum(event.bytes for event in uploads))
    reason = f"{times(total(uploads), 'copy')} to the device, {copied}, of which one would do"
    return case.confirmed(uploads, reason)


def pageable_uploads(case: Case) -> Verdict:
    """Copies to the device from pageable memory."""
    uploads = case.of("upload")
    if not uploads:
        return case.refuted(f"{case.evaluated}, none of which copied anything to the device")
    pageable = [event for event in uploads if not event.facts.get("pinned")]
    if not pageable:
        return case.refuted(f"all {times(total(uploads), 'copy')} are from pinned memory", uploads)
    if total(pageable) < case.recipe.least:
        return case.too_few("ran once", pageable)
    copied = size(sum(event.bytes for event in pageable))
    return case.confirmed(pageable, f"{times(total(pageable), 'copy')} from pageable memory, {copied}")


def asynchronous_downloads(case: Case) -> Verdict:
    """Copies to the host that have not arrived when the call returns."""
    downloads = case.of("download")
    if not downloads:
        return case.refuted(f"{case.evaluated}, none of which copied anything to the host")
    queued = [event for event in downloads if not _blocking(event)]
    if not queued:
        return case.refuted(f"the host waits for all {times(total(downloads), 'copy')}", downloads)
    copied = size(sum(event.bytes for event in queued))
    return case.confirmed(queued, f"{times(total(queued), 'copy')} to the host that it did not wait for, {copied}")


def enlarged_uploads(case: Case) -> Verdict:
    """Copies to the device of what the host has converted to a larger dtype, or enlarged."""
    uploads = case.of("upload")
    if not uploads:
        return case.refuted(f"{case.evaluated}, none of which copied anything to the device")
    if total(uploads) < case.recipe.least:
        return case.too_few("ran once", uploads)
    copied = size(sum(event.bytes for event in uploads))
    reason = f"{times(total(uploads), 'copy')} to the device, {copied}, of what the host had enlarged"
    return case.confirmed(uploads, reason)


def pageable_batches(case: Case) -> Verdict:
    """Batches of a loader that are copied to the device from pageable memory."""
    loader = case.places[0]
    mine = [e for e in case.run.of("upload") if (made := e.place_of("loader")) is not None and made.overlaps(loader)]
    batches = case.of("batch")
    waiting = _waiting(batches)
    if not batches:
        return case.too_few(f"{case.evaluated}, but no batch was fetched")
    if not mine:
        fetched = times(total(batches), "batch")
        return case.refuted(f"{fetched}, none moved to the device as it left the loader{waiting}")
    pageable = [event for event in mine if not event.facts.get("pinned")]
    if not pageable:
        return case.refuted(f"all {times(total(mine), 'copy')} are from pinned memory{waiting}", mine)
    copied = size(sum(event.bytes for event in pageable))
    reason = f"{times(total(pageable), 'copy')} from pageable memory, {copied}{waiting}"
    return case.confirmed(pageable, reason)


def _waiting(batches: list[Event]) -> str:
    """A note on time spent waiting for the loader, which pinned memory does not reduce."""
    count = total(batches)
    if not count:
        return ""
    milliseconds = sum(event.ns for event in batches) / count / 1e6
    return f"; besides, the program waited {duration(milliseconds * 1000)} for each batch (measured)"


def born_on_host(case: Case) -> Verdict:
    """Data that is created on the host, and only then copied to the device."""
    uploads = [event for event in case.run.of("upload") if _made_here(event, case.places[0])]
    computed = [event for event in case.run.of("upload") if not uploads and _computed_near(event, case.places[0])]
    if computed:
        lines = where(event.place for event in computed)
        return case.unknown(f"{case.evaluated}; what is copied at {lines} was computed, and from what is not recorded")
    if not uploads:
        return case.refuted(f"{case.evaluated}, nothing of it copied to the device")
    if total(uploads) < case.recipe.least:
        return case.too_few("ran once", uploads)
    copied = size(sum(event.bytes for event in uploads))
    lines = where(event.place for event in uploads)
    reason = f"{times(total(uploads), 'copy')} of what the host had made, {copied}, at {lines}"
    return case.confirmed(uploads, reason)


def _made_here(event: Event, place: Place) -> bool:
    born = event.place_of("born")
    return born is not None and (born.overlaps(place) or event.place.overlaps(place))


def _computed_near(event: Event, place: Place) -> bool:
    """Whether a copy in the same file is of a tensor that no factory, loader or copy made, but an operation."""
    origins = (event.place_of(origin) for origin in ("born", "loader", "left"))
    return event.place is not None and event.place.path == place.path and not any(origins)


def whole_downloads(case: Case) -> Verdict:
    """Copies to the host of tensors that are reduced there."""
    downloads = case.of("download")
    if not downloads:
        return case.refuted(f"{case.evaluated}, none of a tensor on the device")
    if total(downloads) < case.recipe.least:
        return case.too_few("ran once", downloads)
    copied = sum(event.bytes for event in downloads)
    reason = f"{times(total(downloads), 'copy')} to the host, {size(copied)}, to be reduced there"
    if copied <= total(downloads) * _FEW_BYTES:
        return case.refuted(f"{reason}: too little for the copies to matter", downloads)
    return case.confirmed(downloads, reason)


def round_trips(case: Case) -> Verdict:
    """Data that is copied to the host and back."""
    downloads = case.of("download")
    if not downloads:
        return case.refuted(f"{case.evaluated}, none of a tensor on the device")
    linked = [event for event in case.run.of("upload") if _left_at(event, downloads)]
    # If no memory connects the two copies, the analysis has: the copy back is the flagged expression.
    back = linked or [event for event in case.of("upload") if event.place.overlaps(case.places[0])]
    if not back:
        return case.too_few(f"{times(total(downloads), 'copy')} to the host, none of which came back", downloads)
    proof = "the same memory" if linked else "by way of NumPy, as the analysis has it"
    lines = where(event.place for event in back)
    reason = f"{times(total(downloads), 'copy')} to the host, {times(total(back), 'copy')} back at {lines} ({proof})"
    return case.confirmed([*downloads, *back], reason)


def _left_at(event: Event, downloads: list[Event]) -> bool:
    left = event.place_of("left")
    return left is not None and any(left == download.place for download in downloads)


PROBES = {
    "synchronizations": Probe(synchronizations, device=True, kinds=("sync", "download")),
    "blocking-uploads": Probe(blocking_uploads, device=True, kinds=("upload",)),
    "repeated-uploads": Probe(repeated_uploads, device=True, kinds=("upload",)),
    "pageable-uploads": Probe(pageable_uploads, device=True, kinds=("upload",)),
    "asynchronous-downloads": Probe(asynchronous_downloads, device=True, kinds=("download",)),
    "enlarged-uploads": Probe(enlarged_uploads, device=True, kinds=("upload",)),
    "pageable-batches": Probe(pageable_batches, device=True, batches=True),
    "born-on-host": Probe(born_on_host, device=True, kinds=("upload",)),
    "whole-downloads": Probe(whole_downloads, device=True, kinds=("download",)),
    "round-trips": Probe(round_trips, device=True, kinds=("upload", "download")),
}

"""Totals of a run per step: transfers, bytes, synchronizations, and time spent waiting for data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchlint.confirm.evidence import COSTLY, Event, Run
from torchlint.confirm.rates import each_step, per_step


@dataclass(frozen=True)
class Totals:
    """Figures per step, without the first of each training if there were more.

    Blocking copies count as waits as well.
    """

    uploads: float
    upload_bytes: float
    pageable_uploads: float
    downloads: float
    download_bytes: float
    synchronizations: float
    waiting_us: float


def waits(event: Event) -> bool:
    """Whether the host waits for the device."""
    return event.kind == "sync" or (event.kind in ("upload", "download") and not event.facts.get("non_blocking"))


def blocks(event: Event) -> bool:
    """Whether it takes time of the host: a synchronization, or any copy between host and device."""
    return event.kind in COSTLY


def totals(run: Run, phase: str | None = None) -> Totals | None:
    """The totals of a phase, or of the run's main one; None if that has no steps."""
    if not run.phases[phase or run.main].count:
        return None

    def count(wanted: Callable[[Event], bool]) -> float:
        return per_step(run, (event for event in run.events if event.main and wanted(event)), phase) or 0.0

    def copied(kind: str) -> float:
        return each_step(run, _main(run, kind), lambda _, part: part.bytes, phase) or 0.0

    return Totals(
        uploads=count(lambda event: event.kind == "upload"),
        upload_bytes=copied("upload"),
        pageable_uploads=count(lambda event: event.kind == "upload" and not event.facts.get("pinned")),
        downloads=count(lambda event: event.kind == "download"),
        download_bytes=copied("download"),
        synchronizations=count(waits),
        waiting_us=(each_step(run, _main(run, "batch"), lambda _, part: part.ns, phase) or 0.0) / 1000,
    )


def _main(run: Run, kind: str) -> list[Event]:
    """The events in processes that make steps: what workers do beside them does not block them."""
    return [event for event in run.of(kind) if event.main]

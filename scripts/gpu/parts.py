"""The parts: those that count, and then those that time; the important ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scripts.gpu import accounts, battery, observed, profiled, times, verdicts
from scripts.gpu.common import Part, Row, Settings


def _one(name: str) -> Callable[[Settings], Sequence[str]]:
    return lambda _: [name]


def _waits(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    from scripts.gpu import waits  # imports torch

    return waits.waits(settings, items)


PARTS: dict[str, Part] = {
    "given": Part(lambda settings: settings.programs, observed.given, 200, size=1, together=True, threads=4),
    "features": Part(observed.feature_programs, observed.features, 120, size=1, together=True),
    "workers": Part(observed.worker_programs, observed.workers, 120, size=1, together=True),
    "programs": Part(verdicts.scripted, verdicts.programs, 120, size=20, together=True),
    "synchronizing": Part(_one("synchronizing"), accounts.synchronizing, 60, together=True),
    "waits": Part(_one("waits"), _waits, 60, together=True, needs_gpu=True),
    "battery": Part(battery.probes, battery.battery, 120, size=60, together=True, whole=True),
    "timeline": Part(_one("timeline"), profiled.timeline, 60, needs_gpu=True),
    "profile": Part(_one("profile"), times.profile, 60, needs_gpu=True),
    "cells": Part(_one("cells"), times.cells, 60, needs_gpu=True),
    "overheads": Part(times.observed_programs, times.overheads, 150),
    "claims": Part(times.forms, times.claims, 120),
}

"""Prices: what copies and synchronizations cost on some device, for modeled times."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torchlint.confirm.evidence import Event, Figures
from torchlint.confirm.stored import NotStored, stored
from torchlint.confirm.stored_types import StoredProfile

SCHEMA = 1
DEFAULT = "nominal"
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles")


class ProfileProblem(Exception):
    """A profile cannot be used; a one-line message with its name and advice."""


@dataclass(frozen=True)
class Prices:
    """A price list. Bandwidths are in bytes per microsecond, everything else in microseconds.

    ``device`` is the device it was measured on; None means that it was not measured. ``step`` is how long the user says
    that a step of the program takes on a GPU, None if nothing is said.
    """

    name: str
    device: str | None
    source: str
    pageable: float
    pinned: float
    download: float
    copy: float
    synchronize: float
    launch: float
    step: float | None = None

    def of(self, event: Event, part: Figures | None = None) -> float:
        """The modeled time of events, or of a part of them, in microseconds."""
        count, size, _ = part or event.whole
        if event.kind == "sync":
            return count * self.synchronize
        if event.kind not in ("upload", "download"):
            return 0.0
        pinned = bool(event.facts.get("pinned"))
        if pinned and event.facts.get("non_blocking"):
            return count * self.launch  # the rest overlaps with the program
        waits = 0.0 if event.facts.get("non_blocking") else self.synchronize
        rate = self.download if event.kind == "download" else self.pinned if pinned else self.pageable
        return count * (self.copy + waits) + size / rate


def load(name: str) -> Prices:
    """A profile that is included in torchlint, or one from a file. Raises :class:`ProfileProblem`."""
    path = name if os.path.isfile(name) or os.sep in name else os.path.join(_FOLDER, f"{name}.json")
    if not os.path.lexists(path):
        known = ", ".join(names())
        raise ProfileProblem(f"--profile: there is no profile {name!r}; give a file, or one of: {known}")
    try:
        return _prices(stored(path, StoredProfile, SCHEMA))
    except NotStored as reason:
        raise ProfileProblem(f"{path}: {reason}; write it with `torchlint calibrate`") from None


def _prices(values: dict[str, Any]) -> Prices:
    figures = values["prices"]
    prices = Prices(
        name=values["name"],
        device=values["device"],
        source=values["source"],
        pageable=float(figures["pageable_bytes_per_us"]),
        pinned=float(figures["pinned_bytes_per_us"]),
        download=float(figures["download_bytes_per_us"]),
        copy=float(figures["copy_us"]),
        synchronize=float(figures["synchronize_us"]),
        launch=float(figures["launch_us"]),
    )
    rates = (prices.pageable, prices.pinned, prices.download)
    if min(rates) <= 0 or min(prices.copy, prices.synchronize, prices.launch) < 0:
        raise NotStored("holds prices that cannot be")
    return prices


def names() -> Iterable[str]:
    """The names of the included profiles."""
    return sorted(name.removesuffix(".json") for name in os.listdir(_FOLDER) if name.endswith(".json"))

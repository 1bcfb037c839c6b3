"""What probes need beside a device: the simulation they run in, and its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchlint.runtime.sim.simulation import Simulation

Action = Callable[[], Any]
_running: list[Simulation] = []


def begin(simulation: Simulation) -> None:
    """Probes run in this simulation from now on."""
    _running[:] = [simulation]


def simulation() -> Simulation:
    """The simulation in which probes run."""
    return _running[0]


def there(*shape: int) -> Any:
    """A tensor of ones on the device."""
    return torch.ones(*shape, device="cuda")


def number() -> Any:
    """A number on the device."""
    return there(1)[0]


def gives(value: Any, action: Action) -> Callable[[str], Any]:
    """On the device the action returns this value; on the CPU there is nothing to ask."""
    return lambda device: value if device == "cpu" else action()


def refuses(error: str, action: Action, text: str = "") -> Callable[[str], Any]:
    """On the device the action raises an error of this class (``/`` separates several), with these words."""

    def probe(device: str) -> Any:
        if device == "cpu":
            return True
        try:
            action()
        except Exception as raised:  # the exception is the result
            fits = type(raised).__name__ in error.split("/") and text.lower() in str(raised).lower()
            return fits or f"{type(raised).__name__}: {raised}"
        return "nothing raised"

    return probe


def counts(action: Action, **wanted: int | str) -> Callable[[str], Any]:
    """The events that the action causes; ``"1+"`` is at least one.

    ``waits``, ``uploads``, ``pageable`` (uploads from memory that is not pinned), ``downloads``.
    """

    def probe(device: str) -> Any:
        if device == "cpu":
            return dict.fromkeys(wanted, True)
        before = _counted()
        action()
        after = _counted()
        found = {kind: after[kind] - before[kind] for kind in wanted}
        # Not the bare number, because 1 equals True.
        return {kind: _fits(found[kind], expected) or f"{found[kind]}" for kind, expected in wanted.items()}

    return probe


def _fits(found: int, wanted: int | str) -> bool:
    return found >= int(wanted[:-1]) if isinstance(wanted, str) else found == wanted


def _counted() -> dict[str, int]:
    recorder = simulation().recorder
    numbers = {kind: recorder.of(kind) for kind in ("sync", "upload", "download")}
    copies = [count.number for kind in ("upload", "download") for _, facts, count in numbers[kind] if _blocks(facts)]
    syncs, ups, downs = (sum(count.number for _, _, count in numbers[kind]) for kind in numbers)
    pageable = sum(count.number for _, facts, count in numbers["upload"] if not facts["pinned"])
    return {"waits": syncs + sum(copies), "uploads": ups, "pageable": pageable, "downloads": downs}


def _blocks(facts: Any) -> bool:
    return not facts.get("non_blocking")

"""TL201: a value is copied from the device to the host and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.tensors import CPU_TYPES
from torchlint.model import Evidence, Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import all_of, any_of, identifiers, of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.transfers._round_trips import RoundTrip


class DeviceRoundTrip(Rule):
    id = "TL201"
    name = "device-round-trip"
    summary = "A tensor is copied to the host and back for work that the device could do"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (
        concepts.TORCH,
        identifiers("cpu", "item", "tolist", *CPU_TYPES),
        any_of(concepts.MOVE, all_of(of_library(["tensor", "as_tensor", "asarray"]), identifiers("device"))),
    )
    layout = False
    recipe = Recipe("round-trips", "evidence", "copies to the host, and copies of the results back to the device")

    @on.within("cpu", "item", "tolist", "to", *CPU_TYPES)
    @on.within("to", "cuda", "tensor", "as_tensor", "asarray")
    def visit_Call(self, node: cst.Call) -> None:
        from torchlint.rules.transfers._round_trips import RoundTrips

        trip = self.module.shared(RoundTrips).ending_at(node)
        if trip is None:
            return

        from torchlint.rules.transfers._fixes import stay_on_device

        heat = self.module.heat(node)
        hot = trip.direct or heat.rank >= Heat.STEP.rank
        self.report(
            node,
            self._message(trip),
            evidence=self._evidence(trip),
            severity=Severity.WARNING if hot else Severity.INFO,
            heat=heat,
            fix=stay_on_device(self.module, trip),
        )

    def _message(self, trip: RoundTrip) -> str:
        if trip.read is not None:
            copy = "`.detach().clone()`"
            return f"`.{trip.read}()` copies the value to the host, and a new tensor copies it back: use {copy}"
        where = "" if trip.direct else f" on {self.module.line_in_words(trip.to_host)}"
        through = f" (through {', '.join(f'`{name}`' for name in reversed(trip.variables))})" if trip.variables else ""
        way = "NumPy" if trip.uses_numpy else "the CPU"
        work = ", ".join(f"`{name}`" for name in dict.fromkeys(reversed(trip.operations)))
        advice = "draw on the device, with other random numbers" if trip.draws else "remove both moves"
        if trip.uses_numpy:
            advice = f"use the torch equivalent of {work}" if work else "keep the tensor on the device"
        return (
            f"the value is copied to the host{where} and back here{through} for work that the device could do: both "
            f"copies synchronize with the device, which idles while {way} works; {advice}"
        )

    def _evidence(self, trip: RoundTrip) -> list[Evidence]:
        text = "copied to the host here"
        return [self.module.evidence(_name(trip.to_host), text)]


def _name(call: cst.Call) -> cst.CSTNode:
    """The name of the called method, which evidence points at instead of the start of a long chain."""
    return getattr(call.func, "attr", call)

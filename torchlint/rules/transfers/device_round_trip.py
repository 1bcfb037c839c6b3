"""TL201: a value is copied from the device to the host and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.tensors import CPU_TYPES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import all_of, any_of, identifiers, of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_NUMBERS = "`.{}()` copies the value to the host, and a new tensor copies it back: use `.detach().clone()`"
_CHAIN = (
    "the value is copied to the host and back here for work that the device could do: both copies synchronize with the "
    "device, which idles while the CPU works; remove both moves"
)


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

        self.report(
            node,
            _NUMBERS.format(trip.read) if trip.read is not None else _CHAIN,
            evidence=[self.module.evidence(_name(trip.to_host), "copied to the host here")],
            heat=self.module.heat(node),
            fix=stay_on_device(self.module, trip),
        )


def _name(call: cst.Call) -> cst.CSTNode:
    """The name of the called method, which evidence points at instead of the start of a long chain."""
    return getattr(call.func, "attr", call)

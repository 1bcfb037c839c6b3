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
    """
    ## What it finds
    A tensor that is copied to the host (`.cpu()`, `.to("cpu")`, `.item()`, `.tolist()`), goes only through
    operations that the device could do itself, and is copied back (`.to(device)`, `.cuda()`, `device=`). The round
    trip may be one expression, go through variables on one path, or through NumPy.

    ## Why it costs
    Each direction is a transfer, and the copy to the host blocks until the device has finished all queued work.
    The device then idles while the CPU works and the result is copied back. PyTorch's performance tuning guide
    lists such synchronizations among the first things to remove.

    ## Instead
    Flagged:

    ```python
    import torch


    def smooth(x, device):
        return x.cpu().clamp(0, 1).to(device)
    ```

    Preferred:

    ```python
    import torch


    def smooth(x, device):
        return x.clamp(0, 1)
    ```

    ## When to leave it
    Where the work in between needs the host: SciPy, scikit-learn, OpenCV, an environment's `step`,
    `pack_padded_sequence`, saving, printing. Only operations that the device is known to have are flagged. The
    rule is also silent for random numbers of a generator that is passed (`generator=`), where a comment beside the
    lines gives the reason (an operation missing on a backend, determinism, memory), in exception handlers, while a
    program is exported or traced, and for modules. Random numbers that are drawn on the device are others than those
    of the CPU.

    ## Fix safety
    `torch.tensor(x.item(), device=x.device)` becomes `x.detach().reshape(()).clone()`. This is unsafe: the copy has the
    dtype and the device of `x`. Removing both moves of a method chain is unsafe as well: kernels on the device may
    round differently, and the result stays on the device of the input. There is no fix if the round trip goes through
    variables or NumPy, or if a method in between works in place.

    ## Confirmed by
    A copy from the device is followed, in the same step, by a copy of derived data to it; both are counted with
    their bytes, and the idle time of the device in between is measured.

    ## Sources
    - [PyTorch performance tuning guide](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    - [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html)
    """

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

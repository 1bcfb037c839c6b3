"""Probes for code that cannot run without CUDA."""

from __future__ import annotations

from torchlint.confirm.case import Case, times, where
from torchlint.confirm.costs import Basis
from torchlint.confirm.places import Place
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Status, Verdict

_SIGNS = ("cuda", "nvidia", "accelerator")


def cuda_required(case: Case) -> Verdict:
    """The code requests CUDA: what happens where there is none, only a run on the CPU shows."""
    mark = case.mark
    if case.run.mode != "cpu":
        return case.unknown("it ran with CUDA; whether it fails without, `--on cpu` shows")
    failed = _failed_at(case)
    if failed is not None:
        return Verdict(Status.CONFIRMED, f"without a GPU, {failed}", Basis.COUNTED, max(mark.begun, 1))
    if mark.ended:
        return case.refuted(f"{times(mark.ended, 'evaluation')} without a GPU, and none raised")
    return case.unknown("it was begun and never ended, without an exception that ended the program")


def _failed_at(case: Case) -> str | None:
    """Where the program failed because CUDA is missing: here, or later with a device requested here."""
    ended = case.run.ended
    if ended["how"] != "exception":
        return None
    place = Place(*ended["site"])
    wanting = any(sign in ended["message"].lower() for sign in _SIGNS)
    if not wanting and not any(place.overlaps(own) for own in case.places):
        return None
    return f"the program ends at {where([place])} with {ended['type']}: {ended['message'][:120]}"


PROBES = {"cuda-required": Probe(cuda_required)}

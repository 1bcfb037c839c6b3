"""The type of probes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchlint.confirm.case import Case
from torchlint.confirm.verdict import Verdict


@dataclass(frozen=True)
class Probe:
    """A judging function, whether it needs an accelerator, and whether it looks at the whole run.

    ``kinds`` are the transfers and waits it covers: at the places of its findings these are not reported as unflagged.
    ``batches`` says that it covers the copies of its loader's batches from pageable memory, wherever they happen.
    ``notes`` is what marks record beside counts and times: backend ``flags``, or results with autograd ``graphs``.
    ``confirms`` is False if only a comparison of two runs can confirm a finding, ``decides`` if no run says anything
    about it but that it was reached.
    """

    judge: Callable[[Case], Verdict]
    device: bool = False
    everywhere: bool = False
    kinds: tuple[str, ...] = ()
    batches: bool = False
    notes: str | None = None
    confirms: bool = True
    decides: bool = True

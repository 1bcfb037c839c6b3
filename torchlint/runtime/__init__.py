"""What runs beside the user's program: the only code of torchlint that imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["observe"]


@contextmanager
def observe(*, on: str = "auto", evidence: str | None = None) -> Iterator[None]:
    """Observe a few steps of a training loop, in a script or a notebook, and print what they cost.

    ``on`` is ``auto``, ``gpu``, ``sim`` or ``cpu``; what is to be on the simulated GPU must be moved there inside of
    the block. ``evidence`` is a folder that keeps the evidence, for ``torchlint verdict``. Findings are those of the
    files whose code ran. Raises :class:`torchlint.runtime.modes.Refused` when the mode cannot be had.
    """
    from torchlint.runtime.block import observed

    with observed(on, evidence):
        yield

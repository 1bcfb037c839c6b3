"""The runtime half of the companion, which runs in the user's program. No other code of torchlint imports torch.

Like ``torchlint.__main__``, this module imports nothing: ``python -m torchlint.runtime`` has the current folder on the
module path when it is imported.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["observe"]


def observe(*, on: str = "auto", evidence: "str | None" = None) -> "AbstractContextManager[None]":
    """Observe some steps of a training loop in a script or notebook, and print their cost.

    ``on`` is ``auto``, ``gpu``, ``sim`` or ``cpu``; objects must be moved to the simulated GPU inside the block.
    ``evidence`` is a folder that keeps the evidence, for ``torchlint verdict``. Findings are those in the files whose
    code ran. Raises :class:`torchlint.runtime.modes.Refused` if the mode is not available.
    """
    from torchlint.runtime.block import observed

    return observed(on, evidence)

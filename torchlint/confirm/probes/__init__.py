"""Probes: functions that judge findings. A recipe names one; several rules may share it.

Each module here has a table ``PROBES``; those of ``generic`` fit any rule. A probe receives a :class:`Case` whose code
was reached, unless it looks at the whole run.
"""

from __future__ import annotations

from torchlint.confirm.probes import backends, compilation, generic, gradients, host, portability, transfers
from torchlint.confirm.probes.probe import Probe

__all__ = ["PROBES", "Probe"]

PROBES: dict[str, Probe] = {
    **generic.PROBES,
    **gradients.PROBES,
    **host.PROBES,
    **transfers.PROBES,
    **backends.PROBES,
    **portability.PROBES,
    **compilation.PROBES,
}

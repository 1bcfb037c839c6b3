"""Probes: how a kind of finding is judged. A rule names one in its recipe; several rules may share one.

Each module here has a table ``PROBES``; those of ``generic`` know nothing of what a rule is about. A judge gets a
:class:`Case` whose place was reached, unless it looks at the whole run.
"""

from __future__ import annotations

from torchlint.confirm.probes import backends, generic, host, portability, transfers
from torchlint.confirm.probes.probe import Probe

__all__ = ["PROBES", "Probe"]

PROBES: dict[str, Probe] = {
    **generic.PROBES,
    **host.PROBES,
    **transfers.PROBES,
    **backends.PROBES,
    **portability.PROBES,
}

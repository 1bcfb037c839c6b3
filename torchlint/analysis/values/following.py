"""What following the programs tells of the value of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.project.followed import ASSUMED

if TYPE_CHECKING:
    import libcst as cst


def as_followed(found: Value, followed: str, node: cst.CSTNode) -> Value:
    """The value of an expression that following the program knows to be a tensor: its device, and that of a mask."""
    where, *more = followed.split()
    if ASSUMED in more and found.device is not Device.UNKNOWN:
        return found
    if found.kind not in (Kind.UNKNOWN, Kind.TENSOR):
        return found
    if where == "host":
        return found._replace(kind=Kind.TENSOR, device=Device.CPU)
    dtype = found.dtype or ("bool" if "mask" in more else None)
    device = found.device if found.accelerated else Device.VARIABLE
    return found._replace(kind=Kind.TENSOR, device=device, dtype=dtype, origin=found.origin or node)

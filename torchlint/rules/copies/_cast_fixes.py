"""Fixes of TL107: conversions after the move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.analysis.syntax.calls import receiver
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.targets import Targets
from torchlint.model import Fix, Safety
from torchlint.rules.copies._casts import HostWork

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_ORDER = (
    "an object that is not a plain tensor may have methods of its own, whose order may matter, and a copy from pinned "
    "memory may no longer wait"
)
_TRUNCATED = "numbers that the integer dtype cannot hold become others on the device"


@or_none
def convert_after(module: SourceModule, found: HostWork) -> Fix | None:
    """Replace ``x.float().to(device)`` by ``x.to(device).float()``."""
    if found.move is None or found.call is None:
        return None
    cast, move = found.call, found.move.call
    if found.work != "cast" or found.method == "to" or receiver(move) is not cast:
        return None
    target = module.shared(Targets).of(move)
    if target.dtype is not None:
        raise Unfixable
    editor = module.shared(Editor)
    edits = (editor.remove_call(cast), *editor.append(move, f".{found.method}()"))
    truncates = "float" in found.before and "int" in found.after
    caveat = "; ".join([*([_TRUNCATED] if truncates else []), _ORDER])
    return Fix(f"convert to {found.after} on the device", Safety.UNSAFE, edits, caveat)

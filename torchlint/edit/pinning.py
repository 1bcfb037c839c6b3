"""Pinned memory for the batches of a data loader: the edits for TL401, and for TL202 if it needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, literal
from torchlint.edit.editor import Editor, Unfixable
from torchlint.edit.names import Speller

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.loading.loader import Loader
    from torchlint.model import Edit

CAVEAT = (
    "pinned memory is not paged out, and pinning fails or has no effect for tensors on a device, sparse tensors and "
    "objects of other classes"
)


def edits(module: SourceModule, loader: Loader) -> tuple[Edit, ...]:
    """Set ``pin_memory=torch.cuda.is_available()``. Raises :class:`Unfixable`."""
    call, written = loader.call, loader.argument("pin_memory")
    known = module.followed.loader(call)
    chosen = written is not None and literal(written) is ...
    if known is None or is_opaque(call) or chosen or known.workers == 0:
        raise Unfixable  # `**kwargs` or an option may give it; without workers, the main thread would do the pinning
    if any(isinstance(around, cst.Param) for around in module.ancestors(call)):
        raise Unfixable  # a default argument is computed when the module is imported, maybe before a fork
    editor = module.shared(Editor)
    available = module.shared(Speller).spell("torch.cuda.is_available", call, importing=True)
    value = f"{available.text}()"
    added = (editor.replace(written, value),) if written else editor.add_argument(call, f"pin_memory={value}")
    return (*available.edits, *added)

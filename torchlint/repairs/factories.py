"""TL103 and TL104: regular content made by the torch factory that makes it where it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.analysis.calls import keyword
from torchlint.analysis.factories import MovedFactory
from torchlint.analysis.integers import Integers
from torchlint.knowledge.tensors import CASTS
from torchlint.model import Edit, Fix, Safety
from torchlint.repairs.editor import Editor, Unfixable, or_none
from torchlint.repairs.targets import EXPANDED, Target, Targets

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Content of zeros and ones is the same in every dtype.
_EXACT = frozenset(f"torch.{name}" for name in "zeros ones eye zeros_like ones_like".split())
# Casts of whole numbers and of given values that the CPU and every device round alike.
_SAME_CASTS = frozenset("float double long int".split())
_RANDOM = "a generator of the device draws other numbers from the same seed, and the one of the CPU draws none"
_ROUNDED = "the device may round the last bits of the content otherwise"
_LEAF = "the tensor becomes a leaf that collects its own gradient; the moved one hands it on to the one on the CPU"


@or_none
def at_device(module: SourceModule, found: MovedFactory) -> Fix | None:
    """``torch.zeros(n).to(device)`` becomes ``torch.zeros(n, device=device)``."""
    if found.computed:
        return None  # what runs in between would run on the device
    targets = module.shared(Targets)
    target = targets.of(found.move.call)
    edits = [*_with_device(module, found, target), *targets.take_off(found.call, found.move)]
    caveat = _caveat(module, found, targets)
    safety = Safety.UNSAFE if caveat else Safety.SAFE
    return Fix(f"make the tensor with `{target.words}`", safety, tuple(edits), caveat)


def _with_device(module: SourceModule, found: MovedFactory, target: Target) -> list[Edit]:
    editor = module.shared(Editor)
    if target.dtype is None:
        return list(editor.set_argument(found.call, "device", target.device))
    if found.name not in _EXACT or any(link in CASTS or link == "type" for link in found.move.links):
        raise Unfixable  # the order of two conversions could matter
    if keyword(found.call, "dtype") is None:
        return list(editor.add_argument(found.call, f"dtype={target.dtype}, device={target.device}"))
    return [
        *editor.set_argument(found.call, "dtype", target.dtype),
        *editor.set_argument(found.call, "device", target.device),
    ]


def _caveat(module: SourceModule, found: MovedFactory, targets: Targets) -> str | None:
    """What may change, or None when nothing does."""
    casts = [link for link in found.move.links if link in CASTS]
    if "type" in found.move.links:
        raise Unfixable
    caveats = []
    if found.content == "random":
        caveats.append(_RANDOM)
    elif found.content == "rounded" or not _same_everywhere(module, found, casts):
        caveats.append(_ROUNDED)
    if targets.expands(found.move):
        caveats.append(EXPANDED)
    if found.leaf or "requires_grad_" in found.move.links:
        caveats.append(_LEAF)
    return "; ".join(caveats) or None


def _same_everywhere(module: SourceModule, found: MovedFactory, casts: list[str]) -> bool:
    """CPU and device write the same bits: constants, and counting in whole numbers."""
    if found.name in _EXACT or found.name in ("torch.empty", "torch.empty_like"):
        return True
    if not all(cast in _SAME_CASTS for cast in casts):
        return False
    if found.name not in ("torch.arange", "torch.range"):
        return True
    numbers = [a.value for a in found.call.args if a.keyword is None or a.keyword.value in ("start", "end", "step")]
    integers = module.shared(Integers)
    return len(numbers) == 1 or all(integers.is_integer(number) for number in numbers)

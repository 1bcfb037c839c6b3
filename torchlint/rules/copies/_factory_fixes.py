"""Fixes of TL104: tensors that are created on their device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, method, positional
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.values.dtypes import dtype_of
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.targets import EXPANDED, ON_META, OVERTAKES, REORDERED, Target, Targets
from torchlint.knowledge.dtypes import COMPLEX
from torchlint.knowledge.factories import LIKE_FACTORIES
from torchlint.knowledge.tensors import CASTS
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.copies._factories import MovedFactory
from torchlint.rules.copies._integers import Integers

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Factories of zeros and ones, which are the same in every dtype.
_SAME_IN_EVERY_DTYPE = frozenset(f"torch.{name}" for name in "zeros ones eye zeros_like ones_like".split())
# Factories that some devices lack.
_NOT_ON_EVERY_DEVICE = frozenset({"torch.tril_indices", "torch.triu_indices", "torch.range"})
# Casts of integers and of given values that all devices round in the same way.
_SAME_CASTS = frozenset("float double long int".split())
_RANDOM = (
    "the device's generator draws different numbers from the same seed, and the CPU's generator no longer advances"
)
_OWN_CLASS = "the new tensor has the class of the other one, whose methods may do something else"
_ROUNDED = "the device may round the last bits differently"
_LACKS = "devices other than CUDA may lack the operation or the dtype"
_LEAF = "the tensor becomes a leaf with its own gradient, where the moved tensor passed it to the one on the CPU"


@or_none
def create_on_device(module: SourceModule, found: MovedFactory) -> Fix | None:
    """Replace ``torch.zeros(n).to(device)`` by ``torch.zeros(n, device=device)``."""
    if found.computed:
        return None  # the methods in between would run on the device
    targets = module.shared(Targets)
    target = targets.of(found.move.call)
    edits = [*_with_device(module, found, target), *targets.remove_move(found.call, found.move)]
    caveat = _caveat(module, found, targets)
    safety = Safety.UNSAFE if caveat else Safety.SAFE
    return Fix(f"create the tensor with `{target.words}`", safety, tuple(edits), caveat)


def _with_device(module: SourceModule, found: MovedFactory, target: Target) -> list[Edit]:
    editor = module.shared(Editor)
    casts = _foldable_casts(module, found)
    if target.dtype is None and not casts:
        return list(editor.set_argument(found.call, "device", target.device))
    if found.name not in _SAME_IN_EVERY_DTYPE or (target.dtype is not None and _casts(found) and not casts):
        raise Unfixable  # the order of two conversions could matter
    before = keyword(found.call, "dtype")
    if before is not None and dtype_of(module.evaluator, before) in (None, *COMPLEX):
        raise Unfixable  # torch warns about conversions from complex numbers
    dtype = target.dtype or _dtype_of(module, found, casts[-1])
    dropped = [editor.remove_call(cast) for cast in casts]
    if before is None:
        return [*editor.add_argument(found.call, f"dtype={dtype}, device={target.device}"), *dropped]
    return [
        *editor.set_argument(found.call, "dtype", dtype),
        *editor.set_argument(found.call, "device", target.device),
        *dropped,
    ]


def _casts(found: MovedFactory) -> list[str]:
    return [link for link in found.move.methods if link in CASTS]


def _foldable_casts(module: SourceModule, found: MovedFactory) -> list[cst.Call]:
    """The casts that ``dtype=`` can replace, such as ``.bool()`` in ``torch.ones(n).bool().to(device)``."""
    if found.name not in _SAME_IN_EVERY_DTYPE:
        return []
    return module.shared(Targets).casts(found.call, found.move)


def _dtype_of(module: SourceModule, found: MovedFactory, cast: cst.Call) -> str:
    return module.shared(Speller).sibling(found.call, f"torch.{CASTS[str(method(cast))]}").text


def _caveat(module: SourceModule, found: MovedFactory, targets: Targets) -> str | None:
    """What may change, or None."""
    if "type" in found.move.methods:
        raise Unfixable
    caveats = []
    if found.content == "random":
        caveats.append(_RANDOM)
    elif found.content == "rounded" or not _same_everywhere(module, found):
        caveats.append(_ROUNDED)
    if _may_have_other_class(module, found, targets):
        caveats.append(_OWN_CLASS)
    if _needs_support(module, found, targets):
        caveats.append(_LACKS)
    if targets.expands(found.move):
        caveats.append(EXPANDED)
    if targets.reorders(found.move.call):
        caveats.append(REORDERED)
    if targets.overtakes(found.call, found.move):
        caveats.append(OVERTAKES)
    if module.shared(Defaults).may_use_meta_device:
        caveats.append(ON_META)
    if found.requires_grad or "requires_grad_" in found.move.methods:
        caveats.append(_LEAF)
    return "; ".join(caveats) or None


def _may_have_other_class(module: SourceModule, found: MovedFactory, targets: Targets) -> bool:
    """Whether the new tensor, or the moved one, may be an instance of the class of another tensor."""
    if found.name in LIKE_FACTORIES and not module.is_plain_tensor(positional(found.call, 0)):
        return True
    return targets.follows_tensor(found.move.call) and module.has_own_tensors


def _same_everywhere(module: SourceModule, found: MovedFactory) -> bool:
    """Whether CPU and device create the same bits: constants, and integer sequences."""
    if found.name in _SAME_IN_EVERY_DTYPE or found.name in ("torch.empty", "torch.empty_like"):
        return True
    if not all(cast in _SAME_CASTS for cast in _casts(found)):
        return False
    if found.name not in ("torch.arange", "torch.range"):
        return True
    numbers = [a.value for a in found.call.args if a.keyword is None or a.keyword.value in ("start", "end", "step")]
    integers = module.shared(Integers)
    return len(numbers) == 1 or all(integers.is_integer(number) for number in numbers)


def _needs_support(module: SourceModule, found: MovedFactory, targets: Targets) -> bool:
    """Whether the device must support an operation or dtype that it did not need before."""
    if found.name in _NOT_ON_EVERY_DEVICE and not targets.to_cuda(found.move.call):
        return True
    between = bool(_casts(found)) and not _foldable_casts(module, found)
    return between and keyword(found.call, "dtype") is not None

"""Fixes of TL104: tensors that are created on their device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, method
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.catalogue.views import CASTS, FORMS, RANDOM, SHAPES, functions
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.edit.proof import Proof, fix
from torchlint.edit.targets import Target, Targets
from torchlint.knowledge.dtypes import COMPLEX
from torchlint.knowledge.factories import LIKE_FACTORIES
from torchlint.model import Edit, Fix
from torchlint.rules.copies._factories import MovedFactory

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Factories of zeros and ones, which are the same in every dtype, and of content that does not depend on the device.
_SAME_IN_EVERY_DTYPE = functions(lambda function: function.made == "units")
_EVERYWHERE = functions(lambda factory: factory.made in ("units", "constant", "nothing") and factory.kernel != "some")
_SAME_EVERYWHERE = _EVERYWHERE - LIKE_FACTORIES
_KEYWORDS = frozenset("size fill_value dtype".split())
_RANDOM = (
    "the device's generator draws different numbers from the same seed, and the CPU's generator no longer advances"
)
_OTHERWISE = (
    "what comes before the move now runs on the device, which may round differently, lack the operation or the dtype, "
    "or keep memory shared"
)
_OWN_CLASS = "the new tensor has the class of the other one, whose methods may do something else"
_LEAF = "the tensor becomes a leaf with its own gradient, where the moved tensor passed it to the one on the CPU"


@or_none
def create_on_device(module: SourceModule, found: MovedFactory) -> Fix | None:
    """Replace ``torch.zeros(n).to(device)`` by ``torch.zeros(n, device=device)``."""
    if not FORMS.issuperset(found.move.methods) or "type" in found.move.methods:
        return None  # the methods in between would run on the device
    targets = module.shared(Targets)
    target = targets.of_first(found.move)
    casts = targets.casts(found.call, found.move) if found.name in _SAME_IN_EVERY_DTYPE else []
    edits = [*_with_device(module, found, target, casts), targets.remove_move(found.call, found.move)]
    caveats = [*_caveats(module, found, casts), *target.caveats]
    return fix(f"create the tensor with `{target.words}`", edits, caveats)


def _with_device(module: SourceModule, found: MovedFactory, target: Target, casts: list[cst.Call]) -> list[Edit]:
    """Add ``device=``, and ``dtype=`` for the casts before the move and the dtype of its target."""
    editor = module.shared(Editor)
    if target.dtype is None and not casts:
        return list(editor.set_argument(found.call, "device", target.device))
    if found.name not in _SAME_IN_EVERY_DTYPE or (target.dtype is not None and _casts(found) and not casts):
        raise Unfixable  # the order of two conversions could matter
    before = keyword(found.call, "dtype")
    if before is not None and dtype_of(module.evaluator, before) in (None, *COMPLEX):
        raise Unfixable  # torch warns about conversions from complex numbers
    dtype = target.dtype or module.shared(Speller).sibling(found.call, f"torch.{CASTS[str(method(casts[-1]))]}").text
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


def _caveats(module: SourceModule, found: MovedFactory, casts: list[cst.Call]) -> list[str]:
    """What may change, beside what depends on the target."""
    folded = {method(cast) for cast in casts}
    forms = all(link in SHAPES or link in folded for link in found.move.methods)
    caveats = []
    if found.name in RANDOM:
        caveats.append(_RANDOM)
    elif not forms or not _same_everywhere(module, found):
        caveats.append(_OTHERWISE)
    if found.name in LIKE_FACTORIES:
        caveats.append(_OWN_CLASS)
    if literal(keyword(found.call, "requires_grad")) is True or "requires_grad_" in found.move.methods:
        caveats.append(_LEAF)
    return caveats


def _same_everywhere(module: SourceModule, found: MovedFactory) -> bool:
    """Whether CPU and device create the same bits: constants, and integers from zero or with proved bounds."""
    given = {arg.keyword.value: arg.value for arg in found.call.args if arg.keyword is not None}
    if found.name not in _SAME_EVERYWHERE or not _KEYWORDS.issuperset(given):
        return False
    if found.name != "torch.arange":
        return True
    numbers, proof = [arg.value for arg in found.call.args if arg.keyword is None], module.shared(Proof)
    inferred = "dtype" not in given or proof.dtype(given["dtype"]) == "int64"
    return inferred and (len(numbers) == 1 or all(map(proof.is_whole, numbers)))

"""The facts about a file that its bytes show, and whether it must be parsed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from torchlint.prefilter import concepts
from torchlint.prefilter.needs import Need
from torchlint.project.facts import FileFacts

if TYPE_CHECKING:
    from torchlint.prefilter.text_index import TextIndex


# Each fact that one concept tells.
_TOLD: dict[str, Need] = {
    "seeds": concepts.SEEDS,
    "configures_cudnn": concepts.CONFIGURES_CUDNN,
    "convolves": concepts.CONVOLVES,
    "sets_device": concepts.SETS_DEVICE,
    "sets_dtype": concepts.SETS_DTYPE,
    "sets_precision": concepts.SETS_PRECISION,
    "multiplies": concepts.MULTIPLIES,
    "redefines": concepts.REDEFINES,
    "own_moves": concepts.OWN_MOVES,
}


def from_bytes(text_index: TextIndex) -> FileFacts:
    """The facts that need no parsing."""
    facts = cast("FileFacts", {name: True for name, concept in _TOLD.items() if text_index.has(concept)})
    if text_index.all((concepts.TORCH, concepts.ON_ACCELERATOR)):
        facts["on_accelerator"] = True
        if text_index.has(concepts.STEPS):
            facts["trains_on_accelerator"] = True
    elif text_index.has(concepts.COMPUTES) and not text_index.has(concepts.ON_ACCELERATOR):
        facts["lacks_device"] = True
    return facts


def needs_parsing(text_index: TextIndex) -> bool:
    """Whether the file may have more facts for other files than its bytes show."""
    return text_index.has(concepts.HAS_PROJECT_FACTS)

"""The facts about a file that its bytes show, and whether it must be parsed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.prefilter import concepts
from torchlint.project.facts import FileFacts

if TYPE_CHECKING:
    from torchlint.prefilter.text_index import TextIndex


def from_bytes(text_index: TextIndex) -> FileFacts:
    """The facts that need no parsing."""
    facts: FileFacts = {}
    if text_index.has(concepts.SEEDS):
        facts["seeds"] = True
    if text_index.has(concepts.CONFIGURES_CUDNN):
        facts["configures_cudnn"] = True
    if text_index.has(concepts.CONVOLVES):
        facts["convolves"] = True
    if text_index.has(concepts.SETS_DEVICE):
        facts["sets_device"] = True
    if text_index.has(concepts.SETS_DTYPE):
        facts["sets_dtype"] = True
    if text_index.has(concepts.SETS_PRECISION):
        facts["sets_precision"] = True
    if text_index.has(concepts.MULTIPLIES):
        facts["multiplies"] = True
    if text_index.has(concepts.SETS_VALIDATION):
        facts["sets_validation"] = True
    if text_index.all((concepts.TORCH, concepts.ON_ACCELERATOR, concepts.STEPS)):
        facts["trains_on_accelerator"] = True
    if text_index.has(concepts.FEEDS):
        facts["feeds"] = True
    if text_index.has(concepts.COMPUTES) and not text_index.has(concepts.ON_ACCELERATOR):
        facts["lacks_device"] = True
    return facts


def needs_parsing(text_index: TextIndex) -> bool:
    """Whether the file may have more facts for other files than its bytes show."""
    return text_index.has(concepts.HAS_PROJECT_FACTS)

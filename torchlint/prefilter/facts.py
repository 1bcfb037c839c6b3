"""Which facts of a file its bytes tell, and whether it has to be parsed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.prefilter import concepts
from torchlint.project import FileFacts

if TYPE_CHECKING:
    from torchlint.prefilter.contents import Contents


def from_bytes(contents: Contents) -> FileFacts:
    """The facts that need no parsing."""
    facts: FileFacts = {}
    if contents.has(concepts.SEEDS):
        facts["seeds"] = True
    if contents.has(concepts.TUNES):
        facts["tunes"] = True
    if contents.has(concepts.CONVOLVES):
        facts["convolves"] = True
    if contents.has(concepts.SETS_DEVICE):
        facts["sets_device"] = True
    if contents.has(concepts.SETS_DTYPE):
        facts["sets_dtype"] = True
    return facts


def needs_parsing(contents: Contents) -> bool:
    """The file may offer more to others than its bytes tell."""
    return contents.has(concepts.OFFERS)

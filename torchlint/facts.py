"""Which facts of a file its bytes tell, and whether it has to be parsed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge.backends import SEEDS
from torchlint.knowledge.heat import FED, MAKER_VERBS
from torchlint.knowledge.portability import CUDA_PACKAGES
from torchlint.knowledge.screening import Trigger, guarded, whole
from torchlint.patterns import ends_with, is_imported
from torchlint.project import FileFacts

if TYPE_CHECKING:
    from torchlint.contents import Contents

_TUNES: tuple[Trigger, ...] = (
    guarded(rb"cudnn\s*\.\s*(?:benchmark|deterministic|flags)", b"cudnn"),
    b"deterministic_algorithms",
    guarded(rb"benchmark\s*=", b"benchmark", before=ends_with(r"[(,]\s*")),
)
_CONVOLVES = guarded(rb"Conv(?<!\wConv)(?:Transpose)?[123]d\b", b"Conv")
# A file offers flags, fed loaders, varying shapes, devices or moves of its own only with one of these.
_OFFERS: tuple[Trigger, ...] = (
    b"cudnn",
    b"deterministic_algorithms",
    b"pad_sequence",
    guarded(rb"def collate|class \w{0,80}?[cC]ollate", b"ollate"),
    b".Resize(",
    guarded(rb"interpolate", b"choice", b"randint", b"randrange"),
    b"models.detection",
    guarded(rb"def \w{0,80}?(?:device|cuda|gpu)\w{0,80}\(", b"device", b"cuda", b"gpu"),
    b"def dev(",
    b"init_process_group",
    guarded(rb"def to\(\s*self\s*,", b"def to("),
    guarded(rb"cuda[ \t]*\.[ \t]*(?:Stream|CUDAGraph|graph|make_graphed|nvtx)", b"cuda"),
    guarded(rb"cuda[ \t]+(?:as|import)\b", b"cuda"),
    b"cpp_extension",
)
# These count where PyTorch is not named as well.
_ANYWHERE: tuple[Trigger, ...] = (
    guarded("|".join(sorted(CUDA_PACKAGES)).encode(), whole(CUDA_PACKAGES), before=is_imported),
    guarded(rb"[(,]\s*(?:benchmark|deterministic)\s*=", b"Trainer", b"Fabric"),
)
_MOVES = (b".to(", b".cuda", b"DataLoader")
# The file may hand what such a function makes on to a third one.
_MAKERS = (
    guarded(rb"oader(?<!DataLoader)\w{0,80}[\s\\)]*(?:\(|as\b)", b"oader"),
    guarded(rb"data\w{0,80}[\s\\)]*(?:\(|as\b)", b"data", before=ends_with(MAKER_VERBS)),
)


def from_bytes(contents: Contents) -> FileFacts:
    """The facts that need no parsing."""
    facts: FileFacts = {}
    if contents.any(SEEDS):
        facts["seeds"] = True
    if contents.any(_TUNES):
        facts["tunes"] = True
    if contents.has(_CONVOLVES):
        facts["convolves"] = True
    return facts


def needs_parsing(contents: Contents) -> bool:
    """The file may offer more to others than its bytes tell."""
    if (contents.has(b"torch") and contents.any(_OFFERS)) or contents.any(_ANYWHERE):
        return True
    return (contents.any(FED) and contents.any(_MOVES)) or contents.any(_MAKERS)

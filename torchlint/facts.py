"""Which facts of a file its bytes tell, and whether it has to be parsed for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.knowledge.backends import SEEDS
from torchlint.knowledge.defaults import SETS_DEVICE, SETS_DTYPE
from torchlint.knowledge.heat import FED, MAKER_VERBS
from torchlint.knowledge.portability import CUDA_CHECK, CUDA_PACKAGES, DEVICE_NAME
from torchlint.knowledge.screening import Trigger, defines, guarded, in_word, keyed, whole
from torchlint.knowledge.transfers import MOVE
from torchlint.patterns import FIRST, ends_with, is_imported, is_named, last_word_begins
from torchlint.project import FileFacts

if TYPE_CHECKING:
    from torchlint.contents import Contents

_TUNES: tuple[Trigger, ...] = (
    guarded(rb"cudnn\s*\.\s*(?:benchmark|deterministic|flags)", b"cudnn"),
    b"deterministic_algorithms",
    guarded(rb"benchmark\s*=", b"benchmark", before=ends_with(r"[(,]\s*")),
)
_CONVOLVES = in_word(rb"Conv(?<!\wConv)(?:Transpose)?[123]d\b", b"Conv")
# A file offers flags, fed loaders, varying shapes, devices or moves of its own only with one of these.
_OFFERS: tuple[Trigger, ...] = (
    b"cudnn",
    b"deterministic_algorithms",
    b"pad_sequence",
    b"pack_sequence",
    defines(rb"(?i:collate)", b"ollate", b"OLLATE"),
    guarded(rb"class[\s\\]+\w{0,80}?(?i:collate)", b"ollate", b"OLLATE"),
    guarded(rb"Resize[\s\\)]*(?:\(|as\b)", b"torchvision"),
    guarded(rb"detection(?<=\.detection)\b", b"torchvision"),
    guarded(rb"models[\s\\]+import\b[^)]{0,400}?\bdetection\b", b"torchvision"),
    guarded(rb"interpolate", b"choice", b"randint", b"randrange"),
    guarded(
        rf"def[\s\\]+\w{{0,80}}?{DEVICE_NAME}".encode(),
        defines(DEVICE_NAME.encode()),
        before=ends_with(rf"{FIRST}(?:async[\s\\]+)?"),
    ),
    guarded(CUDA_CHECK.encode(), b"is_available"),
    b"init_process_group",
    defines(rb"\bto\b", whole(["to"])),
    guarded(rb"cuda[ \t]*\.[ \t]*(?:Stream|CUDAGraph|graph|make_graphed|nvtx)", b"cuda"),
    guarded(rb"cuda[ \t]+(?:as|import)\b", b"cuda"),
    b"cpp_extension",
)
# These count where PyTorch is not named as well.
_ANYWHERE: tuple[Trigger, ...] = (
    keyed(([name], guarded(name.encode(), before=is_imported)) for name in sorted(CUDA_PACKAGES)),
    guarded(rb"[(,]\s*(?:benchmark|deterministic)\s*=", b"Trainer", b"Fabric"),
)
_MOVES = (MOVE, b".cuda", b"DataLoader")
# The file may keep what such a function makes, and hand it on to a third one.
_is_made = last_word_begins(MAKER_VERBS)


def _is_made_and_named(lead: str) -> bool:
    return _is_made(lead) and is_named(lead)


_MADE = in_word(rb"data", b"data", before=_is_made)
_MAKERS = (
    guarded(rb"oader(?<!DataLoader)\w{0,80}[\s\\)]*\(", b"oader", before=is_named),
    guarded(rb"oader(?<!DataLoader)\w{0,80}[\s\\)]+as\b", b"oader"),
    guarded(rb"data\w{0,80}[\s\\)]*\(", _MADE, before=_is_made_and_named),
    guarded(rb"data\w{0,80}[\s\\)]+as\b", _MADE, before=_is_made),
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
    if contents.any(SETS_DEVICE):
        facts["sets_device"] = True
    if contents.any(SETS_DTYPE):
        facts["sets_dtype"] = True
    return facts


def needs_parsing(contents: Contents) -> bool:
    """The file may offer more to others than its bytes tell."""
    if (contents.has(b"torch") and contents.any(_OFFERS)) or contents.any(_ANYWHERE):
        return True
    return (contents.any(_MOVES) and contents.any(FED)) or contents.any(_MAKERS)

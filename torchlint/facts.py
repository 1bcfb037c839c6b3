"""Which facts of a file its bytes tell, and whether it has to be parsed for more."""

from __future__ import annotations

import re

from torchlint.knowledge.backends import SEEDS
from torchlint.project import FileFacts

_SEEDS = re.compile(SEEDS)
_TUNES = re.compile(rb"cudnn\s*\.\s*(?:benchmark|deterministic|flags)|deterministic_algorithms|[(,]\s*benchmark\s*=")
_CONVOLVES = re.compile(rb"\bConv(?:Transpose)?[123]d\b")
# A file offers flags, fed loaders, varying shapes, devices or moves of its own only with one of these.
_OFFERS = re.compile(
    rb"cudnn|deterministic_algorithms|pad_sequence|def collate|class \w{0,80}?[cC]ollate|\.Resize\(|models\.detection|"
    rb"def \w{0,80}?(?:device|cuda|gpu)\w{0,80}\(|def dev\(|init_process_group|"
    rb"def to\(self, \w+\)|^[ \t]*import (?:triton|cupy|flash_attn|apex|pycuda|bitsandbytes)|"
    rb"^[ \t]*from (?:triton|cupy|flash_attn|apex|pycuda|bitsandbytes)",
    re.MULTILINE,
)
_LOADERS = re.compile(rb"loader|data_iter|train_iter|next\(", re.IGNORECASE)
_MOVES = re.compile(rb"\.to\(|\.cuda\b|DataLoader")
# What a function that makes loaders is mostly called: the file may hand its result on to a third one.
_MAKERS = re.compile(rb"\b(?:load|get|create|make|build|setup|prepare|init)_\w{0,80}?(?:data|loader)\w{0,80}\(")


def from_bytes(data: bytes) -> FileFacts:
    """The facts that need no parsing."""
    facts: FileFacts = {}
    if _SEEDS.search(data):
        facts["seeds"] = True
    if _TUNES.search(data):
        facts["tunes"] = True
    if _CONVOLVES.search(data):
        facts["convolves"] = True
    return facts


def needs_parsing(data: bytes) -> bool:
    """The file may offer more to others than its bytes tell."""
    if b"torch" in data and _OFFERS.search(data) is not None:
        return True
    moves = _MOVES.search(data) is not None and _LOADERS.search(data) is not None
    return moves or _MAKERS.search(data) is not None

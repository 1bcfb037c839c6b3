"""Backend flags and the calls that set them. Source: torch.backends, 2.4 to 2.15; Lightning's Trainer."""

from __future__ import annotations

BENCHMARK = "torch.backends.cudnn.benchmark"
DETERMINISTIC = "torch.backends.cudnn.deterministic"
FLAGS = frozenset({BENCHMARK, DETERMINISTIC})
# Calls that set both flags through arguments of these names.
SETTERS = frozenset({"torch.backends.cudnn.flags", "pytorch_lightning.Trainer"})
# What a comment, a docstring or a function's name says where the pair is meant.
INTENT = (
    "per process",
    "within a process",
    "within one process",
    "on purpose",
    "deliberate",
    "intentional",
    "fastest det",
)

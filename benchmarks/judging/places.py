"""Where the data of the evaluation are in the repository."""

from __future__ import annotations

from pathlib import Path

EVALUATION = Path("benchmarks", "evaluation")
READINGS = EVALUATION / "readings.jsonl"
REGISTER = EVALUATION / "register.jsonl"
LABELS = EVALUATION / "fresh.jsonl"
PROVISIONAL = EVALUATION / "provisional.jsonl"
PAGE = Path("docs", "evaluation.md")

"""Tests meet LibCST as torchlint imports it, which has to be before anybody else does."""

from __future__ import annotations

import torchlint.analysis  # noqa: F401

"""What the code means: names, values, flow, guards and heat. The only door to LibCST."""

from __future__ import annotations

from torchlint.analysis.syntax import libcst_import

libcst_import.load()

"""Static analysis: syntax, scopes, values, heat, and the objects of training programs."""

from __future__ import annotations

from torchlint.analysis.syntax import libcst_import

libcst_import.load()

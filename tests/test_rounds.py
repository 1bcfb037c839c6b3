"""The number of rounds of a loop is known only where it is written out."""

from __future__ import annotations

import pytest

from tests.analysis_help import load

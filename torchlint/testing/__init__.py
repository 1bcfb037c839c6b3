"""Tests of rules by fixtures: code with marks, and files that show what fixes make of it.

For packages with rules of their own, and for torchlint itself; ``docs/plugins.md`` shows how. The classes need pytest.
``pytest_plugins = ["torchlint.testing"]`` in ``conftest.py`` adds the option ``--torchlint-write``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("torchlint.testing.suites")

from torchlint.testing.fixtures import FixtureFile, Fixtures  # noqa: E402 - assertions are rewritten on import
from torchlint.testing.marks import Mark, differences, marks  # noqa: E402
from torchlint.testing.suites import WRITE, FixtureTests, RuleTests  # noqa: E402

if TYPE_CHECKING:
    from pytest import Parser

__all__ = ["FixtureFile", "FixtureTests", "Fixtures", "Mark", "RuleTests", "differences", "marks"]


def pytest_addoption(parser: Parser) -> None:
    """The option of the plugin."""
    help_text = "write what fixes make of fixtures (`cases.fixed.py`, `cases.unsafe.py`); read the difference"
    parser.getgroup("torchlint").addoption(WRITE, action="store_true", help=help_text)

"""The quick tests: every entry of their list names some, and every rule lints marked code in them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import harness
from tests.quick import ENTRIES, NOT_QUICK

LINTS = "tests/test_fixtures.py::TestFixtures::test_marked_lines_are_found_and_all_others_are_silent"


@pytest.fixture(scope="module")
def collected() -> list[str]:
    """What ``pytest -m quick`` would run."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "quick", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith("tests/")]


def test_every_entry_names_quick_tests(collected: list[str]) -> None:
    tests = {test.partition("[")[0].removeprefix("tests/").replace(".py::", "::") for test in collected}
    found = {(module, name.rpartition("::")[2]) for module, _, name in (test.partition("::") for test in tests)}
    quick = {module for module, _ in found} | {f"{module}::{name}" for module, name in found}
    assert ENTRIES - quick == set()
    assert NOT_QUICK & quick == set()


def test_every_test_that_is_left_out_is_there() -> None:
    for test in NOT_QUICK:
        module, _, name = test.partition("::")
        places = (harness.ROOT / "tests" / f"{module}.py", harness.ROOT / "torchlint" / "testing" / "suites.py")
        assert any(f"def {name}(" in place.read_text(encoding="utf-8") for place in places), test


def test_every_rule_lints_marked_code(collected: list[str]) -> None:
    for rule in harness.HERE.folders:
        assert [test for test in collected if test.startswith(f"{LINTS}[{rule}/")], rule

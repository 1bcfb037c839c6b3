"""Every fixture: what is marked is found, nothing else is, form does not matter, and fixes make what they claim."""

from __future__ import annotations

import pytest

from tests import harness, representatives
from torchlint.groups import GROUPS, group_of
from torchlint.model import Severity
from torchlint.testing import FixtureTests

# Every file is compared with its marks and with what fixes make of it; of the files of a rule, one shows these.
OF_EACH_RULE = frozenset(
    """test_two_runs_agree test_nothing_is_found_in_code_that_cannot_run
    test_suppressing_every_finding_silences_every_finding
    test_newlines_indentation_and_the_end_of_the_file_do_not_matter test_fixed_code_is_complete""".split()
)
SHORTEST = representatives.shortest_files()


class TestFixtures(FixtureTests):
    """All files below ``fixtures``; ``pytest tests/test_fixtures.py --torchlint-write`` writes what fixes make."""

    test_no_shortcut_changes_what_is_found = None  # type: ignore[assignment] # tests/test_shortcuts.py does, and more

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for every file, some by default for one file of each rule."""
        files = harness.HERE.files
        alike = metafunc.definition.originalname in OF_EACH_RULE
        chosen = [file for file in files if not alike or file.path in SHORTEST]
        values = representatives.parameters(files, chosen)
        metafunc.parametrize("fixture_file", values, ids=[file.id for file in files])


@pytest.mark.parametrize("name", harness.HERE.folders)
def test_no_finding_is_more_severe_than_the_group_of_its_rule(name: str) -> None:
    rule, files = harness.HERE.rule(name), harness.HERE.folders[name]
    if rule.group or rule.about_steps or GROUPS[group_of(rule)].highest is not Severity.INFO:
        return  # bounded where it is reported, as severe as its group, or a warning where every step pays
    assert {finding.severity for file in files for finding in file.findings} == {Severity.INFO}


def test_one_file_of_each_rule_shows_what_files_show_alike() -> None:
    assert all(getattr(FixtureTests, name) for name in OF_EACH_RULE)
    assert {path.relative_to(harness.FIXTURES).parts[0] for path in SHORTEST} == set(harness.HERE.folders)

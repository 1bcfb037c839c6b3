"""The rules find what is marked in fixtures, and nothing else."""

from torchlint.testing import FixtureTests, RuleTests


class TestFixtures(FixtureTests):
    """Every file below ``fixtures``."""


class TestRules(RuleTests):
    """Every rule with a folder there, and whether every rule has one."""

"""Every fixture: what is marked is found, nothing else is, form does not matter, and fixes make what they claim."""

from __future__ import annotations

from torchlint.testing import FixtureTests


class TestFixtures(FixtureTests):
    """All files below ``fixtures``; ``pytest tests/test_fixtures.py --torchlint-write`` writes what fixes make."""

    test_no_shortcut_changes_what_is_found = None  # type: ignore[assignment] # tests/test_shortcuts.py does, and more

"""Generated documents are fresh, and the rules they come from are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import docs
from torchlint.run import registry, session

ROOT = Path(__file__).resolve().parent.parent


def test_pages_and_the_table_of_the_readme_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wanted = docs.documents(session.infos(registry.load()))
    stale = [
        str(path) for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"stale: {stale}; run: python -m torchlint.docs"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    names = {info.name for info in session.infos(registry.load())}
    assert {path.stem for path in (ROOT / docs.PAGES).glob("*.md")} == names

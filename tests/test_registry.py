"""Finding rules: all of them, or the run stops."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchlint.rules
from torchlint.retired import RETIRED
from torchlint.run.rules import registry
from torchlint.run.rules.registry import RegistryError


@pytest.fixture(autouse=True)
def _fresh() -> object:
    registry.forget()
    yield
    registry.forget()


def test_every_rule_has_an_id_and_a_name_of_its_own() -> None:
    rules = registry.load()
    assert len({r.id for r in rules} | {r.name for r in rules}) == 2 * len(rules)
    assert [r.id for r in rules] == sorted(r.id for r in rules)


def test_no_rule_has_the_id_or_the_name_of_a_retired_one() -> None:
    rules = registry.load()
    gone = {rule.id for rule in RETIRED} | {rule.name for rule in RETIRED}
    assert not gone & ({rule.id for rule in rules} | {rule.name for rule in rules})


@pytest.mark.parametrize(
    ("code", "words"), [("1 / 0", "ZeroDivisionError"), ("from torchlint.rule import Rule\nclass A(Rule): pass", "id")]
)
def test_a_module_of_rules_that_cannot_be_used_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str
) -> None:
    (tmp_path / "broken.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(torchlint.rules, "__path__", [*torchlint.rules.__path__, str(tmp_path)])
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RegistryError, match=rf"broken.*{words}"):
        registry.load()

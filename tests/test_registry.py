"""Finding rules: all of them, or the run stops."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import torchlint.rules
from torchlint.config.config import Config
from torchlint.run import registry, session
from torchlint.run.cache import for_settings
from torchlint.run.registry import RegistryError

PLUGIN = '''
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule


class Custom(Rule):
    """{headings}"""

    id = "TL990"
    name = "custom"
    summary = "A custom rule"
    severity = Severity.INFO
    recipe = Recipe("none", "finding", "nothing")

    def {visit}(self, node):
        pass
'''
HEADINGS = "\n".join(
    f"## {h}"
    for h in ("What it finds", "Why it costs", "Instead", "When to leave it", "Fix safety", "Confirmed by", "Sources")
)


@pytest.fixture(autouse=True)
def _fresh() -> object:
    for remembered in (registry.load, registry._may_have_plugins):
        remembered.cache_clear()
    yield
    for remembered in (registry.load, registry._may_have_plugins):
        remembered.cache_clear()


def plug_in(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Install a package with an entry point for rules."""
    (folder / "my_rules.py").write_text(code, encoding="utf-8")
    info = folder / "my_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[torchlint.rules]\ncustom = my_rules\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "my_rules", raising=False)


def test_every_rule_has_an_id_and_a_name_of_its_own() -> None:
    rules = registry.load()
    assert len({r.id for r in rules} | {r.name for r in rules}) == 2 * len(rules)
    assert [r.id for r in rules] == sorted(r.id for r in rules)


def test_a_rule_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(tmp_path, monkeypatch, PLUGIN.format(headings=HEADINGS, visit="visit_Call"))
    assert "TL990" in {rule.id for rule in registry.load()}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (PLUGIN.format(headings=HEADINGS, visit="visit_Clal"), "visit_Clal"),
        (
            PLUGIN.format(headings=HEADINGS.replace("Sources", "Links"), visit="visit_Call"),
            r"lacks the headings \['Sources'\]",
        ),
        (PLUGIN.format(headings=HEADINGS, visit="visit_Call").replace("TL990", "TL201"), "TL201"),
        (PLUGIN.format(headings=HEADINGS, visit="visit_Call").replace("    id =", "    ident ="), "id"),
        ("import no_such_module", "no_such_module"),
        ("from torchlint import on\n\n@on.call\ndef visitor(): pass", "@on.call lacks names"),
    ],
)
def test_a_malformed_rule_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, words: str) -> None:
    plug_in(tmp_path, monkeypatch, code)
    with pytest.raises(RegistryError, match=words):
        registry.load()


def test_a_module_of_rules_that_cannot_be_imported_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.setattr(torchlint.rules, "__path__", [*torchlint.rules.__path__, str(tmp_path)])
    with pytest.raises(RegistryError, match="broken"):
        registry.load()


def cache_name(folder: Path) -> str:
    """What the cache of a run would be called."""
    plan = session.plan(Config())
    return for_settings(plan.rules, plan.scopes, str(folder))._file.name


def test_a_package_with_rules_that_is_upgraded_has_its_files_linted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(tmp_path, monkeypatch, PLUGIN.format(headings=HEADINGS, visit="visit_Call"))
    first = cache_name(tmp_path)
    assert cache_name(tmp_path) == first
    metadata = tmp_path / "my_rules-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text(encoding="utf-8").replace("1.0", "1.1"), encoding="utf-8")
    second = cache_name(tmp_path)
    assert second != first
    os.utime(tmp_path / "my_rules.py", (1, 1))  # as in a checkout, where versions stay
    assert cache_name(tmp_path) not in (first, second)

"""The documentation as a site: links that leave it, and the pages of the rules in its navigation."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scripts import reference, site

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("page", "text", "linked"),
    [
        ("tutorial.md", "[a](../examples/x.py)", f"[a]({site.REPOSITORY}examples/x.py)"),
        ("rules/a.md", "[a](../../CONTRIBUTING.md#add-a-rule)", f"[a]({site.REPOSITORY}CONTRIBUTING.md#add-a-rule)"),
        ("rules/a.md", "[a](../fixes.md#b)", "[a](../fixes.md#b)"),
        ("fixes.md", "[a](rules.md) [b](https://example.org/../c)", "[a](rules.md) [b](https://example.org/../c)"),
    ],
)
def test_links_that_leave_the_documentation_lead_to_the_repository(page: str, text: str, linked: str) -> None:
    assert site.linked(text, page) == linked


def test_the_navigation_has_every_rule_below_its_topic() -> None:
    config = {"docs_dir": str(ROOT / "docs"), "nav": [{"Start": "index.md"}, {"Rules": ["rules.md"]}]}
    first, *topics = site.on_config(config)["nav"][1]["Rules"]
    pages = [page for topic in topics for each in topic.values() for rule in each for page in rule.values()]
    assert first == "rules.md"
    assert sorted(pages) == sorted(f"rules/{path.name}" for path in (ROOT / "docs/rules").glob("*.md"))
    assert [name for topic in topics for name in topic][:3] == ["lint", "copies", "transfers"]


def test_the_page_of_all_options_is_fresh() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "run: python scripts/reference.py"


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!!python/object/apply:pymdownx.slugs.slugify", "")
    listed = str(yaml.safe_load(text)["nav"])
    assert not [path.name for path in (ROOT / "docs").glob("*.md") if f"'{path.name}'" not in listed]

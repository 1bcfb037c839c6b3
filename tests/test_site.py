"""The documentation as a site: links that leave it, the pages of the rules in its navigation, search and copying."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from scripts import reference, site
from torchlint import docs
from torchlint.run import results
from torchlint.run.rules import registry

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("page", "text", "linked"),
    [
        ("tutorial.md", "[a](../examples/x.py)", f"[a]({site.REPOSITORY}examples/x.py)"),
        ("rules/a.md", "[a](../../CONTRIBUTING.md#add-a-rule)", f"[a]({site.REPOSITORY}CONTRIBUTING.md#add-a-rule)"),
        ("rules/a.md", "[a](../fixes.md#b)", "[a](../fixes.md#b)"),
        ("rules/a.md", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("fixes.md", "[a](rules.md) [b](https://example.org/../c)", "[a](rules.md) [b](https://example.org/../c)"),
    ],
)
def test_links_that_leave_the_documentation_lead_to_the_repository(page: str, text: str, linked: str) -> None:
    assert site.linked(text, page) == linked


@pytest.mark.parametrize(
    ("page", "edited"),
    [
        ("fixes.md", "docs/fixes.md"),
        ("rules/sync-in-hot-loop.md", "torchlint/rules/synchronization/sync_in_hot_loop.md"),
        ("rules/syntax-error.md", "torchlint/run/rules/syntax_error.md"),
        ("options.md", "scripts/reference.py"),
        ("changelog.md", "CHANGELOG.md"),
    ],
)
def test_a_page_is_edited_in_what_it_is_made_from(page: str, edited: str) -> None:
    file = ROOT / "CHANGELOG.md" if page == "changelog.md" else ROOT / "docs" / page
    found = site.edited(file.read_text(encoding="utf-8"), page)
    assert found == f"https://github.com/torchlint/torchlint/edit/main/{edited}"
    assert (ROOT / edited).is_file()


def test_the_site_shows_the_whole_page_of_every_rule() -> None:
    for info in results.infos(registry.core()):
        assert site.whole((ROOT / f"docs/rules/{info.name}.md").read_text(encoding="utf-8")) == docs.page(info)
        assert "## Sources" in docs.page(info)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[fixes.md](fixes.md#safe)", "[Fixes](fixes.md#safe)"),
        ("[fixes](fixes.md)", "[fixes](fixes.md)"),
        ("[fixes.md](other.md)", "[fixes.md](other.md)"),
    ],
)
def test_a_link_that_names_a_file_names_the_page(text: str, shown: str) -> None:
    assert site.titled(text) == shown


def test_the_navigation_has_every_rule_below_its_topic() -> None:
    config = {"docs_dir": str(ROOT / "docs"), "nav": [{"Start": "index.md"}, {"Rules": ["rules.md"]}]}
    first, *topics = site.on_config(config)["nav"][1]["Rules"]
    pages = [page for topic in topics for each in topic.values() for rule in each for page in rule.values()]
    names = [name for topic in topics for each in topic.values() for rule in each for name in rule]
    assert first == "rules.md"
    assert names == [f"{name.split()[0]} {Path(page).stem}" for name, page in zip(names, pages, strict=True)]
    assert sorted(pages) == sorted(f"rules/{path.name}" for path in (ROOT / "docs/rules").glob("*.md"))
    assert [name for topic in topics for name in topic][:3] == ["lint", "copies", "transfers"]


@pytest.mark.parametrize(
    ("code", "copied"),
    [
        ("x = 1\n", None),
        ("price: 3 $ \n", None),
        ("<span>$ </span>lint <i>a&amp;b</i>\n<b>4 found</b>\n<span># </span>TL301\n", "lint a&amp;b"),
        ('$ echo "1"\n1\n$ ls\n', "echo &quot;1&quot;\nls"),
    ],
)
def test_the_button_at_an_example_copies_its_commands_without_prompts_and_output(code: str, copied: str | None) -> None:
    expected = "" if copied is None else f' data-copy="{copied}"'
    block = "<p>A</p><pre><code{}>" + code + "</code></pre>"
    assert site.copyable(block.format("")) == block.format(expected)


def test_the_page_of_all_options_is_fresh() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "run: python scripts/reference.py"


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!!python/object/apply:pymdownx.slugs.slugify", "")
    listed = str(yaml.safe_load(text)["nav"])
    assert not [path.name for path in (ROOT / "docs").glob("*.md") if f"'{path.name}'" not in listed]


# -- the site in a browser -------------------------------------------------------------------------

_RESULTS = "[...document.querySelectorAll('.md-search-result__item > a')].map((link) => new URL(link.href).pathname)"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that does not print what it is asked for."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site: its search does not work from disk."""
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(built)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (".item()", ["device-round-trip", "sync-in-hot-loop"]),
        ("is_available", ["hardcoded-cuda"]),
        ("pin_memory", ["loader-not-pinned"]),
        ("TL306", ["explicit-synchronize"]),
    ],
)
def test_the_search_finds_the_rules_about_a_name_first(page: Any, address: str, words: str, rules: list[str]) -> None:
    page.goto(f"{address}?q={quote(words)}")
    page.wait_for_selector(".md-search-result__item", state="attached")
    found = list(dict.fromkeys(page.evaluate(_RESULTS)))
    assert found[: len(rules)] == [f"/rules/{rule}/" for rule in rules]


@pytest.mark.parametrize("key", ["exclude", "ignore", "severity", "target-torch"])
def test_the_search_finds_the_description_of_a_configuration_key_first(page: Any, address: str, key: str) -> None:
    page.goto(f"{address}?q={quote(key)}")
    page.wait_for_selector(".md-search-result__item", state="attached")
    assert page.evaluate(_RESULTS)[0] == "/options/"


def test_the_table_of_rules_can_be_filtered(page: Any, address: str) -> None:
    page.goto(f"{address}rules/")
    bar, shown = page.locator(".rule-filter"), page.locator("article tr:visible", has_text="TL507")
    number = len(list((ROOT / "docs/rules").glob("*.md")))
    assert bar.locator("output").inner_text() == f"{number} of {number} rules"
    bar.locator("select[aria-label=group]").select_option("dead")
    bar.locator("select[aria-label=severity]").select_option("error")
    bar.locator("select[aria-label=topic]").select_option("backends")
    assert shown.get_by_role("link").inner_text() == "dead-backend-flag"
    bar.locator("select[aria-label=fix]").select_option("always")
    assert bar.locator("output").inner_text() == f"1 of {number} rules"
    bar.locator("input").fill("no such words")
    assert bar.locator("output").inner_text() == f"0 of {number} rules"


def test_the_changelog_and_the_version_are_on_the_site(page: Any, address: str) -> None:
    newest = site.version()
    page.goto(f"{address}changelog/")
    assert page.locator("article h2").first.inner_text().startswith(newest)
    assert newest in page.locator("footer").inner_text()
    assert page.locator("a[rel=edit]").get_attribute("href").endswith("/edit/main/CHANGELOG.md")


def test_the_sample_report_is_that_of_the_example(page: Any, address: str) -> None:
    page.goto(f"{address}reports/")
    page.locator("article a", has_text="The report on the example").click()
    page.wait_for_url(f"{address}sample-report.html")
    assert page.locator("text=dead-backend-flag").count() > 0


@pytest.mark.parametrize("width", [360, 1280, 1600])
def test_no_page_is_wider_than_its_window(page: Any, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("", "rules/", "rules/sync-in-hot-loop/", "options/", "reports/", "changelog/", "sample-report.html"):
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_button_of_a_built_page_copies_a_command(page: Any, address: str) -> None:
    page.goto(f"{address}tutorial/")
    block = page.locator(".highlight", has_text="torchlint rule sync")
    block.locator("[data-clipboard-target], [data-md-type=copy]").click()
    page.wait_for_selector(".md-dialog--active")
    assert page.evaluate("navigator.clipboard.readText()") == "torchlint rule sync-in-hot-loop"

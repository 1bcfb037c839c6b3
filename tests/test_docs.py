"""Generated documents are fresh, and what the README shows is what a run prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint import docs
from torchlint.base.version import REPOSITORY
from torchlint.report import order
from torchlint.rule import TOPICS
from torchlint.run import results
from torchlint.run.rules import registry

ROOT = Path(__file__).resolve().parent.parent


def test_signposts_and_the_table_of_all_rules_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wanted = docs.documents(results.infos(registry.load()))
    stale = [
        str(path) for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"stale: {stale}; run: python -m torchlint.docs"


def test_no_page_and_no_signpost_is_left_of_a_rule_that_is_gone() -> None:
    infos = results.infos(registry.load())
    assert {path.stem for path in (ROOT / docs.SIGNPOSTS).glob("*.md")} == {info.name for info in infos}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "torchlint").rglob("*.md")}
    assert pages == {info.page.path for info in infos}


def test_findings_link_to_what_leads_to_the_page_of_their_rule() -> None:
    for info in results.infos(registry.core()):
        assert info.url is not None
        signpost = ROOT / info.url.removeprefix(f"{REPOSITORY}/blob/main/")
        links = re.findall(r"\]\((\S+)\)$", signpost.read_text(encoding="utf-8"))
        assert [(signpost.parent / link).resolve() for link in links] == [ROOT / info.page.path]


# -- the README ----------------------------------------------------------------------------------------


def _shown(marker: str) -> list[str]:
    """The lines that the README shows between two markers, without the fences."""
    return _between((ROOT / "README.md").read_text(encoding="utf-8"), marker)


def _between(text: str, marker: str) -> list[str]:
    block = text.partition(f"<!-- {marker}:begin -->")[2].partition(f"<!-- {marker}:end -->")[0]
    lines = block.strip().splitlines()[1:-1]
    assert lines, f"nothing is shown between the markers of {marker}"
    return lines


def _printed(*arguments: str) -> str:
    """What torchlint prints about the example."""
    command = [sys.executable, "-m", "torchlint", "--no-cache", *arguments, "examples/"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 1, run.stderr
    return run.stdout + run.stderr


def test_the_report_in_the_readme_is_what_the_quick_start_prints() -> None:
    printed = " ".join(_printed().split())
    for part in "\n".join(_shown("example")).replace("\n...\n", "\n\n").split("\n\n"):
        assert " ".join(part.split()) in printed, part


def test_the_reports_in_the_documentation_are_what_is_printed() -> None:
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    for marker, options in (("report", []), ("statistics", ["--statistics"])):
        printed = _printed(*options)
        for part in "\n".join(_between(page, marker)).split("\n...\n"):
            assert part in printed, part


def test_the_fixes_in_the_readme_are_all_that_the_diff_makes() -> None:
    changed = [line for line in _printed("--diff").splitlines() if re.match(r"[-+] ", line)]
    assert _shown("diff") == changed


def test_the_example_has_one_finding_for_each_of_eight_rules() -> None:
    found = re.findall(r"^examples/train_cifar\.py:\d+:\d+: (TL\d{3})", _printed("--show-info"), re.M)
    assert len(found) == len(set(found)) == 8
    assert "reports eight problems" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_quick_start_lints_the_example() -> None:
    assert _shown("quickstart")[-1] == ".venv/bin/torchlint examples/"


def test_the_readme_names_every_topic() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("| topic | findings |")[2]
    named = re.findall(r"^\| (\w+) \|", table, re.M)
    assert set(named) == set(TOPICS.values()) - {"lint"}


def test_reports_and_the_table_of_rules_order_and_filter_by_the_topics_that_exist() -> None:
    assert set(order.TOPICS) == set(TOPICS.values()) - {"lint"}
    page = " ".join((ROOT / "docs" / "reports.md").read_text(encoding="utf-8").split())
    assert f"{', '.join(order.TOPICS)}, and then topics of plug-ins" in page
    script = (ROOT / "docs" / "site" / "rules.js").read_text(encoding="utf-8")
    assert dict(re.findall(r'(\d): "(\w+)"', script)) == TOPICS


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 950


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))])
def test_links_between_documents_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"

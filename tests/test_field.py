"""The survey of public repositories: what is counted, and what the page shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from survey import checkouts, counts, figures, tables

from tests.git_help import Git

ROOT = Path(__file__).parent.parent
HOT = """\
import torch


def train(loader, model):
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        print(loss.item())
"""
BROKEN = "import torch\nif:\n"
SOME = [
    counts.Counts(
        "a/one", "0" * 40, 3, 2000, 0, (counts.Count("TL301", "warning", 4), counts.Count("TL104", "info", 2))
    ),
    counts.Counts("b/two", "1" * 40, 1, 500, 1, (counts.Count("TL104", "warning", 1),)),
    counts.Counts("c/three", "2" * 40, 1, 100, 0, ()),
]


def test_a_repository_is_fetched_once_at_its_commit(tmp_path: Path) -> None:
    git = Git(tmp_path / "host" / "owner" / "name")
    git.write("train.py", HOT)
    git("add", ".")
    git("commit", "-q", "-m", "first")
    commit = git("rev-parse", "HEAD").strip()
    git.write("train.py", "later = 1\n")
    git("commit", "-q", "-a", "-m", "second")
    repository = checkouts.Repository("owner/name", commit)
    host = f"file://{tmp_path / 'host'}"
    found = checkouts.checkout(repository, tmp_path, host)
    assert found == tmp_path / "owner+name"
    assert (found / "train.py").read_text() == HOT
    assert checkouts.checkout(repository, tmp_path, "file:///nowhere") == found
    with pytest.raises(SystemExit, match="fetch"):
        checkouts.checkout(checkouts.Repository("owner/other", commit), tmp_path, host)


def test_only_files_with_torch_count(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HOT)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "other.py").write_text("x = 1\n" * 100)
    (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nignore = ["ALL"]\n')
    found = counts.of(checkouts.Repository("owner/name", "0" * 40), tmp_path)
    assert (found.files, found.lines, found.unreadable) == (2, 10, 1)
    assert found.of_rule("TL301") == 1
    assert found.of_rule("TL000") == 0


def test_counts_are_written_and_read(tmp_path: Path) -> None:
    counts.write(SOME, "2026-01-31, commit 0123456789.", tmp_path / "counts.jsonl")
    assert counts.read(tmp_path / "counts.jsonl") == ("2026-01-31, commit 0123456789.", SOME)


def test_a_repository_with_a_warning_is_not_one_with_infos_only() -> None:
    assert counts.rules(SOME) == ["TL104", "TL301"]
    assert counts.having(SOME, "TL104") == 1
    assert counts.having(SOME, "TL104", infos=True) == 1
    assert counts.having(SOME, "TL301", infos=True) == 0


def test_the_page_gets_its_tables() -> None:
    markers = "".join(f"<!-- {name}:begin --><!-- {name}:end -->\n" for name in ("survey", "rules", "repositories"))
    page = tables.written(markers, SOME, "2026-01-31, commit 0123456789.")
    assert "3 repositories, 5 files that mention torch with 2,600 lines. 2 of the repositories (67%)" in page
    assert "| [TL301 sync-in-hot-loop](rules/sync-in-hot-loop.md) | 1 (33%) | 0 | 4 | 0 |" in page
    assert "per thousand lines. Counted 2026-01-31, commit 0123456789." in page
    assert "| b/two | 11111111 | 1 | 500 | 1 | 0 |" in page


def test_the_page_says_which_rules_do_not_warn_any_more() -> None:
    markers = "".join(f"<!-- {name}:begin --><!-- {name}:end -->\n" for name in ("survey", "rules", "repositories"))
    older = SOME[0]._replace(findings=(counts.Count("TL203", "warning", 1), counts.Count("TL701", "warning", 1)))
    assert "Changed since" not in tables.written(markers, SOME, "")
    assert "Changed since then: TL203 (retired); TL701 (no warnings by default)." in tables.written(
        markers, [*SOME, older], ""
    )


def test_the_figures_are_svg_with_the_names_of_the_rules() -> None:
    drawn = figures.all_of(SOME)
    assert set(drawn) == {"problems", "density", "topics"}
    for text in drawn.values():
        assert ET.fromstring(text).tag.endswith("svg")
    assert "sync-in-hot-loop  TL301" in drawn["problems"]
    assert drawn == figures.all_of(SOME), "the same counts give the same bytes"


def test_the_page_shows_the_counts_that_are_committed() -> None:
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    when, found = counts.read(ROOT / "benchmarks" / "survey" / "counts.jsonl")
    assert tables.written(page, found, when) == page

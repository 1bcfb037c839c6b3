"""What pages say of documents, configuration and fixes is what torchlint writes, reads and makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from torchlint import fix_source, read_config
from torchlint.confirm import evidence, order, prices
from torchlint.confirm.documents import as_json, verdict_document
from torchlint.confirm.result import result
from torchlint.confirm.stored_evidence import StoredRun
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Observed, RunResult
from torchlint.report.json import document as linted
from torchlint.report.observed import observed_document
from torchlint.run.recorded.evidence import Measured, Shot, document
from torchlint.run.recorded.shown import Shown

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "recorded_runs"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    found = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, title
    return found


def unnamed(keys: Iterable[str], text: str) -> set[str]:
    """The keys that a text does not have between backticks."""
    return set(keys) - set(re.findall(r"`(\w+)`", text))


def test_every_key_of_evidence_is_described() -> None:
    text = page("docs/evidence-format.md")
    hints: dict[str, Any] = get_type_hints(StoredRun)
    assert not unnamed(hints, section(text, "A process"))
    (event,) = get_args(hints["events"])
    for title, kind in (("Steps", hints["steps"]), ("Events", event), ("Trace", hints["trace"])):
        assert not unnamed(get_type_hints(kind), section(text, title)), title


def test_every_key_of_evidence_that_can_be_committed_is_described() -> None:
    shown = Shown("sync", (1, 0, 1, 4), "read", "training", 1.0)
    whole = document([Shot("a.py", "", "", (Measured(shown, 1, 1, 1.0, False),))], torch="", device="", version="")
    text = section(page("docs/evidence-format.md"), "What can be committed")
    (file,) = whole["files"].values()
    assert not unnamed([*whole, *file, *file["events"][0]], text)


def test_every_key_that_a_run_adds_to_json_is_described() -> None:
    text = page("docs/confirm.md").partition("The JSON document is")[2].partition("\n\n")[0]
    assert not unnamed(verdict_document(Verdict(Status.UNKNOWN, "why")), text)
    made = order.read(str(RECORDED / "vae"))
    judged = result(made, evidence.read(str(RECORDED / "vae"), made.run), prices.load(prices.DEFAULT), {})
    whole = json.loads(as_json(judged, ()))
    assert not unnamed(set(whole) - set(linted(RunResult())), text)


def test_every_key_of_what_a_recording_shows_is_described() -> None:
    seen = observed_document(Observed("wait", "a.py", 1, 1, 1, 1.0, "t.json"))
    assert not unnamed(seen, page("docs/traces.md").partition("has `seen` in findings")[2].partition("\n\n")[0])


_TABLE = re.compile(r"^```toml\n(\[tool\.torchlint.*?)^```$", re.MULTILINE | re.DOTALL)
TABLES = [
    pytest.param(text, id=f"{path.stem}-{number}")
    for path in PAGES
    for number, text in enumerate(_TABLE.findall(path.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("text", TABLES)
def test_configurations_on_pages_are_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert read_config(tmp_path).source


PROGRAM = """import torch


def forward(x, rnn):
{line}
    return rnn(x, hidden)
"""


def test_the_fix_on_the_page_about_fixes_is_made() -> None:
    shown = page("docs/fixes.md").partition("```diff\n")[2].partition("```")[0].splitlines()
    before, after = (line[1:] for line in shown)
    assert fix_source(PROGRAM.format(line=before)).decode() == PROGRAM.format(line=after)


def test_the_files_that_the_page_for_contributors_names_are_there() -> None:
    text = page("CONTRIBUTING.md")
    inside = re.findall(r"`((?:benchmarks|docs|editors|scripts|tests|torchlint|\.ci|\.github)/[\w./-]+)`", text)
    run = [Path(name.replace(".", "/")) for name in re.findall(r"python -m ((?:tests|scripts|torchlint)[\w.]+)", text)]
    assert len(inside) > 10
    assert [name for name in inside if not (ROOT / name).exists()] == []
    missing = [str(name) for name in run if not ((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file())]
    assert missing == []

"""Groups: what a rule promises, held against what people read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import readings as dev
from judging import places, promises
from judging.readings import Reading, read
from judging.register import Register

from tests import harness
from torchlint import lint_source
from torchlint.base.pages import Page
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.confirm.probes import PROBES
from torchlint.docs import marked
from torchlint.groups import GROUPS, WASTE, group_of
from torchlint.model import RuleInfo, Severity
from torchlint.rule import Rule
from torchlint.run import results
from torchlint.run.rules import registry

CORE = [*registry.core()]
INFOS = {info.id: info for info in results.infos(CORE)}
READINGS = read(harness.ROOT / places.READINGS)
PROVISIONAL = promises.provisional(harness.ROOT / places.PROVISIONAL)
each_rule = pytest.mark.parametrize("info", INFOS.values(), ids=INFOS)


@each_rule
def test_the_readings_allow_a_rule_to_be_in_its_group(info: RuleInfo) -> None:
    assert promises.broken(info, READINGS, excused=info.id in PROVISIONAL) is None


def test_the_page_of_all_rules_says_that_none_keeps_the_promise_of_waste_yet() -> None:
    page = " ".join((harness.ROOT / "docs/rules.md").read_text(encoding="utf-8").split())
    waste = {rule.id for rule in CORE if group_of(rule) == WASTE}
    assert ("at present, these are all of its rules" in page) == (waste <= set(PROVISIONAL))


def test_only_rules_that_exist_are_provisional_and_each_says_why() -> None:
    assert set(PROVISIONAL) <= set(INFOS)
    assert all(PROVISIONAL.values())


@pytest.mark.parametrize("rule", CORE, ids=lambda rule: rule.name)
def test_the_claim_of_a_rule_that_promises_waste_or_faults_is_executed(rule: type[Rule]) -> None:
    # tests/test_programs.py runs the programs of each rule that a run decides, some of which confirm it
    decided = rule.recipe is not None and PROBES[rule.recipe.probe].decides
    assert decided or group_of(rule) not in ("dead", "waste")


LOUD = Reading("TL1", "a/b", "c0", "a.py:1", "2026-01-31", "warning", "right", "", "fresh", "ten")
RULE = RuleInfo("TL1", "x", "t", Severity.WARNING, "s", True, "never", "0", Page("", ""), None, group="waste")


def readings(right: int, pointless: int = 0, wrong: int = 0, *, repositories: int = 10) -> list[Reading]:
    verdicts = ["right"] * right + ["pointless"] * pointless + ["wrong"] * wrong
    return [
        LOUD._replace(verdict=verdict, repository=f"a/{number % repositories}", place=f"a.py:{number}")
        for number, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (readings(27, 3), True),
        (readings(26, 4), False),
        (readings(27, 2, 1), True),
        (readings(30, repositories=4), False),
        (readings(9, 1, repositories=5), True),
        (readings(9, repositories=9), False),
        ([each._replace(severity="info") for each in readings(30)], False),
        ([each._replace(sight="seen") for each in readings(30)], False),
        ([each._replace(partial=True) for each in readings(30)], False),
        ([LOUD._replace(place=None, repository=None, times=30, repositories=10)], True),
        ([LOUD._replace(place=None, repository=None, times=30)], False),
        ([], False),
    ],
)
def test_waste_is_nine_of_ten_right_in_enough_repositories(found: list[Reading], kept: bool) -> None:
    assert (promises.broken(RULE, found, excused=False) is None) is kept
    assert (promises.broken(RULE, found, excused=True) is None) is not kept


def test_what_is_mostly_wrong_is_not_excused() -> None:
    known = [each._replace(sight="seen") for each in readings(5, 1, 2)]
    assert promises.broken(RULE, known, excused=True) is None
    assert promises.broken(RULE, [*known, *readings(0, 0, 1)], excused=True) is not None
    assert promises.broken(RULE, known, excused=False) is not None


@pytest.mark.parametrize(
    ("group", "found", "kept"),
    [
        ("dead", readings(1, 5), True),
        ("dead", readings(30, 0, 1), False),
        ("dead", [each._replace(sight="seen") for each in readings(0, 0, 1)], False),
        ("advice", readings(1, 2, 1), True),
        ("advice", readings(2, 1, 2), False),
        ("advice", readings(1, 1, 2), True),  # too few to say
        ("advice", [], True),
        ("portability", readings(0, 0, 9), True),
        ("preview", readings(0, 0, 9), True),
    ],
)
def test_other_groups_promise_less_or_more(group: str, found: list[Reading], kept: bool) -> None:
    assert (promises.broken(RULE._replace(group=group), found, excused=False) is None) is kept


def test_the_page_has_the_tables_of_the_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(harness.ROOT)
    text = places.PAGE.read_text(encoding="utf-8")
    for what, table in dev.tables().items():
        assert marked(text, what, table) == text, "run: python benchmarks/readings.py figures --write"


def test_every_repository_of_the_evaluation_is_registered() -> None:
    registered = {entry.repository.lower() for entry in Register(harness.ROOT / places.REGISTER).entries()}
    files = [path for path in (harness.ROOT / "benchmarks").glob("*/*.jsonl") if path.name != "provisional.jsonl"]
    assert len(files) > 6
    named: set[str] = set()
    for path in files:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        named |= {row["repository"] for row in rows if row.get("repository")}
    assert len(named) > 150
    assert {name for name in named if name.lower() not in registered} == set()


def test_the_register_is_in_order_and_names_everything_once() -> None:
    rows = (harness.ROOT / places.REGISTER).read_text(encoding="utf-8").splitlines()
    names = [json.loads(row)["repository"].lower() for row in rows]
    assert names == sorted(set(names))


def test_the_page_uses_the_three_words() -> None:
    assert "arguable" not in (harness.ROOT / Path("docs", "evaluation.md")).read_text(encoding="utf-8").lower()


def test_a_group_with_the_name_of_a_topic_selects_the_same_rules() -> None:
    both = {info.topic for info in INFOS.values()} & set(GROUPS)
    assert both == {"portability"}
    for name in both:
        in_group = {info.id for info in INFOS.values() if info.group == name}
        assert in_group == {info.id for info in INFOS.values() if info.topic == name}


def test_a_baseline_with_findings_of_a_preview_passes_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    guilty = (harness.FIXTURES / "graph-kept-alive" / "cases.py").read_text(encoding="utf-8")
    Path("cases.py").write_text(guilty, encoding="utf-8")
    common = ["--no-cache", "--isolated", "--baseline", "accepted.json", "--ignore", "TL3"]
    assert main(["--select", "TL607", "--write-baseline", *common, "cases.py"]) == 0
    accepted = Path("accepted.json").read_bytes()
    capsys.readouterr()
    assert main([*common, "cases.py"]) == 0
    shown = capsys.readouterr().out
    assert "All clear: 1 file checked" in shown
    assert "TL607" not in shown
    assert main(["--preview", *common, "cases.py"]) == 0
    assert "14 in the baseline" in capsys.readouterr().out
    assert Path("accepted.json").read_bytes() == accepted


def test_a_comment_that_suppresses_a_preview_is_not_unused() -> None:
    source = "import torch\n\nx = 1  # torchlint: ignore[TL601]\n"
    assert lint_source(source).findings == ()
    assert [each.rule for each in lint_source(source, config=Config(preview=True)).findings] == ["TL001"]

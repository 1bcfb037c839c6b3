"""What the text report of a run makes readable: cost by line, bursts, undecided findings together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import test_run_html as run
from torchlint.cli.options import parser
from torchlint.confirm import evidence, html, order, prices
from torchlint.confirm.bursts import burst
from torchlint.confirm.documents import verdict_document
from torchlint.confirm.probes import PROBES
from torchlint.confirm.result import Result, result
from torchlint.confirm.text import render
from torchlint.model import Evidence, Recipe, Span
from torchlint.rule import page
from torchlint.run.rules import registry

ROOT = Path(__file__).parents[1]
RECORDED = Path(__file__).parent / "recorded_runs"
BELOW = Span(4, 1, 4, 8)
SAVING = Span(1, 1, 1, 4)


def judged(folder: Path, recipe: Recipe, *events: Any, rule: str = "TL301", **more: Any) -> Result:
    """The verdict on a finding about lines 3 and 4, and about the loop."""
    made = run.ordered(folder)
    found = run.finding(rule, run.READ, "train.py")._replace(evidence=(Evidence(4, 1, "here as well"),))
    made = order.Order(**{**vars(made), "findings": {"0": found}, "recipes": {"0": recipe}})
    order.write(made)
    path = folder / "train.py"
    named = [run.event(path, *event[:2], **event[2]) for event in events]
    marks = {"0": {"placed": True, "begun": 40, "ended": 40, "changed": 0, "evaluations": NONE}}
    return run.recorded(folder, made, events=named, marks=marks, **more)


NONE = {"count": 0, "bytes": 0, "ns": 0, "steady": [0, 0, 0], "phases": {}, "each": None, "steps": []}
READS = Recipe("synchronizations", "evidence", "reads", least=2)


# -- cost by line ----------------------------------------------------------------------------------


def test_a_finding_about_one_line_has_no_list_of_lines(tmp_path: Path) -> None:
    found = judged(tmp_path, READS, ("sync", run.READ, {}))
    assert "by line" not in render(found)
    assert found.verdicts[0].lines == ()


def test_the_costliest_lines_of_a_finding_come_first_with_their_part(tmp_path: Path) -> None:
    found = judged(tmp_path, READS, ("sync", run.READ, {"count": 40}), ("sync", BELOW, {"count": 120}))
    assert "            by line: train.py:4 75 %, train.py:3 25 %\n" in render(found)
    assert "By line: train.py:4 75 %, train.py:3 25 %" in run.words(html.render(found, ()))
    lines = verdict_document(found.verdicts[0])["lines"]
    assert lines == [
        {"path": "train.py", "line": 4, "count": 120, "part": 0.75},
        {"path": "train.py", "line": 3, "count": 40, "part": 0.25},
    ]


def test_copies_are_weighed_by_their_size_and_not_by_their_number(tmp_path: Path) -> None:
    copies = Recipe("blocking-uploads", "evidence", "copies", least=2)
    small = ("upload", run.READ, {"count": 80, "bytes": 4, "pinned": True, "non_blocking": False})
    large = ("upload", BELOW, {"count": 40, "bytes": 10**7, "pinned": True, "non_blocking": False})
    first = judged(tmp_path, copies, small, large, rule="TL202").verdicts[0].lines[0]
    assert (first.line, first.count) == (4, 40)
    assert first.part > 0.8


def test_lines_of_evaluation_have_no_part_in_a_step_of_training(tmp_path: Path) -> None:
    copies = Recipe("blocking-uploads", "evidence", "copies", least=2)
    kind = {"bytes": 10**6, "pinned": False, "non_blocking": False}
    training = ("upload", run.READ, {"count": 40, **kind})
    evaluation = ("upload", BELOW, {"count": 120, "phase": "evaluation", **kind})
    found = judged(tmp_path, copies, training, evaluation, rule="TL202")
    assert found.verdicts[0].count == 160
    assert found.verdicts[0].lines == ()
    also = ("upload", BELOW, {"count": 40, **kind})
    assert [one.line for one in judged(tmp_path, copies, training, also, rule="TL202").verdicts[0].lines] == [3, 4]
    lines = judged(tmp_path, copies, training, also, ("upload", SAVING, evaluation[2]), rule="TL202").verdicts[0].lines
    assert [one.line for one in lines] == [3, 4]


# -- bursts ----------------------------------------------------------------------------------------


def test_what_happens_in_one_step_does_not_lead_the_list_whatever_it_costs(tmp_path: Path) -> None:
    made = run.ordered(tmp_path)
    made = order.Order(**{**vars(made), "findings": {}, "recipes": {}})
    order.write(made)
    path = tmp_path / "train.py"
    often = run.event(path, "sync", run.READ)
    once = run.event(path, "download", SAVING, 400, steps=[[20, 20, 1]], bytes=10**6, non_blocking=False)
    found = run.recorded(tmp_path, made, events=[often, once], marks={})
    assert [(spot.line, spot.cost > 100) for spot in found.hot] == [(3, False), (1, True)]
    assert "  train.py:1:1: in 1 of 40 steps, on average about " in render(found)
    assert "  train.py:3:14: 1 a step, about 10 us (modeled): 40 synchronizations" in render(found)
    assert render(found).count("  synchronizations: read values of tensors less often than in every step") == 1
    assert "read values of tensors less often" in run.words(html.render(found, ()))


def test_a_finding_whose_code_runs_in_few_steps_is_listed_after_the_others(tmp_path: Path) -> None:
    found = run.recorded(tmp_path, run.ordered(tmp_path))
    path = tmp_path / "train.py"
    copies = run.event(path, "upload", run.MOVE, bytes=10**8, steps=[[40, 40, 1]], pinned=True, non_blocking=False)
    found = run.recorded(tmp_path, found.order, events=[copies, run.event(path, "sync", run.READ)])
    confirmed = [finding.rule for finding, verdict in found.pairs if verdict.status.value == "confirmed"]
    assert confirmed == ["TL301", "TL202"]
    assert "TL202 a-tl202: in 1 of 40 steps, on average about " in render(found)
    assert verdict_document(found.pairs[1][1])["burst"] == {"steps": 1, "of": 40}


@pytest.mark.parametrize(
    ("runs", "steps"),
    [
        ([[[7, 9, 3]]], 3),
        ([[[7, 9, 3]], [[7, 9, 3]]], 3),
        ([[[7, 8, 2]], [[8, 9, 2]]], 3),
        ([[[7, 7, 1]], [[9, 9, 1]]], 2),
        ([[[1, 40, 2]]], 2),
        ([[[1, 40, 40]]], None),
        ([[[1, 5, 5]]], None),
    ],
)
def test_a_burst_counts_each_of_its_steps_once(tmp_path: Path, runs: list[Any], steps: int | None) -> None:
    path = tmp_path / "train.py"
    made = run.ordered(tmp_path)
    places = [run.READ, BELOW]
    events = [run.event(path, "sync", span, steps=part) for span, part in zip(places, runs, strict=False)]
    found = run.recorded(tmp_path, made, events=events).run
    few = burst(found.events, found)
    assert (few.steps if few is not None else None) == steps


# -- undecided findings ----------------------------------------------------------------------------


def undecided(folder: Path, count: int) -> Result:
    """Findings of one rule that never ran, a finding of another one, and one that was refuted."""
    made = run.ordered(folder)
    never = {str(n): run.finding("TL104", Span(4, 11 + n, 4, 12 + n), "train.py") for n in range(count)}
    other = {"x": run.finding("TL105", run.NEVER, "train.py"), "y": run.finding("TL401", run.MADE, "train.py")}
    recipe = Recipe("born-on-host", "finding", "copies")
    recipes = {**dict.fromkeys([*never, "x"], recipe), "y": Recipe("pageable-batches", "finding", "copies")}
    made = order.Order(**{**vars(made), "findings": {**never, **other}, "recipes": recipes})
    order.write(made)
    mark = {"placed": True, "begun": 0, "ended": 0, "changed": 0, "evaluations": NONE}
    marks = {**dict.fromkeys([*never, "x"], mark), "y": {**mark, "begun": 1, "ended": 1}}
    return run.recorded(folder, made, marks=marks, events=[])


def test_findings_of_a_rule_that_are_undecided_for_one_reason_are_one_entry(tmp_path: Path) -> None:
    text = render(undecided(tmp_path, 3))
    entry = "not reached TL104 a-tl104 at 3 places: train.py:4, train.py:4, train.py:4\n            never evaluated in"
    assert entry in text
    assert "not reached train.py:4:11 TL105 a-tl105\n" in text
    assert text.count("TL104") == 1
    assert "5 findings: 4 not reached, 1 refuted." in text


def test_many_places_are_counted_and_named_with_verbose(tmp_path: Path) -> None:
    found = undecided(tmp_path, 9)
    assert "at 9 places: " in render(found)
    assert " and 4 more (--verbose names them)" in render(found)
    assert render(found, verbose=True).count("TL104 a-tl104\n            never evaluated in this run") == 9


# -- rules that no run decides, and options --------------------------------------------------------


def test_every_rule_says_how_a_run_confirms_it_or_why_none_does() -> None:
    for rule in registry.core():
        assert rule.recipe is not None, rule.id
        if not PROBES[rule.recipe.probe].decides:
            said = " ".join(page(rule).read().partition("## Confirmed by")[2].split())
            assert said.startswith(f"No run decides it, and the verdict is `unknown`: {rule.recipe.seen}."), rule.id


def test_a_finding_that_no_run_decides_says_why_unless_it_was_not_reached(tmp_path: Path) -> None:
    recipe = Recipe("undecidable", "finding", "the kernel does it")
    verdict = judged(tmp_path, recipe).verdicts[0]
    assert (verdict.status.value, verdict.reason) == ("unknown", "no run decides it: the kernel does it")


@pytest.mark.parametrize(("text", "microseconds"), [("12ms", 12e3), ("800us", 800.0), ("1.5 s", 1.5e6)])
def test_the_time_of_a_step_has_a_unit(text: str, microseconds: float) -> None:
    assert parser().parse_args(["verdict", "DIR", "--gpu-step", text]).gpu_step == pytest.approx(microseconds)


@pytest.mark.parametrize("text", ["12", "ms", "-1ms", "0s", "1e400s", "5sm", "nanms"])
def test_a_time_of_a_step_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["verdict", "DIR", f"--gpu-step={text}"])
    assert ended.value.code == 2
    assert f"{text!r} is not a time; give a number with its unit" in capsys.readouterr().err


def test_a_comparison_is_not_promised_on_the_simulated_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["compare", "--help"])
    assert "sim" not in capsys.readouterr().out.split()
    with pytest.raises(SystemExit):
        parser().parse_args(["compare", "--finding", "TL101", "--on", "sim", "--", "train.py"])
    assert "invalid choice: 'sim'" in capsys.readouterr().err


# -- the worked example ----------------------------------------------------------------------------


def test_the_worked_example_is_what_its_recorded_run_prints() -> None:
    # The recorded source has the lengths of the program's lines alone.
    made = order.read(str(RECORDED / "vae"))
    seen = evidence.read(str(RECORDED / "vae"), made.run)
    printed = render(result(made, seen, prices.load(prices.DEFAULT), {}))
    page = (ROOT / "docs" / "confirm.md").read_text(encoding="utf-8")
    assert page.partition("<!-- example:begin -->")[2].split("```")[1].strip() == printed.strip()
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- confirm:begin -->")[2].split("```")[1]
    for line in readme.strip().splitlines():
        for part in line.split("..."):
            assert part.strip() in printed, part

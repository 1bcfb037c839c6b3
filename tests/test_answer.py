"""The first lines of a report: what a step takes, and how much of it is waiting."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.test_verdicts import ITEM, MOVE, Recorded, profile, seen
from torchlint.confirm import order
from torchlint.confirm.text import render
from torchlint.confirm.verdict import Status
from torchlint.model import Evidence, Recipe, Span
from torchlint.report.figures import duration, number, percent

READS = Recipe("synchronizations", "finding", "reads")
MOVES = Recipe("blocking-uploads", "finding", "copies")
LOADER = [1, 9, 1, 15]
BESIDE = "where the processor also computes in place of the GPU"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0213, "0.0213"),
        (1.19, "1.19"),
        (246.1, "246"),
        (999.6, "1,000"),
        (2461, "2,461"),
        (1e-5, "0.00001"),
    ],
)
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 us"),
        (0.43, "0.43 us"),
        (43, "43 us"),
        (999.9, "1 ms"),
        (246_100, "246 ms"),
        (1.234e6, "1.23 s"),
        (9e9, "9,000 s"),
    ],
)
def test_times_have_a_unit_that_fits(microseconds: float, text: str) -> None:
    assert duration(microseconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.704, "70 %"), (0.0421, "4.2 %"), (0.0004, "0.04 %"), (0.00001, "below 0.01 %"), (1, "100 %")],
)
def test_shares_are_percentages(share: float, text: str) -> None:
    assert percent(share) == text


def opening(recorded: Recorded) -> list[str]:
    """The paragraph after the head of the report."""
    return render(recorded.judged()).split("\n\n")[1].splitlines()


def test_loading_beside_a_simulated_gpu_is_never_the_headline(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10), recorded.at(LOADER, "batch", 10, ns=7_000_000))
    assert opening(recorded) == [
        "A step makes 1 wait for the device: about 10 us on a GPU (modeled).",
        f"Loading data took the host 700 us of a step here, {BESIDE}: measure that on a GPU.",
        "Fixing 1 finding would save at most about 10 us a step.",
        "How long a step takes on a GPU is not known; with `--gpu-step TIME`, costs are given as shares of it.",
        "Modeled times use the price profile 'nominal' (assumed, not measured).",
    ]


def test_a_finding_about_loading_beside_a_simulated_gpu_comes_last_and_saves_nothing(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Span(1, 10, 1, 16), Recipe("loader-waits", "finding", "waits"), "TL402")
    recorded.process(recorded.at(LOADER, "batch", 10, ns=70_000_000))
    judged = recorded.judged()
    assert judged.verdicts[0].status is Status.CONFIRMED
    assert "Fixing" not in render(judged)


def test_without_a_gpu_the_report_begins_with_copies_and_waits_and_not_with_the_time_of_the_cpu(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES, "TL202")
    copies = recorded.event("upload", MOVE, 20, bytes=1000, pinned=True, non_blocking=False)
    recorded.process(copies, recorded.at([4, 8, 4, 22], "download", 10, non_blocking=False))
    first, *_ = opening(recorded)
    assert first == (
        "A step makes 2 copies to the device, 1 copy to the host and 3 waits for the device, "
        "blocking copies included: about 60 us on a GPU (modeled)."
    )
    found = recorded.judged().answer
    assert found.step_us is None
    assert {part.name for part in found.parts} == {"blocked by copies and reads"}


def test_a_step_that_neither_copies_nor_waits_is_said_to(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process()
    assert opening(recorded) == ["A step copies nothing and never waits for the device."]


def test_with_the_time_of_a_step_on_a_gpu_costs_are_shares_of_it(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10))
    judged = recorded.judged(step=200.0)
    text = render(judged)
    assert "about 10 us on a GPU (modeled; 5 % of a step of 200 us)." in text
    assert "would save at most about 10 us a step (5 % of a step of 200 us)." in text
    assert "1 a step, about 10 us (modeled; 5 % of a step)" in text
    assert "--gpu-step" not in text
    assert judged.verdicts[0].share == pytest.approx(0.05)


def test_the_time_of_a_step_on_a_gpu_refutes_no_wait_of_a_step(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10))
    assert recorded.judged(step=1e6).verdicts[0].status is Status.CONFIRMED


def test_what_is_rare_is_held_against_the_time_of_a_step_on_a_gpu(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(
        recorded.event("sync", ITEM, 40, steady=[20, 0, 0]),
        steps={"count": 400, "unit": "optimizer step", "median_ns": 1, "total_ns": 400},
    )
    assert recorded.judged(step=490.0).verdicts[0].status is Status.CONFIRMED
    refuted = recorded.judged(step=510.0).verdicts[0]
    assert refuted.status is Status.REFUTED
    assert "it happens rarely, and about 0.501 us a step is below 0.1 % of a step" in refuted.reason


def test_a_program_that_does_not_wait_is_told_so(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(mode="cpu")
    assert opening(recorded) == ["A step takes 1 ms, and hardly waits for data."]


def test_waiting_that_is_longer_than_a_median_step_is_an_average(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.at(LOADER, "batch", 10, ns=70_000_000), mode="cpu")
    assert opening(recorded) == ["A step takes 1 ms; it waits for data 7 ms on average, so a few steps wait long."]


def test_on_a_gpu_what_waits_cost_is_the_idle_time_of_profiled_steps(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    other = [1, 0, 1, 3]
    recorded.process(
        recorded.event("sync", ITEM, 10),
        recorded.at(other, "sync", 10),
        **profile(seen(recorded, "sync", ITEM, 4, 1112.0), seen(recorded, "sync", Span(1, 1, 1, 4), 4, 400.0)),
    )
    assert opening(recorded) == [
        "A step takes 1 ms, and hardly waits for data.",
        "The GPU computes nothing for 378 us of a step (38 %, measured) because of copies and waits.",
        "Fixing 1 finding saves at most 278 us a step.",
    ]
    text = render(recorded.judged())
    assert "1 a step, 278 us (measured; 28 % of a step)" in text
    assert "  program.py:1:1: 1 a step, 100 us (measured): 10 synchronizations" in text


def test_what_several_findings_are_about_is_saved_once(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    made = order.read(str(tmp_path))
    named = (Evidence(4, 9, "`.cpu()`"),)
    first = made.findings["0"]._replace(evidence=named)
    both = {"0": first, "1": first._replace(rule="TL302", span=MOVE)}
    reads = READS._replace(span="evidence")
    order.write(replace(made, findings=both, recipes=dict.fromkeys(both, reads)))
    spans = (ITEM, MOVE, Span(4, 9, 4, 16))
    recorded.process(
        *(recorded.event("sync", span, 10) for span in spans),
        **profile(*(seen(recorded, "sync", span, 4, 400.0) for span in spans)),
    )
    assert [verdict.cost for verdict in recorded.judged().verdicts] == [pytest.approx(200.0), pytest.approx(100.0)]
    assert "Fixing 2 findings saves at most 300 us a step." in opening(recorded)


def test_the_parts_of_a_step_add_up_to_it(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES, "TL202")
    recorded.process(
        recorded.event("upload", MOVE, 10, bytes=1000, pinned=True, non_blocking=False),
        recorded.at(LOADER, "batch", 10, ns=4_000_000),
        mode="gpu",
        device="H",
    )
    found = recorded.judged().answer
    assert found.step_us == pytest.approx(sum(part.us for part in found.parts))


def test_without_a_profile_waits_on_a_gpu_are_modeled(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10), mode="gpu", device="H", mark={"ns": 2_500_000})
    assert opening(recorded)[1:3] == [
        "Copies and reads block a step for about 10 us (1 %, modeled).",
        "Fixing 1 finding saves at most about 10 us a step.",
    ]


def test_a_run_that_left_the_simulated_subset_says_nothing_about_steps(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(left={"site": ["", 0, -1, 0, -1], "what": "triton"})
    assert opening(recorded) == ["The program left what can be simulated, so nothing can be said about its steps."]


def test_copies_of_a_flagged_loader_are_priced_once(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, Recipe("pageable-batches", "finding", "copies"), "TL401")
    made = [str(recorded.path.resolve()), 2, 8, 2, 20]
    recorded.process(
        recorded.at([4, 8, 4, 22], "upload", 10, bytes=10**6, pinned=False, non_blocking=False, loader=made),
        recorded.event("batch", MOVE, 10, ns=1000),
    )
    shown = render(recorded.judged())
    assert "TL401 a-rule: 1 a step" in shown
    assert "unflagged" not in shown

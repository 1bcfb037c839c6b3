"""Verdicts from recorded evidence: no torch, no program, only what was written down."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchlint.confirm import budget, compare, evidence, order, prices
from torchlint.confirm.costs import Basis
from torchlint.confirm.order import Order
from torchlint.confirm.places import Place
from torchlint.confirm.result import Result, result
from torchlint.confirm.text import render
from torchlint.confirm.verdict import Status, Verdict
from torchlint.model import Evidence, Finding, Recipe, Severity, Span

SOURCE = "for x in loader:\n    x = x.to(device)\n    total += loss.item()\n    y = x.cpu().to(device)\n"
ITEM = Span(3, 14, 3, 25)
MOVE = Span(2, 9, 2, 21)


class Recorded:
    """Evidence written by hand: one program, one finding, some processes."""

    def __init__(self, folder: Path, span: Span, recipe: Recipe | None, rule: str = "TL301", **more: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.path = folder / "program.py"
        self.path.write_text(SOURCE, encoding="utf-8")
        finding = Finding(rule, "a-rule", "topic", Severity.WARNING, "program.py", span, "message", **more)
        self.order = Order(
            directory=str(folder),
            base=str(folder),
            script="program.py",
            module=None,
            arguments=(),
            findings={"0": finding},
            recipes={"0": recipe},
            files={str(self.path.resolve()): order.digest(str(self.path)) or ""},
        )
        order.write(self.order)
        self._processes = 0

    def event(self, kind: str, span: Span, count: int, **facts: Any) -> dict[str, Any]:
        """An event at a span of characters."""
        return self.at([span.line, span.column - 1, span.end_line, span.end_column - 1], kind, count, **facts)

    def at(self, place: list[int], kind: str, count: int, **facts: Any) -> dict[str, Any]:
        """An event at a place as Python gives it; nine tenths of it happen after the first step."""
        size, ns = facts.pop("bytes", 0), facts.pop("ns", 0)
        steady = facts.pop("steady", [count - count // 10, size - size // 10, ns - ns // 10])
        site = [str(self.path.resolve()), *place]
        return {
            "kind": kind,
            "site": site,
            "count": count,
            "bytes": size,
            "ns": ns,
            "steady": steady,
            "facts": facts,
        }

    def process(self, *events: dict[str, Any], **more: Any) -> None:
        """Write the evidence of one process: ten steps of a millisecond."""
        self._processes += 1
        role, rank = more.pop("role", "main"), more.pop("rank", None)
        mark = {"placed": True, "begun": 10, "ended": 10, "ns": 0, "first": 0, "changed": 0, **more.pop("mark", {})}
        document = {
            "schema": 1,
            "torchlint": "test",
            "run": self.order.run,
            "process": {
                "pid": self._processes,
                "parent": 0,
                "role": role,
                "rank": rank,
                "children": more.pop("children", []),
            },
            "world": None,
            "mode": "sim",
            "device": None,
            "torch": "2.13.0",
            "python": "3.11.0",
            "notes": [],
            "started": 0,
            "wall_ns": 10_000_000,
            "ended": {"how": "finished"},
            "left": None,
            "compiled": False,
            "steps": {"count": 10, "unit": "optimizer step", "median_ns": 1_000_000, "total_ns": 10_000_000},
            "marks": {"0": mark},
            "events": list(events),
            "flags": [],
            "synchronizations": None,
            "switch": None,
            **more,
        }
        target = self.folder / f"evidence-{rank or 'x'}-{self._processes}.json"
        target.write_text(json.dumps(document), encoding="utf-8")

    def judged(self, step: float | None = None, **limits: float) -> Result:
        """Everything that the evidence says, held against a budget and the time of a step on a GPU."""
        made = order.read(str(self.folder))
        price_list = replace(prices.load(prices.DEFAULT), step=step)
        return result(made, evidence.read(str(self.folder), made.run), price_list, limits)

    def verdict(self) -> Verdict:
        """The verdict on the finding."""
        return self.judged().verdicts[0]


READS = Recipe("synchronizations", "evidence", "waits", least=2)
CALLS = Recipe("function-calls", "finding", "calls", functions=("torch.cuda.synchronize",), least=0.5, each="step")


def test_counts_a_step_leave_the_first_step_out(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 20, why="read"))
    found = recorded.verdict()
    assert (found.status, found.count, found.per_step, found.basis) == (Status.CONFIRMED, 20, 2.0, Basis.COUNTED)
    assert found.cost_basis is Basis.MODELED
    assert found.cost == pytest.approx(2 * prices.load("nominal").synchronize)
    assert found.share is None


def test_places_that_a_finding_names_count_as_well(tmp_path: Path) -> None:
    named = (Evidence(4, 9, "`.cpu()`"),)
    recorded = Recorded(tmp_path, ITEM, READS, evidence=named)
    recorded.process(recorded.at([4, 8, 4, 15], "download", 10, non_blocking=False))
    assert recorded.verdict().count == 10


def test_what_happens_at_the_loop_that_makes_the_steps_is_no_part_of_a_finding(tmp_path: Path) -> None:
    recorded = Recorded(
        tmp_path, ITEM, READS, evidence=(Evidence(4, 9, "the loop that makes the steps", context=True),)
    )
    recorded.process(recorded.at([4, 8, 4, 15], "download", 10, non_blocking=False), mark={"begun": 10})
    assert recorded.verdict().status is Status.REFUTED
    assert [spot.line for spot in recorded.judged().hot] == [4]


def test_columns_of_characters_are_not_columns_of_bytes(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, Span(2, 16, 2, 27), READS)
    recorded.path.write_text("x = 1\ntotal = 'ä' , loss.item()\n", encoding="utf-8")
    recorded.process(recorded.at([2, 8, 2, 12], "sync", 10), mark={"begun": 10})
    assert recorded.verdict().status is Status.REFUTED
    recorded.process(recorded.at([2, 16, 2, 27], "sync", 10), mark={"begun": 10})
    assert recorded.verdict().status is Status.CONFIRMED


def test_python_without_columns_is_matched_by_lines(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.at([3, -1, 3, -1], "sync", 10))
    assert recorded.verdict().status is Status.CONFIRMED


def test_measured_time_of_a_gpu_has_a_share(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, Recipe("array-copies", "finding", "copies"), "TL101")
    facts = {"same_dtype": True, "writable": True, "on_host": True}
    recorded.process(recorded.event("array", ITEM, 10, ns=1_000_000, bytes=80, **facts), mode="gpu", device="A GPU")
    found = recorded.verdict()
    assert (found.status, found.basis) == (Status.CONFIRMED, Basis.MEASURED)
    assert found.share == pytest.approx(0.1)


MOVES = Recipe("blocking-uploads", "finding", "waits", least=2)


def test_how_long_a_copy_blocks_is_no_cost_without_a_profile(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES, "TL202")
    facts = {"pinned": True, "non_blocking": False, "bytes": 1000}
    recorded.process(recorded.event("upload", MOVE, 10, ns=1_000_000, **facts), mode="gpu", device="A GPU")
    found = recorded.verdict()
    assert (found.status, found.cost_basis, found.share) == (Status.CONFIRMED, Basis.MODELED, None)
    assert found.reason.endswith("; blocked for 100 us a step, with work that was queued before")
    assert "Modeled times use the price profile" in render(recorded.judged())
    short = Recorded(tmp_path, MOVE, MOVES, "TL202")
    short.process(short.event("upload", MOVE, 10, ns=5_000, **facts), mode="gpu", device="A GPU")
    assert short.verdict().status is Status.CONFIRMED


def profile(*lines: dict[str, Any], steps: int = 4) -> dict[str, Any]:
    """Evidence of a GPU on which steps were profiled that last a millisecond."""
    blocked = {"steps": steps, "ns": steps * 1_000_000, "idle_ns": steps * 500_000, "lines": list(lines)}
    found = {"steps": steps, "copies": [], "seen": {}, "blocked": blocked}
    account = {"explained": 0, "unexplained": 10}
    return {"mode": "gpu", "device": "A GPU", "profiled": found, "synchronizations": account}


def seen(recorded: Recorded, kind: str, span: Span, count: int, us: float, **more: Any) -> dict[str, Any]:
    """A line of a profile: how often something blocked, and how long the device was idle because of all of it."""
    site = recorded.event(kind, span, 1)["site"]
    none = {"mentioned": kind == "sync", "beside": False, "pinned": False, "bytes": 0, "blocked_ns": 1000}
    return {"kind": kind, "site": site, "count": count, "idle_ns": round(us * 1000), **none, **more}


@pytest.mark.parametrize(
    ("us", "status", "words"),
    [
        (1.1, Status.CONFIRMED, "; the GPU computes nothing for 1.1 us a step because of it"),
        (0.9, Status.REFUTED, "but the GPU computes nothing for 0.9 us because of it, 0.09 % of a step, below 0.1 %"),
        (0.0, Status.REFUTED, "below 0.1 %"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "upload"])
def test_what_waits_and_copies_cost_is_the_idle_time_of_profiled_steps(
    tmp_path: Path, kind: str, us: float, status: Status, words: str
) -> None:
    span, recipe = (ITEM, READS) if kind == "sync" else (MOVE, MOVES)
    recorded = Recorded(tmp_path, span, recipe)
    facts = {} if kind == "sync" else {"ns": 5_000_000, "pinned": True, "non_blocking": False}
    event = recorded.event(kind, span, 10, **facts)
    recorded.process(event, **profile(seen(recorded, kind, span, 4, 4 * us)))
    found = recorded.verdict()
    assert (found.status, words in found.reason) == (status, True), found.reason
    assert found.cost == pytest.approx(us)
    assert found.cost_basis is Basis.MEASURED
    assert found.share == pytest.approx(us / 1000)


def test_a_line_that_runs_more_often_than_in_the_profile_costs_more(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 20), **profile(seen(recorded, "sync", ITEM, 4, 400.0)))
    assert recorded.verdict().cost == pytest.approx(200.0)


def test_a_line_that_no_profiled_step_has_reached_is_modeled(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10), **profile(seen(recorded, "sync", MOVE, 4, 400.0)))
    found = recorded.verdict()
    assert (found.status, found.cost_basis, found.share) == (Status.CONFIRMED, Basis.MODELED, None)


def test_asynchronous_copies_cost_nothing_of_what_blocking_ones_cost_at_their_line(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES)
    copies = [recorded.event("upload", MOVE, 10, pinned=True, non_blocking=each) for each in (False, True)]
    recorded.process(*copies, **profile(seen(recorded, "upload", MOVE, 4, 80.0)))
    found = recorded.judged().answer
    assert [part.us for part in found.parts if part.name.startswith("idle")] == [pytest.approx(20.0)]


def test_explicit_waits_cost_what_waits_cost_and_not_how_long_they_take(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, CALLS)
    call = recorded.event("call", ITEM, 10, ns=5_000_000, function="torch.cuda.synchronize")
    recorded.process(call, mode="gpu", device="A GPU")
    assert (recorded.verdict().status, recorded.verdict().cost) == (Status.CONFIRMED, None)
    measured = Recorded(tmp_path / "profiled", ITEM, CALLS)
    call = measured.event("call", ITEM, 10, ns=5_000_000, function="torch.cuda.synchronize")
    wait = measured.event("sync", ITEM, 10)
    measured.process(call, wait, **profile(seen(measured, "sync", ITEM, 4, 80.0)))
    assert measured.verdict().cost == pytest.approx(20.0)


def test_the_time_of_code_that_waits_is_not_its_cost(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, Recipe("evaluations", "finding", "it runs", least=2))
    copies = recorded.event("upload", MOVE, 10, ns=5_000_000, pinned=True, non_blocking=False)
    recorded.process(copies, mode="gpu", device="A GPU", mark={"ns": 5_000_000})
    found = recorded.verdict()
    assert (found.cost_basis, found.share) == (Basis.MODELED, None)


def test_code_whose_waits_cost_nothing_may_still_cost_something_else(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, Recipe("evaluations", "finding", "it runs", least=2))
    copies = recorded.event("upload", MOVE, 10, pinned=True, non_blocking=False)
    recorded.process(copies, **profile(seen(recorded, "upload", MOVE, 4, 0.0)), mark={"ns": 5_000_000})
    assert recorded.verdict().status is Status.CONFIRMED


def test_what_happens_in_fewer_than_one_of_ten_steps_is_refuted_by_its_price(tmp_path: Path) -> None:
    for mode in ("gpu", "sim"):
        recorded = Recorded(tmp_path / mode, ITEM, READS)
        rare = recorded.event("sync", ITEM, 2, steady=[1, 0, 0])
        steps = {"count": 100, "unit": "optimizer step", "median_ns": 1_000_000, "total_ns": 10**8}
        account = {"explained": 0, "unexplained": 2}
        recorded.process(rare, mode=mode, device="H", steps=steps, synchronizations=account)
        found = recorded.verdict()
        assert (found.status, "it happens rarely, and about 0.101 us a step" in found.reason) == (
            Status.REFUTED,
            True,
        ), found.reason


def test_rare_waits_that_cost_more_are_confirmed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES)
    rare = recorded.event("upload", MOVE, 2, steady=[1, 10**8, 0], bytes=10**9, pinned=False, non_blocking=False)
    steps = {"count": 100, "unit": "optimizer step", "median_ns": 1_000_000, "total_ns": 10**8}
    recorded.process(rare, mode="gpu", device="H", steps=steps)
    assert recorded.verdict().status is Status.CONFIRMED


# -- waits that torch only mentions -----------------------------------------------------------------


def test_mentioned_waits_that_were_copies_count_as_copies(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES)
    up = seen(recorded, "upload", MOVE, 8, 40.0, mentioned=True, bytes=512)
    read = seen(recorded, "sync", MOVE, 4, 8.0)
    recorded.process(recorded.event("sync", MOVE, 30), **profile(up, read))
    found = recorded.judged()
    assert (found.verdicts[0].count, found.verdicts[0].bytes) == (20, 1280)
    assert found.verdicts[0].cost == pytest.approx(10.0)
    assert found.totals is not None
    assert (found.totals.uploads, found.totals.synchronizations, found.totals.upload_bytes) == (2.0, 3.0, 128.0)


def test_mentioned_copies_of_a_backward_pass_belong_to_no_finding_at_its_call(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES)
    again = seen(recorded, "upload", MOVE, 4, 40.0, mentioned=True, beside=True, bytes=512)
    recorded.process(recorded.event("sync", MOVE, 10), **profile(again))
    found = recorded.judged()
    assert found.verdicts[0].status is Status.REFUTED
    assert [(spot.kind, spot.count, spot.cost_basis) for spot in found.hot] == [("upload", 10, Basis.MEASURED)]


def test_without_a_profile_mentioned_waits_stay_waits(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, MOVE, MOVES)
    recorded.process(recorded.event("sync", MOVE, 10), mode="gpu", device="A GPU")
    assert recorded.verdict().status is Status.REFUTED


def test_time_in_workers_is_no_share_of_a_step(tmp_path: Path) -> None:
    copies = Recipe("array-copies", "finding", "copies")
    recorded = Recorded(tmp_path, ITEM, copies, "TL101")
    facts = {"same_dtype": True, "writable": True, "on_host": True}
    recorded.process(mode="cpu", mark={"begun": 0})
    recorded.process(recorded.event("array", ITEM, 80, ns=800_000, bytes=80, **facts), role="forked", mode="cpu")
    found = recorded.verdict()
    assert (found.status, found.per_step, found.share, found.basis) == (Status.CONFIRMED, 8.0, None, Basis.MEASURED)


def test_waits_that_were_not_counted_are_unknown(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(mode="gpu", device="A GPU", synchronizations=None)
    found = recorded.verdict()
    assert (found.status, "torch did not report synchronizations" in found.reason) == (Status.UNKNOWN, True)
    account = {"explained": 0, "unexplained": 0}
    counted = Recorded(tmp_path / "counted", ITEM, READS)
    counted.process(mode="gpu", device="A GPU", synchronizations=account)
    assert counted.verdict().status is Status.REFUTED


def test_what_workers_do_is_not_added_to_what_blocks_the_step(tmp_path: Path) -> None:
    copies = Recipe("array-copies", "finding", "copies")
    recorded = Recorded(tmp_path, ITEM, copies, "TL101")
    facts = {"same_dtype": True, "writable": True, "on_host": True}
    recorded.process(recorded.event("array", ITEM, 10, ns=1_000_000, bytes=80, **facts), mode="cpu")
    recorded.process(recorded.event("array", ITEM, 80, ns=80_000_000, **facts), role="forked", mode="cpu")
    found = recorded.verdict()
    assert (found.status, found.count, found.per_step, found.beside) == (Status.CONFIRMED, 90, 1.0, False)
    assert found.cost == pytest.approx(100)
    assert found.share == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("count", "steady", "status", "words"),
    [
        (10, 9, Status.CONFIRMED, "10 synchronizations"),
        (10, 0, Status.REFUTED, "but it does not happen after the first step"),
    ],
)
def test_what_happens_only_once_costs_nothing(
    tmp_path: Path, count: int, steady: int, status: Status, words: str
) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, count, steady=[steady, 0, 0]))
    found = recorded.verdict()
    assert (found.status, words in found.reason) == (status, True), found.reason


def test_a_slow_first_evaluation_is_not_the_cost_of_the_others(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, Recipe("evaluations", "finding", "it runs"))
    recorded.process(mode="cpu", mark={"ns": 10_900_000, "first": 10_000_000})
    assert recorded.verdict().share == pytest.approx(0.1)


def test_ranks_are_merged_and_one_that_is_alone_is_named(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(rank="0")
    recorded.process(recorded.event("sync", ITEM, 20), rank="1")
    found = recorded.verdict()
    assert found.reason.endswith("(only on rank 1)")
    assert found.per_step == 1.0


def test_a_rank_that_is_missing_is_a_gap(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(rank="0", world="2", mark={"begun": 0})
    found = recorded.verdict()
    assert (found.status, "evidence of 1 of 2 ranks is missing" in found.reason) == (Status.UNKNOWN, True)


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({}, Status.NOT_REACHED, "never evaluated"),
        ({"children": [99]}, Status.UNKNOWN, "evidence of 1 of 1 child processes is missing"),
        ({"ended": {"how": "running"}}, Status.UNKNOWN, "was killed"),
        ({"ended": {"how": "steps", "steps": 10}}, Status.UNKNOWN, "ended after 10 steps"),
        ({"compiled": True, "mode": "gpu"}, Status.UNKNOWN, "compiled regions"),
        ({"mark": {"begun": 0, "placed": False}}, Status.UNKNOWN, "cannot be counted"),
        ({"mark": {"begun": 0, "placed": False, "loaded": True}}, Status.UNKNOWN, "cannot be counted"),
        ({"mark": {"begun": 0, "placed": False, "loaded": False}}, Status.NOT_REACHED, "never loaded"),
        ({"mark": {"begun": 0, "placed": False, "loaded": False}, "children": [99]}, Status.UNKNOWN, "missing"),
        ({"mode": "cpu"}, Status.UNKNOWN, "no accelerator"),
    ],
)
def test_not_reached_is_said_only_when_nothing_can_have_been_missed(
    tmp_path: Path, more: dict[str, Any], status: Status, words: str
) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(**{"mark": {"begun": 0}, **more})
    found = recorded.verdict()
    assert (found.status, words in found.reason) == (status, True), found


def test_what_left_the_simulated_subset_gets_no_verdict(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    left = {"site": [str(recorded.path), 1, 0, 1, 3], "what": "CUDA graphs"}
    recorded.process(recorded.event("sync", ITEM, 20), left=left)
    judged = recorded.judged()
    assert judged.verdicts[0].reason == "left the simulated subset at program.py:1: CUDA graphs"
    assert judged.hot == ()
    assert "note: left the simulated subset at program.py:1: CUDA graphs" in render(judged)
    assert "per step" not in render(judged)


def test_what_no_rule_has_flagged_is_ranked_by_cost(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(
        recorded.event("sync", ITEM, 20),
        recorded.at([1, 0, 1, 3], "sync", 10),
        recorded.at([2, 4, 2, 21], "upload", 10, bytes=10**9, pinned=False, non_blocking=False),
        recorded.at([4, 4, 4, 6], "sync", 1, steady=[0, 0, 0]),
    )
    judged = recorded.judged()
    assert [(spot.kind, spot.line, spot.per_step) for spot in judged.hot] == [
        ("upload", 2, 1.0),
        ("synchronization", 1, 1.0),
    ]
    (line,) = (line for line in render(judged).splitlines() if line.startswith("  program.py:2:5: "))
    assert "1 a step, about " in line
    assert line.endswith(" (modeled): 10 copies to the device, 1.0 GB in all")


def test_costs_of_findings_and_lines_add_up_to_the_cost_of_a_step(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS, evidence=(Evidence(4, 5, "read as well"),))
    (first,) = recorded.order.findings.values()
    other = first._replace(rule="TL302", span=Span(4, 5, 4, 12), evidence=(Evidence(1, 10, "read as well"),))
    order.write(replace(recorded.order, findings={"0": first, "1": other}, recipes={"0": READS, "1": READS}))
    recorded.process(
        recorded.event("sync", ITEM, 20),
        recorded.at([4, 4, 4, 11], "sync", 10),
        recorded.at([1, 9, 1, 15], "sync", 10),
        recorded.at([2, 8, 2, 20], "sync", 10),
        recorded.at([2, 4, 2, 5], "upload", 10, bytes=8, pinned=True, non_blocking=True),
        mark={"begun": 10},
        marks={name: {"placed": True, "begun": 10, "ended": 10, "ns": 0, "first": 0, "changed": 0} for name in "01"},
    )
    judged = recorded.judged()
    assert [verdict.status for verdict in judged.verdicts] == [Status.CONFIRMED] * 2
    assert "some of these are the events of TL30" in render(judged)
    costs = [verdict.cost or 0.0 for verdict in judged.verdicts] + [spot.cost for spot in judged.hot]
    assert sum(costs) + judged.rest == pytest.approx(judged.answer.blocked)
    assert all(costs)


def test_copies_that_nothing_waits_for_from_pinned_memory_are_not_listed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(
        recorded.event("sync", ITEM, 20),
        recorded.at([1, 0, 1, 3], "upload", 10, bytes=8, pinned=True, non_blocking=True),
        recorded.at([2, 4, 2, 21], "upload", 10, bytes=8, pinned=True, non_blocking=False),
        recorded.at([4, 4, 4, 6], "upload", 10, bytes=8, pinned=False, non_blocking=True),
    )
    assert sorted(spot.line for spot in recorded.judged().hot) == [2, 4]


def test_what_the_profiler_saw_is_compared_with_what_was_counted(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    copies = [{"name": "Memcpy HtoD (Pinned -> Device)", "kind": "upload", "count": 8, "us": 40.0}]
    waits = [{"name": "cudaStreamSynchronize", "count": 2, "us": 100.0}]
    profiled = {"steps": 4, "copies": copies, "seen": {"upload": 9, "download": 0}, "waits": waits}
    recorded.process(recorded.event("sync", ITEM, 20), mode="gpu", device="A GPU", profiled=profiled)
    text = render(recorded.judged())
    assert "on the host: cudaStreamSynchronize: 0.5 a step, 50 us each" in text
    assert "on the device: Memcpy HtoD (Pinned -> Device): 2 a step, 5 us each" in text
    assert "of uploads, the profiler saw 8 and the instruments 9 in 4 steps" in text


def test_waits_that_torch_does_not_report_are_named(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    account = {"explained": 3, "unexplained": 0}
    recorded.process(recorded.event("sync", ITEM, 20), mode="gpu", device="A GPU", synchronizations=account)
    assert "0 elsewhere; it does not report waits inside CUDA libraries" in render(recorded.judged())


def test_profiled_steps_do_not_count_for_figures_per_step(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    steps = {"count": 10, "unit": "optimizer step", "median_ns": 1_000_000, "total_ns": 10_000_000, "excluded": 4}
    recorded.process(recorded.event("sync", ITEM, 10, steady=[5, 0, 0]), steps=steps)
    assert recorded.verdict().per_step == 1.0


def test_steps_last_as_long_as_on_the_device(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(recorded.event("sync", ITEM, 10), device_steps={"count": 3, "median_ns": 5_000_000})
    assert recorded.judged().run.step_ns == 5_000_000


def test_a_budget_names_the_worst_lines_first(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(
        recorded.event("sync", ITEM, 10),
        recorded.at([2, 4, 2, 21], "upload", 20, bytes=2000, pinned=True, non_blocking=False),
    )
    found = recorded.judged(synchronizations=2, uploads=2, **{"pageable-uploads": 0, "upload-bytes": 199}).excesses
    assert [(excess.key, excess.figure) for excess in found] == [("synchronizations", 3.0), ("upload-bytes", 200.0)]
    assert [figure for _, figure in found[0].lines] == [2.0, 1.0]


def test_a_budget_limits_the_part_of_a_step_in_which_a_gpu_computes_nothing(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    copies = recorded.event("upload", MOVE, 10, pinned=True, non_blocking=False)
    profiled = [seen(recorded, "sync", ITEM, 4, 600.0), seen(recorded, "upload", MOVE, 4, 200.0)]
    recorded.process(recorded.event("sync", ITEM, 10), copies, **profile(*profiled))
    (found,) = recorded.judged(idle=19).excesses
    assert found.figure == pytest.approx(20.0)
    assert [part for _, part in found.lines] == [15.0, 5.0]
    assert found.text.startswith("20 % idle a step, 19 % allowed: ")
    assert recorded.judged(idle=21).excesses == ()


def test_a_budget_of_idle_time_needs_profiled_steps(tmp_path: Path) -> None:
    for mode in ("sim", "gpu"):
        recorded = Recorded(tmp_path / mode, ITEM, READS)
        recorded.process(recorded.event("sync", ITEM, 10), mode=mode)
        assert recorded.judged(synchronizations=1).excesses == ()
        with pytest.raises(budget.BudgetProblem, match="`idle` needs profiled steps"):
            recorded.judged(synchronizations=1, idle=50)


def test_a_run_without_steps_or_accelerator_cannot_be_held_against_a_budget(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(mode="cpu")
    with pytest.raises(budget.BudgetProblem, match="on the CPU"):
        recorded.judged(synchronizations=1)
    nothing = {"count": 0, "unit": "batch", "median_ns": None, "total_ns": 0}
    recorded = Recorded(tmp_path, ITEM, READS)
    recorded.process(steps=nothing)
    with pytest.raises(budget.BudgetProblem, match="had no steps"):
        recorded.judged(synchronizations=1)


def test_a_finding_survives_the_way_through_the_order(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, READS, evidence=(Evidence(1, 2, "why"),), fingerprint="abc")
    assert order.read(str(tmp_path)).findings == recorded.order.findings
    assert order.read(str(tmp_path)).recipes == recorded.order.recipes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "was cut off"),
        ("[]", "another version"),
        ('{"schema": 9}', "another version"),
        ('{"schema": 1}', "is damaged"),
    ],
)
def test_an_order_that_cannot_be_read_is_said(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "order.json").write_text(text, encoding="utf-8")
    with pytest.raises(order.OrderProblem, match=words) as problem:
        order.read(str(tmp_path))
    assert "\n" not in str(problem.value)


def test_profiles_are_checked(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    text = Path(prices.__file__).with_name("profiles").joinpath("nominal.json").read_text(encoding="utf-8")
    own.write_text(text.replace('"nominal"', '"own"').replace("10.0", "20.0"), encoding="utf-8")
    assert (prices.load(str(own)).name, prices.load(str(own)).synchronize) == ("own", 20.0)
    for broken in (text[:-30], "{}", text.replace("31500.0", "0.0")):
        own.write_text(broken, encoding="utf-8")
        with pytest.raises(prices.ProfileProblem):
            prices.load(str(own))


def test_the_static_half_never_loads_torch() -> None:
    import torchlint.cli.companion
    import torchlint.confirm.probes

    assert torchlint.confirm.probes.PROBES
    modules = [
        name for name in sys.modules if name.startswith("torchlint.confirm") or name == "torchlint.cli.companion"
    ]
    assert modules
    for name in modules:
        assert "torch" not in vars(sys.modules[name])


# -- comparisons ---------------------------------------------------------------------------------


def _compared(low: float, ratio: float, high: float) -> compare.Comparison:
    finding = Finding("TL101", "a-rule", "topic", Severity.WARNING, "a.py", ITEM, "message")
    return compare.Comparison(finding, "switch", "gpu", "A GPU", 60, ratio, low, high, 2.0, 1.0, True, True, 20)


@pytest.mark.parametrize(
    ("low", "ratio", "high", "decided"),
    [
        (1.09, 1.13, 1.15, "faster"),
        (1.005, 1.01, 1.02, "no difference"),
        (0.96, 1.08, 1.2, "no difference"),
        (0.8, 0.9, 0.95, "slower"),
        (0.985, 0.99, 0.995, "no difference"),
    ],
)
def test_a_difference_must_be_certain_and_two_percent(low: float, ratio: float, high: float, decided: str) -> None:
    assert _compared(low, ratio, high).decided == decided


def test_an_interval_of_equal_forms_holds_one() -> None:
    import random

    source = random.Random(3)
    missed = 0
    for _ in range(20):
        low, high = compare.interval([source.gauss(0, 0.05) for _ in range(60)])
        missed += not low <= 0 <= high
    assert missed <= 1


@pytest.mark.parametrize(
    ("wanted", "count"), [("TL101", 2), ("a.py:3", 1), ("TL101:a.py:3", 1), ("abc", 1), ("TL999", 0)]
)
def test_a_finding_is_named_without_doubt(wanted: str, count: int) -> None:
    first = Finding("TL101", "a-rule", "topic", Severity.WARNING, "a.py", ITEM, "message", fingerprint="abc")
    second = first._replace(path="b.py", fingerprint="def")
    if count == 1:
        assert compare.chosen([first, second], wanted) is first
        return
    with pytest.raises(compare.ComparisonProblem, match="several fit" if count else "none fits"):
        compare.chosen([first, second], wanted)


def test_places_overlap_by_characters() -> None:
    one = Place("a", 2, 4, 2, 10)
    assert one.overlaps(Place("a", 2, 9, 3, 0))
    assert not one.overlaps(Place("a", 2, 10, 2, 12))
    assert not one.overlaps(Place("b", 2, 4, 2, 10))


# -- rules without a recipe, and probes for any rule -----------------------------------------------


def test_a_rule_without_a_recipe_gets_the_verdict_unknown_and_its_places_are_not_marked(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, None)
    recorded.process(recorded.event("sync", ITEM, 20, why="read"))
    found = recorded.verdict()
    assert (found.status, found.reason) == (Status.UNKNOWN, "its rule does not say how a run would confirm it")
    assert json.loads((tmp_path / order.NAME).read_text(encoding="utf-8"))["marks"] == {}


@pytest.mark.parametrize(
    ("least", "status", "words"),
    [(10, Status.CONFIRMED, "10 evaluations, 500 us each, 1 a step"), (11, Status.REFUTED, "10 evaluations")],
)
def test_evaluations_are_counted_and_timed(tmp_path: Path, least: int, status: Status, words: str) -> None:
    recorded = Recorded(tmp_path, ITEM, Recipe("evaluations", "finding", "it runs", least=least / 10, each="step"))
    recorded.process(mode="gpu", mark={"ns": 5_000_000, "first": 500_000})
    found = recorded.verdict()
    assert (found.status, words in found.reason) == (status, True), found.reason
    if status is Status.CONFIRMED:
        assert (found.basis, found.share) == (Basis.MEASURED, 0.5)


def test_what_takes_too_small_a_part_of_a_step_is_refuted(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, Recipe("evaluations", "finding", "it runs"))
    recorded.process(mode="gpu", mark={"ns": 5_000})
    found = recorded.verdict()
    assert (found.status, "0.056 % of a step, below 0.1 %" in found.reason) == (Status.REFUTED, True), found.reason


def test_calls_of_the_functions_that_a_recipe_names_are_counted(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, CALLS)
    recorded.process(
        recorded.event("call", ITEM, 10, function="torch.cuda.synchronize"),
        recorded.event("call", ITEM, 10, function="torch.zeros"),
    )
    found = recorded.verdict()
    assert (found.status, found.count) == (Status.CONFIRMED, 10)
    assert "10 calls of torch.cuda.synchronize, 1 a step" in found.reason


def test_a_rare_call_is_refuted_and_an_unobserved_one_is_unknown(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, ITEM, CALLS)
    recorded.process(recorded.event("call", ITEM, 1, function="torch.cuda.synchronize"))
    assert recorded.verdict().status is Status.REFUTED
    unseen = Recorded(tmp_path / "unseen", ITEM, CALLS)
    unseen.process()
    assert unseen.verdict().status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("tensors", "graphs", "status"), [(0, 0, Status.UNKNOWN), (10, 0, Status.REFUTED), (10, 4, Status.CONFIRMED)]
)
def test_results_that_carry_a_graph_are_counted(tmp_path: Path, tensors: int, graphs: int, status: Status) -> None:
    recorded = Recorded(tmp_path, ITEM, Recipe("graphs", "finding", "a graph"))
    recorded.process(mark={"tensors": tensors, "graphs": graphs})
    found = recorded.verdict()
    assert found.status is status
    if graphs:
        assert found.count == graphs


def test_an_order_is_read_as_it_was_written(tmp_path: Path) -> None:
    for number, recipe in enumerate(
        (None, READS, CALLS, Recipe("layer-flags", "run", "x", flags=(("enabled", True),)))
    ):
        recorded = Recorded(tmp_path / str(number), ITEM, recipe)
        assert order.read(recorded.order.directory).recipes == recorded.order.recipes

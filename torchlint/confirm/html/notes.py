"""The rest of the page: totals, copies on the device, flags, ranks, what was not seen, and the facts of the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torchlint.base.version import __version__
from torchlint.confirm.case import size, times
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.html.lines import Line
from torchlint.confirm.judge import left
from torchlint.confirm.places import real
from torchlint.confirm.result import Result
from torchlint.confirm.totals import Totals
from torchlint.report.figures import duration, number

_LINES, _SPOTS = 20, 50


class Spot(NamedTuple):
    """A line that no finding covers."""

    place: str
    anchor: str
    what: str
    rate: str
    cost: str
    advice: str


class Skew(NamedTuple):
    """The ranks of a run, and in which of them something happened at a line."""

    ranks: tuple[str, ...]
    lines: tuple[tuple[str, tuple[bool, ...]], ...]


def per_step(result: Result) -> list[tuple[str, list[str]]]:
    """The totals as rows of a table: a figure, and its value in each phase."""
    found = [totals for totals in (result.totals, result.evaluation) if totals is not None]
    rows = {"waiting for data": [duration(totals.waiting_us) for totals in found]}
    if result.run.mode != "cpu":
        rows["copies to the device"] = [_copies(totals) for totals in found]
        rows["copies to the host"] = [_copied(totals.downloads, totals.download_bytes) for totals in found]
        rows["synchronizations, blocking copies included"] = [number(totals.synchronizations) for totals in found]
    return list(rows.items()) if found else []


def _copies(totals: Totals) -> str:
    pageable = f", {number(totals.pageable_uploads)} from pageable memory" if totals.pageable_uploads else ""
    return f"{_copied(totals.uploads, totals.upload_bytes)}{pageable}"


def _copied(count: float, moved: float) -> str:
    return f"{number(count)} ({size(moved)})" if count else "0"


def spots(result: Result, files: Mapping[str, str]) -> list[Spot]:
    """The lines that no finding covers; ``files`` are ids by real path."""
    found = []
    for one in result.hot[:_SPOTS]:
        file = files.get(real(one.path, result.order.base), "") if one.path else ""
        found.append(
            Spot(
                place=f"{one.path}:{one.line}" if one.path else "in a library",
                anchor=f"{file}-{one.line}" if file else "",
                what=one.what,
                rate=f"{number(one.per_step)} {'a step of evaluation' if one.phase == EVALUATION else 'a step'}",
                cost=f"about {duration(one.cost)}" if one.cost else "",
                advice=one.advice,
            )
        )
    return found


def profiled(run: Run) -> list[tuple[str, str, str]]:
    """Copies and waits that the profiler timed: the name, how often in a step, and the time of one."""
    found = run.profiled
    if not found:
        return []
    steps = max(found["steps"], 1)
    timed = [*found["copies"], *found.get("waits", ())]
    return [(one["name"], number(one["count"] / steps), duration(one["us"] / one["count"])) for one in timed]


def flags(result: Result) -> list[str]:
    """The writes of backend flags, in order."""
    return [
        f"after {times(write['layers'], 'layer')}: {write['flag']} = {write['value']} "
        f"at {os.path.basename(write['site'][0]) or 'a library'}:{write['site'][1]}"
        for write in result.run.flags[:_LINES]
    ]


def who(result: Result, hot: Sequence[Line]) -> Skew | None:
    """Lines by rank, in a run with several."""
    ranks = result.run.ranks
    if len(ranks) < 2:
        return None
    rows = [
        (f"{os.path.basename(line.path)}:{line.number}", {rank for event in line.events for rank in event.ranks})
        for line in hot[:_LINES]
        if line.events
    ]
    return Skew(ranks, tuple((place, tuple(rank in seen for rank in ranks)) for place, seen in rows))


def unseen(result: Result) -> list[str]:
    """What the report cannot know."""
    run = result.run
    said = list(run.notes)
    if run.left is not None:
        said.append(left(run))
    elif run.gap is not None:
        said.append(run.gap)
    if run.mode == "sim":
        said.append("The GPU was simulated: nothing is known about kernels, overlap or memory")
    if run.compiled and run.mode == "sim":
        said.append("torch.compile compiles nothing under simulation; compiled regions ran eagerly")
    if run.opaque:
        said.append(f"Operations inside {', '.join(run.opaque)} code were not observed")
    if run.uncounted_waits:
        said.append("Torch did not report synchronizations, so only copies are counted")
    elif run.account is not None:
        said.append(
            f"{run.account['unexplained']} synchronizations happened elsewhere than in the copies that were seen; "
            "waits inside CUDA libraries are not reported"
        )
    if run.mode == "cpu":
        said.append("The run had no accelerator: copies and synchronizations do not exist on the CPU")
    if run.trace["dropped"]:
        said.append(f"{run.trace['dropped']} events of the sampled steps did not fit into the trace")
    return said


def facts(result: Result) -> list[tuple[str, str]]:
    """Versions, the machine, and prices."""
    run, prices = result.run, result.prices
    on = {"gpu": run.device or "GPU", "sim": "a simulated GPU", "cpu": "the CPU"}[run.mode]
    priced = [("prices of modeled times", f"{prices.name}. {prices.source}")] if run.mode != "cpu" else []
    return [
        ("ran on", on),
        ("torch", run.torch),
        ("torchlint", __version__),
        ("took", duration(run.wall_ns / 1000)),
        ("processes", str(run.processes)),
        ("ended", str(run.ended["how"])),
        *priced,
    ]

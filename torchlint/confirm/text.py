"""The report of a run as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from torchlint.confirm.case import size, times
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.judge import left
from torchlint.confirm.result import HotSpot, Result
from torchlint.confirm.totals import Totals
from torchlint.confirm.verdict import Basis, Status, Verdict
from torchlint.model import Finding
from torchlint.report.shared import place, visible

_COLORS = {
    Status.CONFIRMED: "1;31",
    Status.REFUTED: "32",
    Status.NOT_REACHED: "36",
    Status.UNKNOWN: "33",
}
_ORDER = (Status.CONFIRMED, Status.UNKNOWN, Status.NOT_REACHED, Status.REFUTED)
_SPOTS = 10
_RARELY = 0.005
Paint = Callable[[str, str], str]


def render(result: Result, *, color: bool = False) -> str:
    """Verdicts, most severe first; then totals, hot spots and the budget."""
    paint: Paint = (lambda text, code: f"\x1b[{code}m{text}\x1b[0m") if color else (lambda text, _: text)
    lines = [_head(result), *(f"note: {visible(note)}" for note in result.run.notes)]
    if result.run.left is not None:
        lines.append(f"note: {visible(left(result.run))}")
    elif result.run.gap is not None:
        lines.append(f"note: {visible(result.run.gap)}")
    if result.run.compiled and result.run.mode == "sim":
        lines.append("note: torch.compile compiles nothing under simulation; compiled regions ran eagerly")
    lines.append("")
    pairs = sorted(
        zip(result.findings, result.verdicts, strict=True),
        key=lambda pair: (_ORDER.index(pair[1].status), -(pair[1].cost or 0), pair[0].sort_key),
    )
    for finding, verdict in pairs:
        lines += _verdict(finding, verdict, paint)
    if pairs:
        lines.append("")
    lines += [*_totals(result), *_hot(result), *_budget(result, paint), _closing(result)]
    return "\n".join(lines) + "\n"


def _head(result: Result) -> str:
    run = result.run
    on = {"gpu": run.device or "GPU", "sim": "a simulated GPU", "cpu": "the CPU"}[run.mode]
    steps = _steps(run)
    each = f" of {_time(run.step_ns / 1000)}" if run.step_ns and run.mode != "sim" else ""
    ranks = f", {len(run.ranks)} ranks" if len(run.ranks) > 1 else ""
    processes = times(run.processes, "process")
    return visible(f"{result.order.program} on {on} (torch {run.torch}): {steps}{each}, {processes}{ranks}")


def _steps(run: Run) -> str:
    """The steps, and what a step is in a program without an optimizer."""
    if not run.steps:
        return "no steps"
    said = times(run.steps, run.unit)
    if run.main == EVALUATION:
        return f"{said}, each taken as a step, since nothing was trained"
    if run.trainings > 1:
        said += f" in {run.trainings} trainings"
    evaluated = run.phases[EVALUATION]
    return f"{said}, {times(evaluated.count, evaluated.unit)} of evaluation" if evaluated.count else said


def _verdict(finding: Finding, verdict: Verdict, paint: Paint) -> list[str]:
    status = paint(f"{verdict.status.value:<11}", _COLORS[verdict.status])
    at = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    figures = ", ".join(_figures(verdict))
    return [
        f"{status} {at} {visible(finding.rule)} {visible(finding.name)}{f': {figures}' if figures else ''}",
        f"            {visible(verdict.reason)}",
    ]


def _figures(verdict: Verdict) -> list[str]:
    if verdict.status is not Status.CONFIRMED:
        return []
    if verdict.per_step is not None and verdict.count and verdict.per_step < _RARELY:
        return [f"{verdict.count:,} in all, next to none between the first and the last step"]
    step = _step(verdict.phase)
    figures = [f"{verdict.per_step:.3g} {step}"] if verdict.per_step is not None else []
    if verdict.cost is not None and verdict.cost_basis is not None:
        about = "about " if verdict.cost_basis is Basis.MODELLED else ""
        each = f" {step}" if verdict.per_step is not None else ""
        figures.append(f"{about}{_time(verdict.cost)}{each} ({verdict.cost_basis.value})")
    elif verdict.basis is not None:
        figures.append(verdict.basis.value)
    if verdict.share is not None:
        figures.append(f"{verdict.share:.1%} of its time")
    return figures


def _time(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.3g} us"
    milliseconds = microseconds / 1000
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"


def _step(phase: str | None) -> str:
    return "a step of evaluation" if phase == EVALUATION else "a step"


def _totals(result: Result) -> list[str]:
    found, mode = result.totals, result.run.mode
    if found is None:
        return []
    lines = [f"per step: {_per_step(found, mode)}"]
    if result.evaluation is not None:
        lines.append(f"per step of evaluation: {_per_step(result.evaluation, mode)}")
    if mode == "cpu":
        return lines
    if result.run.account is not None:
        lines.append(_account(result))
    lines += _profiled(result)
    if mode == "sim" or any(verdict.cost_basis is Basis.MODELLED for verdict in result.verdicts):
        prices = result.prices
        measured = f"measured on {visible(prices.device)}" if prices.device else "assumed, not measured"
        lines.append(f"modelled times use the price profile {prices.name!r} ({measured})")
    return lines


def _per_step(found: Totals, mode: str) -> str:
    waiting = f"{_time(found.waiting_us)} waiting for data"
    if mode == "cpu":
        return waiting
    counts = [
        f"{found.uploads:.3g} copies to the device ({size(found.upload_bytes)}, {found.pageable_uploads:.3g} pageable)",
        f"{found.downloads:.3g} to the host ({size(found.download_bytes)})",
        f"{found.synchronisations:.3g} synchronisations",
        waiting,
    ]
    return ", ".join(counts)


def _account(result: Result) -> str:
    account = result.run.account or {}
    return (
        f"torch reported {account['explained'] + account['unexplained']} synchronisations: {account['explained']} in "
        f"copies that were seen, {account['unexplained']} elsewhere; it does not report waits inside CUDA libraries "
        "(unique, sorting, allocation and release of memory, barriers of NCCL)"
    )


def _profiled(result: Result) -> list[str]:
    """Copies timed by the profiler, and whether it has seen as many as were counted."""
    found = result.run.profiled
    if found is None:
        return []
    steps = max(found["steps"], 1)
    lines = []
    for copy in found["copies"]:
        often, each = copy["count"] / steps, _time(copy["us"] / copy["count"])
        lines.append(f"on the device: {visible(copy['name'])}: {often:.3g} a step, {each} each")
    for wait in found.get("waits", ()):
        often, each = wait["count"] / steps, _time(wait["us"] / wait["count"])
        lines.append(f"on the host: {visible(wait['name'])}: {often:.3g} a step, {each} each")
    for kind, counted in found["seen"].items():
        timed = sum(copy["count"] for copy in found["copies"] if copy["kind"] == kind)
        if timed != counted:
            both = f"the profiler saw {timed} and the instruments {counted} in {steps} steps"
            lines.append(f"of {visible(kind)}s, {both}")
    return lines


def _hot(result: Result) -> list[str]:
    if not result.hot:
        return []
    shown = [_spot(spot) for spot in result.hot[:_SPOTS]]
    more = len(result.hot) - len(shown)
    return ["unflagged, the costliest first:", *shown, *([f"  and {more} more"] if more else [])]


def _spot(spot: HotSpot) -> str:
    at = place(spot.path, spot.line, spot.column) if spot.path else "in a library, without a line of yours around it"
    copied = f", {size(spot.bytes)} in all" if spot.bytes else ""
    noun = {"upload": "copy to the device", "download": "copy to the host"}.get(spot.kind, spot.kind)
    head, _, tail = noun.partition(" ")
    counted = f"{times(spot.count, head)}{f' {tail}' if tail else ''}"
    return f"  {at}: {counted}, {spot.per_step:.3g} {_step(spot.phase)}{copied}"


def _budget(result: Result, paint: Paint) -> list[str]:
    return [f"{paint('over budget', '1;31')}: {visible(excess.text)}" for excess in result.excesses]


def _closing(result: Result) -> str:
    counts = Counter(verdict.status for verdict in result.verdicts)
    if not counts:
        return "No findings to confirm."
    listed = ", ".join(f"{counts[status]} {status.value}" for status in _ORDER if counts[status])
    return f"{times(len(result.verdicts), 'finding')}: {listed}."

"""The report of a run as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from torchlint.confirm.bursts import Burst
from torchlint.confirm.by_line import in_words
from torchlint.confirm.case import size, times
from torchlint.confirm.costs import Basis
from torchlint.confirm.evidence import EVALUATION, Run
from torchlint.confirm.folded import Pair, folded, places
from torchlint.confirm.judge import left
from torchlint.confirm.result import HotSpot, Result
from torchlint.confirm.totals import Totals
from torchlint.confirm.verdict import Status, Verdict
from torchlint.report.figures import duration, number, percent
from torchlint.report.shared import place
from torchlint.text.visible import visible

_COLORS = {
    Status.CONFIRMED: "1;31",
    Status.REFUTED: "32",
    Status.NOT_REACHED: "36",
    Status.UNKNOWN: "33",
}
_SPOTS, _LINES = 10, 3
_MANY = {"upload": "copies to the device", "download": "copies to the host"}
_INDENT = " " * 12
_RARELY = 0.005
Paint = Callable[[str, str], str]


def render(result: Result, *, color: bool = False, verbose: bool = False) -> str:
    """The answer; then findings and unflagged lines by cost, totals and the budget.

    ``verbose`` shows each finding that is undecided by itself, and the cost of all lines.
    """
    paint: Paint = (lambda text, code: f"\x1b[{code}m{text}\x1b[0m") if color else (lambda text, _: text)
    lines = [head(result), *(f"note: {visible(note)}" for note in result.run.notes)]
    if result.run.left is not None:
        lines.append(f"note: {visible(left(result.run))}")
    elif result.run.gap is not None:
        lines.append(f"note: {visible(result.run.gap)}")
    if result.run.compiled and result.run.mode == "sim":
        lines.append("note: torch.compile compiles nothing under simulation; compiled regions ran eagerly")
    lines += ["", *map(visible, _answer(result)), ""]
    for group in folded(result.pairs, verbose=verbose):
        lines += _verdicts(group, result, paint, verbose=verbose)
    lines += [*([""] if result.verdicts else []), *_hot(result, verbose=verbose)]
    lines += [*_totals(result), *_budget(result, paint), _closing(result)]
    return "\n".join(lines) + "\n"


def head(result: Result) -> str:
    """The program, where it ran, and its steps."""
    run = result.run
    on = {"gpu": run.device or "GPU", "sim": "a simulated GPU", "cpu": "the CPU"}[run.mode]
    steps = _steps(run)
    ranks = f", {len(run.ranks)} ranks" if len(run.ranks) > 1 else ""
    processes = times(run.processes, "process")
    return visible(f"{result.order.program} on {on} (torch {run.torch}): {steps}, {processes}{ranks}")


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


def _answer(result: Result) -> list[str]:
    """What a step takes and waits for, and which prices stand behind modeled times."""
    lines = list(result.answer.sentences)
    modeled = any(verdict.cost_basis is Basis.MODELED for verdict in result.verdicts)
    if modeled or result.answer.modeled:
        prices = result.prices
        measured = f"measured on {prices.device}" if prices.device else "assumed, not measured"
        lines.append(f"Modeled times use the price profile {prices.name!r} ({measured}).")
    return lines


def _verdicts(group: Sequence[Pair], result: Result, paint: Paint, *, verbose: bool) -> list[str]:
    """One finding with its verdict, or several that are undecided for the same reason."""
    finding, verdict = group[0]
    status = paint(f"{verdict.status.value:<11}", _COLORS[verdict.status])
    rule = f"{visible(finding.rule)} {visible(finding.name)}"
    if len(group) > 1:
        return [f"{status} {rule} at {places(group)}", f"{_INDENT}{visible(verdict.reason)}"]
    at = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
    said = figures(verdict, result)
    lines = [f"{status} {at} {rule}{f': {said}' if said else ''}", f"{_INDENT}{visible(verdict.reason)}"]
    return [*lines, *_by_line(verdict, verbose=verbose)]


def _by_line(verdict: Verdict, *, verbose: bool) -> list[str]:
    """The costliest lines of a finding about several, with their part of its cost."""
    if not verdict.lines:
        return []
    return [f"{_INDENT}by line: {in_words(verdict.lines, None if verbose else _LINES)}"]


def figures(verdict: Verdict, result: Result) -> str:
    """How often it happens and what it costs, in words; empty for what is not confirmed."""
    if verdict.status is not Status.CONFIRMED:
        return ""
    if verdict.per_step is not None and verdict.count and verdict.per_step < _RARELY:
        return f"{verdict.count:,} in all, next to none between the first and the last step"
    if verdict.burst is not None:
        return _burst(verdict.burst, verdict.cost, verdict.cost_basis)
    often = [f"{number(verdict.per_step)} {_step(verdict.phase)}"] if verdict.per_step else []
    if verdict.cost is None or verdict.cost_basis is None:
        return ", ".join([*often, verdict.basis.value]) if often and verdict.basis is not None else ""
    about = "about " if verdict.cost_basis is Basis.MODELED else ""
    beside = "in workers, beside the step" if verdict.beside else ""
    basis = "; ".join(filter(None, [verdict.cost_basis.value, share(verdict, result), beside]))
    return ", ".join([*often, f"{about}{duration(verdict.cost)} ({basis})"])


def _burst(found: Burst, cost: float | None, basis: Basis | None) -> str:
    """What happens in few steps: how often it would be a step says nothing, and its cost is an average."""
    if not cost or basis is None:
        return found.text
    about = "about " if basis is Basis.MODELED else ""
    return f"{found.text}, on average {about}{duration(cost)} a step ({basis.value})"


def share(verdict: Verdict, result: Result) -> str:
    """What part of a step a cost is; under simulation, of what copies and reads would cost on a GPU."""
    if verdict.share is not None:
        return f"{percent(verdict.share)} of a step"
    blocked = result.answer.blocked
    if result.run.mode != "sim" or verdict.phase != result.run.main or not verdict.cost or not blocked:
        return ""
    if verdict.cost_basis is not Basis.MODELED:
        return ""
    return f"{percent(min(verdict.cost / blocked, 1.0))} of copies and reads"


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
    return lines


def _per_step(found: Totals, mode: str) -> str:
    waiting = f"{duration(found.waiting_us)} waiting for data"
    if mode == "cpu":
        return waiting
    pageable = f"{number(found.pageable_uploads)} pageable"
    copies = "copy" if found.uploads == 1 else "copies"
    counts = [
        f"{number(found.uploads)} {copies} to the device ({size(found.upload_bytes)}, {pageable})",
        f"{number(found.downloads)} to the host ({size(found.download_bytes)})",
        f"{number(found.synchronizations)} synchronizations",
        waiting,
    ]
    return ", ".join(counts)


def _account(result: Result) -> str:
    account = result.run.account or {}
    return (
        f"torch reported {account['explained'] + account['unexplained']} synchronizations: {account['explained']} in "
        f"copies that were seen, {account['unexplained']} elsewhere; it does not report waits inside CUDA libraries "
        "(unique, sorting, allocation and release of memory, barriers of NCCL)"
    )


def _profiled(result: Result) -> list[str]:
    """Copies timed by the profiler, and whether it has missed some that were counted."""
    found = result.run.profiled
    if found is None:
        return []
    steps = max(found["steps"], 1)
    lines = []
    for copy in found["copies"]:
        often, each = copy["count"] / steps, duration(copy["us"] / copy["count"])
        lines.append(f"on the device: {visible(copy['name'])}: {number(often)} a step, {each} each")
    for wait in found.get("waits", ()):
        often, each = wait["count"] / steps, duration(wait["us"] / wait["count"])
        lines.append(f"on the host: {visible(wait['name'])}: {number(often)} a step, {each} each")
    for kind, counted in found["seen"].items():
        timed = sum(copy["count"] for copy in found["copies"] if copy["kind"] == kind)
        if timed < counted:  # there are more than those that are counted as copies: every read is one
            both = f"the profiler saw {timed} and the instruments {counted} in {steps} steps"
            lines.append(f"of {visible(kind)}s, {both}")
    return lines


def _hot(result: Result, *, verbose: bool) -> list[str]:
    """What no finding is about, and what is left of the cost of copies and waits, so that all lines add up to it."""
    shown = result.hot if verbose else result.hot[:_SPOTS]
    advice = {spot.advice: spot.kind for spot in shown}
    lines = [
        *(["unflagged, the costliest first:"] if shown else []),
        *map(_spot, shown),
        *_further(result.hot[len(shown) :], result.run.main),
        *(f"  {_MANY.get(kind, 'synchronizations')}: {said}" for said, kind in advice.items()),
    ]
    blocked = result.answer.blocked
    if blocked and (left := result.rest) > _RARELY * blocked:
        lines.append(f"the rest of copies and waits, such as asynchronous ones: {duration(left)} a step")
    return [*lines, *([""] if lines else [])]


def _further(spots: Sequence[HotSpot], main: str) -> list[str]:
    """How many more lines there are, and what they cost together."""
    if not spots:
        return []
    cost = sum(spot.cost for spot in spots if spot.phase == main)
    return [f"  and {len(spots)} more (-v lists them){f', {duration(cost)} a step together' if cost else ''}"]


def _spot(spot: HotSpot) -> str:
    at = place(spot.path, spot.line, spot.column) if spot.path else "in a library, without a line of yours around it"
    if spot.burst is not None:
        return f"  {at}: {_burst(spot.burst, spot.cost, spot.cost_basis)}: {spot.what}"
    about = "about " if spot.cost_basis is Basis.MODELED else ""
    cost = f", {about}{duration(spot.cost)} ({spot.cost_basis.value})" if spot.cost else ""
    return f"  {at}: {number(spot.per_step)} {_step(spot.phase)}{cost}: {spot.what}"


def _budget(result: Result, paint: Paint) -> list[str]:
    return [f"{paint('over budget', '1;31')}: {visible(excess.text)}" for excess in result.excesses]


def _closing(result: Result) -> str:
    counts = Counter(verdict.status for verdict in result.verdicts)
    if not counts:
        return "No findings to confirm."
    listed = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
    return f"{times(len(result.verdicts), 'finding')}: {listed}."

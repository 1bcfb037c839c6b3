"""What recordings of runs show, in words and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torchlint.knowledge.observations import KINDS
from torchlint.model import Finding, Observed, Recorded, Recording
from torchlint.report.figures import duration, number, percent
from torchlint.report.shared import listed, place, plural
from torchlint.text.visible import visible, visible_path

_SHOWN = 10  # lines without a finding
_FAR = 1.2  # how much longer than the median the mean step is if some steps were slow
_NAMED = 3  # lines that are not in the linted files


def words(one: Observed) -> str:
    """How often something happened and what it took: ``2 waits for the device a step, 1.2 ms (11 %)``."""
    often = one.times / one.steps if one.steps else one.times
    kind = KINDS.get(one.kind)
    noun = visible(one.kind) if kind is None else kind.one if often == 1 else kind.many
    a_step = " a step of evaluation" if one.evaluates else " a step"
    said = f"{number(often)} {noun}{a_step if one.steps else ''}"
    if one.microseconds:
        said += f", {'about ' if one.modeled else ''}{duration(one.microseconds / (one.steps or 1))}"
        said += f" ({percent(one.share)})" if one.share is not None else "" if one.steps else " in all"
        said += " (modeled)" if one.modeled else ""
    said += _uncertain(one)
    if one.idle_us:
        cause = "it" if often == 1 else "them"
        said += f"; the GPU was idle for {duration(one.idle_us / (one.steps or 1))} because of {cause}"
    return f"{said}: {visible(one.detail)}" if one.detail else said


def seen_lines(finding: Finding) -> list[str]:
    """What runs show at a finding, in words: a line for each kind of event."""
    together: dict[Observed, Observed] = {}
    for one in finding.seen:
        kind = one._replace(line=0, times=0, microseconds=0.0, idle_us=0.0, share=None, columns=None)
        together[kind] = _sum(together[kind], one) if kind in together else one
    return [f"seen in the run: {words(one)}" for one in together.values()]


def _sum(one: Observed, other: Observed) -> Observed:
    share = None if one.share is None or other.share is None else one.share + other.share
    times, microseconds = one.times + other.times, one.microseconds + other.microseconds
    return one._replace(times=times, microseconds=microseconds, idle_us=one.idle_us + other.idle_us, share=share)


def _uncertain(one: Observed) -> str:
    if one.lines:
        return f", at line {', '.join(map(str, one.lines[:-1]))} or {one.lines[-1]}"
    return f", somewhere in `{visible(one.function)}`" if one.function else ""


def section(recorded: Recorded, *, whole: bool = False) -> Iterator[str]:
    """What happened at lines without a finding, the longest first, with advice for its kind.

    ``whole`` says it of all lines, and otherwise only of the first.
    """
    if not recorded.unreported:
        return
    yield "Seen in the run, without a finding:"
    shown = recorded.unreported if whole else recorded.unreported[:_SHOWN]
    for one in shown:
        yield f"  {place(one.path, one.line)}: {words(one)}"
        if one.kind in KINDS:
            yield f"    {KINDS[one.kind].advice}"
    if len(recorded.unreported) > len(shown):
        yield f"  and {plural(len(recorded.unreported) - len(shown), 'more line')} (-v lists them)"


def recordings(recorded: Recorded, *, whole: bool = False) -> Iterator[str]:
    """What each recording says as a whole, which of its lines were not found, and what to record next time."""
    for one in recorded.recordings:
        yield f"{visible_path(one.source)} ({one.form}): {'; '.join(_whole(one))}."
        if one.unmatched:
            named = listed([visible(line) for line in one.unmatched], _NAMED, whole=whole)
            yield f"{plural(len(one.unmatched), 'line')} of it could not be matched with a linted file: {named}."
        yield from one.notes


def _whole(one: Recording) -> Iterator[str]:
    """Its steps, and how often each kind of event happened and what part of the time that took."""
    if one.step_us is not None:
        yield f"{plural(one.steps, 'step')} of {duration(one.step_us)}{_mean(one)}"
    for kind, count, microseconds in one.totals:
        share = microseconds / one.steps_us if one.steps_us else None
        seen = Observed(kind, "", 0, count, one.steps, microseconds, one.source, share=share)
        yield words(seen._replace(evaluates=one.evaluates, modeled=one.modeled))
    if one.idle_us:
        yield _idle(one)
    if one.step_us is None and not one.totals:
        yield "nothing that torchlint looks for"


def _mean(one: Recording) -> str:
    """The mean time of a step, which shares refer to, if it is far from the median."""
    mean = (one.steps_us or 0.0) / one.steps
    return f" ({duration(mean)} on average)" if mean > _FAR * (one.step_us or mean) else ""


def _idle(one: Recording) -> str:
    """How much of the GPU's gaps is due to waits and copies."""
    share = f" ({percent(one.idle_us / one.steps_us)})" if one.steps_us else ""
    said = f"waits and copies left the GPU idle for {duration(one.idle_us / (one.steps or 1))}"
    said += f"{' a step' if one.steps else ''}{share}"
    others = ", and the rest of its gaps is the time that the host takes to give it work"
    return said + (others if any(kind == "idle" for kind, _, _ in one.totals) else "")


def observed_document(one: Observed) -> dict[str, Any]:
    """What was seen at a line, as plain data; ``count`` and ``microseconds`` are those of all steps."""
    values = one._asdict()
    columns = list(one.columns) if one.columns is not None else None
    return {
        "kind": values.pop("kind"),
        "count": values.pop("times"),
        **values,
        "lines": list(one.lines),
        "columns": columns,
    }


def recorded_document(recorded: Recorded) -> dict[str, Any]:
    """What recordings show, as plain data."""
    return {
        "recordings": [_recording(one) for one in recorded.recordings],
        "unreported": [observed_document(one) for one in recorded.unreported],
    }


def _recording(one: Recording) -> dict[str, Any]:
    totals: Sequence[tuple[str, int, float]] = one.totals
    return {
        **one._asdict(),
        "totals": [{"kind": kind, "count": count, "microseconds": time} for kind, count, time in totals],
    }

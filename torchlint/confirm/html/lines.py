"""What happened at each source line: the gutter of the annotated source, and the rows below the strip of steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from markupsafe import Markup

from torchlint.base import paths
from torchlint.confirm.case import size
from torchlint.confirm.costs import Basis
from torchlint.confirm.evidence import EVALUATION, Event
from torchlint.confirm.html.words import NOTABLE
from torchlint.confirm.places import real
from torchlint.confirm.rates import each_step, per_step, phase_of
from torchlint.confirm.result import Result
from torchlint.confirm.totals import blocks
from torchlint.report.figures import duration, number

_LAYERS = ("convolution", "recurrent")


@dataclass
class Line:
    """A source line and its events. Figures are per step of ``phase``; ``us`` is None if no time is known."""

    path: str
    number: int
    events: list[Event] = field(default_factory=list)
    layers: int = 0
    phase: str = ""
    rate: float = 0.0
    bytes: float = 0.0
    us: float | None = None
    basis: Basis = Basis.COUNTED
    weight: float = 0.0

    @property
    def kinds(self) -> set[str]:
        """What happened here."""
        return {event.kind for event in self.events}


def lines(result: Result) -> list[Line]:
    """The lines at which something happened, the costliest first."""
    found: dict[tuple[str, int], Line] = {}
    for event in result.run.events:
        if not event.place.known or event.kind not in (*NOTABLE, *_LAYERS):
            continue
        key = (event.place.path, event.place.line)
        line = found.setdefault(key, Line(*key))
        if event.kind in _LAYERS:
            line.layers += event.count
        else:
            line.events.append(event)
    for line in found.values():
        _judge(line, result)
    for finding, verdict in result.pairs:
        line_of = found.get((real(finding.path, result.order.base), finding.span.line))
        if line_of is None or verdict.cost_basis is not Basis.MEASURED or any(map(blocks, verdict.events)):
            continue
        if verdict.phase == line_of.phase:
            line_of.us, line_of.basis = verdict.cost, Basis.MEASURED
    for line in found.values():
        line.weight = (line.us or 0.0) * result.run.phases[line.phase].count
    return sorted(found.values(), key=lambda line: (-line.weight, line.path, line.number))


def _judge(line: Line, result: Result) -> None:
    """The figures of a line: what blocks the host there or, if that takes longer, work of the host itself."""
    run, costs = result.run, result.costs
    line.phase = phase_of(run, line.events)
    line.rate = max((per_step(run, same, line.phase) or 0.0 for same in _by_kind(line.events)), default=0.0)
    line.bytes = each_step(run, line.events, lambda _, part: part.bytes, line.phase) or 0.0
    waits = costs.of([event for event in line.events if blocks(event)], line.phase)
    timed = [event for event in line.events if not blocks(event) and event.ns]
    measured = (each_step(run, timed, lambda _, part: part.ns, line.phase) or 0.0) / 1000
    if waits is not None and waits.us:
        line.us, line.basis = waits
    if measured > (line.us or 0.0):
        line.us, line.basis = measured, Basis.MEASURED


def _by_kind(events: Iterable[Event]) -> list[list[Event]]:
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.kind, []).append(event)
    return list(groups.values())


def gutter(line: Line) -> Markup:
    """The four cells beside a line: times a step, bytes, time with its basis, and signs for what happened."""
    each = "in each step of evaluation" if line.phase == EVALUATION else "in each step"
    rate = f"{number(line.rate)}\u00d7" if line.rate else ""
    moved = size(line.bytes) if line.bytes >= 0.5 else ""
    about = "~" if line.basis is Basis.MODELED else ""
    spent = f"{about}{duration(line.us)}" if line.us and line.rate else ""
    kind = "ev" if line.phase == EVALUATION else "tr"
    cells = Markup('<b class="{}" title="{}">{}</b><b>{}</b><b class="{}" title="{}">{}</b>').format(
        kind, each, rate, moved, line.basis.value, f"{line.basis.value}, {each}", spent
    )
    return cells + Markup('<b class="signs">{}</b>').format(signs(line))


def signs(line: Line) -> Markup:
    """Arrows for copies, a bar for waits, a flag for layers; hollow and green is good form."""
    shown = [_arrow(event) for event in line.events if event.kind in ("upload", "download")]
    if "sync" in line.kinds:
        shown.append(("wait", "‖", "the host waits for the device"))
    if "batch" in line.kinds:
        shown.append(("batch", "◔", "the program waits for data"))
    if line.layers:
        shown.append(("layers", "⚑", f"{line.layers:,} layers ran under the flags of cuDNN"))
    sign = '<abbr class="{}" title="{}" aria-label="{}">{}</abbr>'
    return Markup("").join(
        Markup(sign).format(name, meaning, meaning, drawn) for name, drawn, meaning in dict.fromkeys(shown)
    )


def _arrow(event: Event) -> tuple[str, str, str]:
    up = event.kind == "upload"
    where = "to the device" if up else "to the host"
    if event.facts.get("pinned") and event.facts.get("non_blocking"):
        return "good", "△" if up else "▽", f"asynchronous copy {where}, from pinned memory"
    memory = "pinned" if event.facts.get("pinned") else "pageable"
    how = "asynchronous" if event.facts.get("non_blocking") else "blocking"
    return "copy", "▲" if up else "▼", f"{how} copy {where}, {memory} memory"


def shown_path(path: str, base: str) -> str:
    """A path as findings name it."""
    return paths.shown(path, base)

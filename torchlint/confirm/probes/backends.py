"""Probes for backend flags, and for the layers that run with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchlint.confirm.case import Case, times, total, where
from torchlint.confirm.evidence import Event
from torchlint.confirm.places import Place
from torchlint.confirm.probes.probe import Probe
from torchlint.confirm.verdict import Verdict

# The order in which the runtime records the flags of a layer.
_FLAGS = ("enabled", "benchmark", "deterministic", "algorithms")
_SHOWN = 4


def _layers(case: Case, *kinds: str) -> list[Event]:
    return [event for event in case.run.of(*kinds) if event.facts["on_device"]]


def _under(case: Case, events: Iterable[Event]) -> list[Event]:
    """The layers that ran with the flags of the recipe."""
    wanted = [(_FLAGS.index(flag), value) for flag, value in case.recipe.flags]
    return [event for event in events if all(event.facts["flags"][index] is value for index, value in wanted)]


def convolution_flags(case: Case) -> Verdict:
    """Convolutions run with certain flags."""
    return _layer_flags(case, _layers(case, "convolution"), "convolution")


def layer_flags(case: Case) -> Verdict:
    """Convolutions or recurrent layers run with certain flags."""
    return _layer_flags(case, _layers(case, "convolution", "recurrent"), "layer")


def _absent(case: Case, reason: str, layers: Sequence[Event] = ()) -> Verdict:
    """Nothing of it was seen, which refutes only if all layers were: those of compiled code and the like are not."""
    if case.run.opaque:
        return case.unknown(f"{reason}; but {' and '.join(case.run.opaque)} code ran, whose layers are not seen")
    return case.refuted(reason, layers)


def _layer_flags(case: Case, layers: list[Event], noun: str) -> Verdict:
    state = " and ".join(f"{flag}={value}" for flag, value in case.recipe.flags)
    if not layers:
        return _absent(case, f"no {noun} ran on the device; {timeline(case)}")
    under = _under(case, layers)
    if not under:
        return _absent(case, f"{times(total(layers), noun)}, none under {state}; {timeline(case)}", layers)
    shapes = len({tuple(event.facts["shape"]) for event in under})
    reason = f"{total(under):,} of {times(total(layers), noun)} ran under {state}, with {times(shapes, 'input shape')}"
    return case.confirmed(under, f"{reason}; {timeline(case)}")


def timeline(case: Case) -> str:
    """The writes of flags in order, each with the number of layers that had run before."""
    names = {flag for flag, _ in case.recipe.flags} or set(_FLAGS)
    writes = [write for write in case.run.flags if write["flag"] in names]
    if not writes:
        return "no flag was written"
    said = [_write(write) for write in writes[:_SHOWN]]
    more = f", and {len(writes) - _SHOWN} more" if len(writes) > _SHOWN else ""
    return f"written: {', '.join(said)}{more}"


def _write(write: Mapping[str, Any]) -> str:
    place = Place(*write["site"])
    at = f" at {os.path.basename(place.path)}:{place.line}" if place.known else ""
    return f"{write['flag']}={write['value']}{at} after {write['layers']} layers"


def convolution_shapes(case: Case) -> Verdict:
    """The input shapes of convolutions keep changing, while cuDNN benchmarks each of them."""
    under = _under(case, _layers(case, "convolution"))
    if not under:
        return _absent(case, f"no convolution ran with the benchmark on; {timeline(case)}")
    by_weight: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for event in under:
        by_weight.setdefault(tuple(event.facts["weight"]), set()).add(tuple(event.facts["shape"]))
    most = max(len(shapes) for shapes in by_weight.values())
    figures = f"{times(most, 'input shape')} for one convolution in {times(total(under), 'call')}"
    if most < case.recipe.least:
        return _absent(case, figures, under)
    return case.confirmed(under, f"{figures}: cuDNN searches anew for each")


def untuned_convolutions(case: Case) -> Verdict:
    """Convolutions run without the benchmark; only a comparison on a GPU shows whether it would help."""
    layers = _layers(case, "convolution")
    under = _under(case, layers)
    if not under:
        return _absent(case, f"no convolution ran with the benchmark off; {timeline(case)}")
    shapes = len({tuple(event.facts["shape"]) for event in under})
    found = f"{times(total(under), 'convolution')} with {times(shapes, 'input shape')} ran without it"
    return case.unknown(f"{found}; whether a step gets faster, `torchlint compare` on a GPU tells")


def unseeded(case: Case) -> Verdict:
    """Deterministic algorithms are enabled, but nothing is seeded."""
    seeds = [event for event in case.run.of("seed") if event.main]
    if seeds:
        return case.refuted(f"torch was seeded at {where(event.place for event in seeds) or 'a place in a library'}")
    layers = [e for e in case.run.of("convolution", "recurrent") if e.facts["flags"][2] or e.facts["flags"][3]]
    if not layers:
        return _absent(case, f"nothing ran under determinism; {timeline(case)}")
    return case.confirmed(layers, f"{times(total(layers), 'layer')} ran under determinism, and torch was never seeded")


def unchanged_flags(case: Case) -> Verdict:
    """A statement that is meant to set a flag, but sets none."""
    if case.mark.changed:
        return case.refuted(f"it changed a flag in {case.mark.changed} of {times(case.mark.begun, 'evaluation')}")
    writes = [event for event in case.own if event.kind == "flag"]
    return case.confirmed(
        writes, f"{times(case.mark.begun, 'evaluation')}, after which every flag was what it was before"
    )


def flag_writes(case: Case) -> Verdict:
    """A call that sets a flag which it does not mention."""
    wanted = dict(case.recipe.flags)
    writes = [e for e in case.of("flag") if wanted.get(e.facts["flag"]) is e.facts["value"]]
    state = " and ".join(f"{flag}={value}" for flag, value in case.recipe.flags)
    if not writes:
        return case.refuted(f"{case.evaluated}, none of which set {state}")
    changed = [event for event in writes if event.facts["before"] is not event.facts["value"]]
    if not changed:
        return case.refuted(f"{state} was set before already", writes)
    under = total(_under(case, case.run.of("convolution", "recurrent")))
    return case.confirmed(
        changed, f"{state} was set here {times(total(changed), 'time')}; {times(under, 'layer')} ran so"
    )


PROBES = {
    "convolution-flags": Probe(convolution_flags, device=True, everywhere=True),
    "layer-flags": Probe(layer_flags, device=True, everywhere=True),
    "convolution-shapes": Probe(convolution_shapes, device=True, everywhere=True),
    "untuned-convolutions": Probe(untuned_convolutions, device=True, everywhere=True, confirms=False),
    "unseeded": Probe(unseeded, everywhere=True),
    "unchanged-flags": Probe(unchanged_flags, notes="flags"),
    "flag-writes": Probe(flag_writes),
}

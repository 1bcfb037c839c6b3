"""Measures what each speed layer of torchlint saves, and what each rule costs.

A speed layer is code that makes torchlint faster and changes no result. Each layer is switched off in a process of its
own, in turn with the ordinary run, and the findings must be the same. The best of several runs counts: processor time
in one process, wall time where several processes or the cache are measured. A layer that saves less than 3 % of a cold
run over timm is removed. The costs of rules are printed, but there is no limit for them. ``--write`` puts the tables
into docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import corpora
from timing import environments, page
from timing.contestants import CORES
from timing.measure import Contestant, Done, Place, measure, pin
from timing.record import BenchmarkError, Row
from timing.switches import LAYERS, ONE_PROCESS, TWO_PROCESSES, WARM, Layer

_ORDINARY, _NO_RULE = "ordinary", "no rule"
_NOTHING_TO_PARSE = "TL001"  # no file is parsed for this rule alone
_RULES = "rules"


@dataclass(frozen=True)
class Run:
    """One way to run torchlint: the name of the layer that is off, if any, and command-line options."""

    name: str
    options: tuple[str, ...]
    layer: str = ""


@dataclass(frozen=True)
class Price:
    """The time of a run in units of the ordinary run's, the number of parsed files, and whether the findings agree."""

    name: str
    ratio: float
    parsed: int
    same: bool


class Bench:
    """Runs torchlint over the same paths in several ways."""

    def __init__(self, paths: Sequence[Path], folder: Path, repeat: int) -> None:
        root = environments.ROOT
        self._place = Place(folder, environments.variables(root / "benchmarks", root))
        self._paths = [str(path.resolve()) for path in paths]
        self._repeat = repeat

    def options(self, kind: str) -> tuple[str, ...]:
        """The options of the ordinary run of a kind."""
        if kind == WARM:
            return ("--jobs", "1", "--cache-dir", str(self._place.folder / "cache"))
        return ("--no-cache", "--jobs", "2" if kind == TWO_PROCESSES else "1")

    def prices(self, runs: Sequence[Run], time_of: Callable[[Row], float]) -> list[Price]:
        """Measure runs side by side; the first one is the ordinary run."""
        reports: dict[str, dict[str, int]] = {}
        rows = measure([self._contestant(run, reports) for run in runs], self._place)
        first = runs[0].name
        return [
            Price(
                run.name,
                ratio=time_of(rows[run.name]) / time_of(rows[first]),
                parsed=reports[run.name]["parsed"],
                same=reports[run.name]["findings"] == reports[first]["findings"],
            )
            for run in runs
        ]

    def _contestant(self, run: Run, reports: dict[str, dict[str, int]]) -> Contestant:
        def worked(done: Done) -> bool:
            if done.status == 0:
                reports[run.name] = json.loads(done.output)
            return done.status == 0 and reports[run.name]["status"] in (0, 1)

        command = (sys.executable, "-m", "timing.switches", run.layer, *run.options, *self._paths)
        return Contestant(run.name, command, self._repeat, worked, warm_up=True)


def layer_prices(bench: Bench, layers: Sequence[Layer] = LAYERS) -> dict[str, list[Price]]:
    """What runs cost without each layer, by kind of run; each list begins with the ordinary run."""
    found = {}
    for kind, time_of in ((ONE_PROCESS, _processor_time), (TWO_PROCESSES, _wall_time), (WARM, _wall_time)):
        options = bench.options(kind)
        off = [Run(layer.name, options, layer.name) for layer in layers if layer.kind == kind]
        if off:
            found[kind] = bench.prices([Run(_ORDINARY, options), *off], time_of)
    return found


def rule_prices(bench: Bench, rules: Sequence[str]) -> list[Price]:
    """What runs cost with all rules, with no rule, and without and with only each rule."""
    options = bench.options(ONE_PROCESS)

    def selecting(name: str, selected: Sequence[str]) -> Run:
        return Run(name, (*options, "--select", ",".join(selected)))

    runs = [selecting(_ORDINARY, rules), selecting(_NO_RULE, [_NOTHING_TO_PARSE])]
    for rule in rules:
        runs.append(selecting(_without(rule), [other for other in rules if other != rule]))
        runs.append(selecting(rule, [rule]))
    return bench.prices(runs, _processor_time)


def default_rules() -> list[str]:
    """The ids of the rules that are on by default."""
    from torchlint.groups import on_by_default
    from torchlint.run.rules import registry

    return [rule.id for rule in registry.load() if on_by_default(rule)]


def _processor_time(row: Row) -> float:
    return min(row.cpu)


def _wall_time(row: Row) -> float:
    return min(row.wall)


def _without(rule: str) -> str:
    return f"without {rule}"


# -- tables --------------------------------------------------------------------------------------


def layer_table(found: Mapping[str, Sequence[Price]]) -> str:
    """How much longer a run takes without each layer."""
    lines = ["| layer that is off | takes longer by | files parsed | measured in |", "| --- | ---: | ---: | --- |"]
    for kind, (ordinary, *off) in found.items():
        if kind == ONE_PROCESS:
            lines.append(f"| none | | {ordinary.parsed} | {kind} |")
        lines += [_layer_line(kind, price) for price in off]
    return "\n".join(lines)


def _layer_line(kind: str, price: Price) -> str:
    parsed = str(price.parsed) if kind == ONE_PROCESS else ""
    differs = "" if price.same else ", **with other findings**"
    return f"| {price.name} | {_percent(price.ratio - 1)} | {parsed} | {kind}{differs} |"


def rule_table(prices: Sequence[Price]) -> str:
    """What each rule adds to the others, and what it costs alone beyond a run without rules."""
    known = {price.name: price for price in prices}
    ordinary, nothing = known[_ORDINARY], known[_NO_RULE]
    lines = [
        "| rule | added to the others | files parsed for it | alone | files parsed |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| all rules | | | {_percent(1)} | {ordinary.parsed} |",
        f"| no rule | | | {_percent(nothing.ratio)} | {nothing.parsed} |",
    ]
    for price in prices:
        rest = known.get(_without(price.name))
        if rest is not None:
            added, alone = _percent(1 - rest.ratio), _percent(price.ratio - nothing.ratio)
            lines.append(f"| {price.name} | {added} | {ordinary.parsed - rest.parsed} | {alone} | {price.parsed} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def tables(found: Mapping[str, Sequence[Price]]) -> str:
    """All tables, with headings."""
    return "\n\n".join(_sections(found))


def _sections(found: Mapping[str, Sequence[Price]]) -> Iterator[str]:
    layers = {kind: prices for kind, prices in found.items() if kind != _RULES}
    if layers:
        yield f"### Layers\n\n{layer_table(layers)}"
    if _RULES in found:
        yield f"### Rules\n\n{rule_table(found[_RULES])}"


# -- the command line ----------------------------------------------------------------------------


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", help="what to lint (default: timm)")
    parser.add_argument("--cache", type=Path, default=corpora.default_cache(), help="where corpora live")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each row (default: %(default)s)")
    parser.add_argument("--only", choices=("layers", _RULES), help="measure one of the two tables")
    parser.add_argument("--layer", action="append", help="only layers with this in their names; may be repeated")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/speed.md")
    options = parser.parse_args(argv)
    if options.write and (options.only or options.layer or options.paths):
        parser.error("--write needs all measurements, over timm")
    return options


def _measured(options: argparse.Namespace) -> dict[str, list[Price]]:
    paths = options.paths or [corpora.fetch("timm", options.cache).path]
    layers = [layer for layer in LAYERS if not options.layer or any(part in layer.name for part in options.layer)]
    found: dict[str, list[Price]] = {}
    pin(CORES)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(paths, Path(folder), options.repeat)
        if options.only != _RULES:
            found |= layer_prices(bench, layers)
        if options.only != "layers" and not options.layer:
            found[_RULES] = rule_prices(bench, default_rules())
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print the tables. 1 if a layer changes findings, 2 if something could not be measured."""
    options = _arguments(argv)
    try:
        found = _measured(options)
    except (BenchmarkError, corpora.CorpusError) as problem:
        print(f"layers: {problem}", file=sys.stderr)
        return 2
    print(tables(found))
    if options.json:
        document = {name: [asdict(price) for price in prices] for name, prices in found.items()}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.write:
        page.write("layers", tables(found))
    return 0 if all(price.same for kind in found if kind != _RULES for price in found[kind]) else 1


if __name__ == "__main__":
    raise SystemExit(main())

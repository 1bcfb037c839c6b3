"""What each layer of torchlint whose only purpose is speed buys, and what each rule costs.

Every layer is switched off in a process of its own, which takes turns with the ordinary run; both must find the same.
The best of several runs counts: processor time in one process, wall time where several processes or the cache are
what is measured. A layer that buys less than 3 % of a cold run over timm is not worth its code. The prices of rules
are printed, not judged. ``--write`` puts the tables into docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import corpora
from timing import page
from timing.contestants import CORES
from timing.environments import ROOT
from timing.measure import Contestant, Done, Place, measure, pin
from timing.record import BenchmarkError, Row
from timing.switches import ALONE, LAYERS, TWO, WARM, Layer

#: What a layer has to buy, in percent of a cold run over timm.
WORTH = 3
_ORDINARY = "all"
# A rule for which no file has to be parsed: what is left then is not the price of any rule.
_NONE = "TL001"


@dataclass(frozen=True)
class Run:
    """One way to lint: a layer that is off, if any, and options."""

    name: str
    options: tuple[str, ...]
    layer: str = ""


@dataclass(frozen=True)
class Price:
    """What a run takes beside the ordinary one (1: as long), how many files it parsed, and whether it found the same."""

    name: str
    ratio: float
    parsed: int
    same: bool


class Bench:
    """What is linted, where processes run, and how often."""

    def __init__(self, paths: Sequence[Path], folder: Path, repeat: int) -> None:
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "benchmarks"), str(ROOT)))}
        self._place, self._repeat = Place(folder, variables), repeat
        self._paths = [str(path.resolve()) for path in paths]

    def options(self, kind: str) -> tuple[str, ...]:
        """The options of an ordinary run of a kind."""
        if kind == WARM:
            return ("--jobs", "1", "--cache-dir", str(self._place.folder / "cache"))
        return ("--no-cache", "--jobs", "2" if kind == TWO else "1")

    def prices(self, runs: Sequence[Run], best: Callable[[Row], float]) -> list[Price]:
        """Measure runs beside the first of them, which is the ordinary one."""
        did: dict[str, dict[str, object]] = {}
        rows = measure([self._contestant(run, did) for run in runs], self._place)
        first = runs[0].name
        return [
            Price(
                run.name,
                best(rows[run.name]) / best(rows[first]),
                int(str(did[run.name]["parsed"])),
                did[run.name]["findings"] == did[first]["findings"],
            )
            for run in runs
        ]

    def _contestant(self, run: Run, did: dict[str, dict[str, object]]) -> Contestant:
        def worked(done: Done) -> bool:
            if done.status == 0:
                did[run.name] = json.loads(done.output)
            return done.status == 0 and did[run.name]["status"] in (0, 1)

        command = (sys.executable, "-m", "timing.switches", run.layer, *run.options, *self._paths)
        return Contestant(run.name, command, self._repeat, worked, warm_up=True)


def layers(bench: Bench, wanted: Sequence[Layer] = LAYERS) -> dict[str, list[Price]]:
    """What each kind of run takes without a layer; each list begins with the ordinary run."""
    found = {}
    for kind, best in ((ALONE, _processor), (TWO, _wall), (WARM, _wall)):
        options = bench.options(kind)
        off = [Run(layer.name, options, layer.name) for layer in wanted if layer.run == kind]
        if off:
            found[kind] = bench.prices([Run(_ORDINARY, options), *off], best)
    return found


def rules(bench: Bench, ids: Sequence[str]) -> list[Price]:
    """What a run takes with all rules, with none, without each and with each alone."""
    options = bench.options(ALONE)

    def selecting(name: str, chosen: Sequence[str]) -> Run:
        return Run(name, (*options, "--select", ",".join(chosen)))

    runs = [selecting(_ORDINARY, ids), selecting("none", [_NONE])]
    for rule in ids:
        runs.append(selecting(f"without {rule}", [other for other in ids if other != rule]))
        runs.append(selecting(rule, [rule]))
    return bench.prices(runs, _processor)


def default_rules() -> list[str]:
    """The ids of the rules that are on by default."""
    from torchlint.run import registry

    return [rule.id for rule in registry.load() if rule.default]


def _processor(row: Row) -> float:
    return min(row.cpu)


def _wall(row: Row) -> float:
    return min(row.wall)


# -- tables --------------------------------------------------------------------------------------


def layer_table(found: dict[str, list[Price]]) -> str:
    """What each layer buys: how much longer a run takes without it."""
    lines = ["| layer that is off | takes longer by | files parsed | measured |", "| --- | ---: | ---: | --- |"]
    for kind, (ordinary, *off) in found.items():
        lines.append(f"| none | | {ordinary.parsed or ''} | {kind} |")
        lines += [_layer_line(price, kind) for price in off]
    return "\n".join(lines)


def _layer_line(price: Price, kind: str) -> str:
    said = "" if price.same else ", **finds something else**"
    parsed = "" if kind != ALONE else str(price.parsed)
    return f"| {price.name} | {_percent(price.ratio - 1)} | {parsed} | {kind}{said} |"


def rule_table(prices: Sequence[Price]) -> str:
    """What each rule adds to the others, and what it takes alone beyond a run without rules."""
    by_name = {price.name: price for price in prices}
    everything, nothing = by_name[_ORDINARY], by_name["none"]
    lines = [
        "| rule | adds to the others | parses for it alone | takes alone | parses |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| all | | | {_percent(everything.ratio)} | {everything.parsed} |",
        f"| none | | | {_percent(nothing.ratio)} | {nothing.parsed} |",
    ]
    for price in prices:
        without = by_name.get(f"without {price.name}")
        if without is not None:
            added, files = _percent(1 - without.ratio), everything.parsed - without.parsed
            alone = _percent(price.ratio - nothing.ratio)
            lines.append(f"| {price.name} | {added} | {files} | {alone} | {price.parsed} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _tables(found: dict[str, list[Price]]) -> Iterator[str]:
    of_rules = found.get("rules")
    of_layers = {kind: prices for kind, prices in found.items() if kind != "rules"}
    if of_layers:
        yield f"### Layers\n\n{layer_table(of_layers)}"
    if of_rules:
        yield f"### Rules\n\n{rule_table(of_rules)}"


# -- the command line ----------------------------------------------------------------------------


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", help="what is linted (default: timm)")
    parser.add_argument("--cache", type=Path, default=corpora.default_cache(), help="where corpora live")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each row (%(default)s)")
    parser.add_argument("--only", choices=("layers", "rules"), help="one of the tables")
    parser.add_argument("--layer", action="append", default=[], help="only layers with this in their names")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/speed.md")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write them if asked; 2 when something could not be measured, 1 if findings differ."""
    options = _arguments(argv)
    chosen = [layer for layer in LAYERS if not options.layer or any(words in layer.name for words in options.layer)]
    found: dict[str, list[Price]] = {}
    try:
        paths = options.paths or [corpora.fetch("timm", options.cache).path]
        pin(CORES)
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(paths, Path(folder), options.repeat)
            if options.only != "rules":
                found |= layers(bench, chosen)
            if options.only != "layers":
                found["rules"] = rules(bench, default_rules())
    except (BenchmarkError, corpora.CorpusError, subprocess.CalledProcessError) as problem:
        print(f"layers: {problem}", file=sys.stderr)
        return 2
    text = "\n\n".join(_tables(found))
    print(text)
    if options.json:
        document = {name: [asdict(price) for price in prices] for name, prices in found.items()}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.write:
        page.write(text, page.LAYERS)
    return 0 if all(price.same for name, prices in found.items() if name != "rules" for price in prices) else 1


if __name__ == "__main__":
    raise SystemExit(main())

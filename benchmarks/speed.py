"""Measures torchlint's speed, compared with other linters, and with just reading or parsing the same files.

It times whole processes including start-up, in alternating order, on two processors, after reading all files once.
Every linter, and torchlint as installed by pre-commit, has its own environment in the cache folder, which this script
creates. ``--write`` stores the measurements in benchmarks/results.json, with the commit that was measured, and writes
the tables of docs/speed.md; suites that were not measured keep their figures, unless too many commits have followed.
``--render`` only writes the tables.
``--check`` compares one ratio with the stored one, and warns. ``--age`` fails if a stored measurement is too old.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import corpora
from timing import check, commits, environments, page, record, table
from timing.contestants import CORES, Bench
from timing.measure import Place, pin
from timing.record import BenchmarkError, Suite
from timing.suites import SUITES

# : The minimum number of runs for a figure in the documentation.
_ENOUGH = 5
_CHECK_RUNS = 3


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tree",
        choices=(*SUITES, "all"),
        action="append",
        help="what to measure: a tree, or a commit of three files; may be repeated (default: all)",
    )
    parser.add_argument("--cache", type=Path, default=corpora.default_cache(), help="where corpora and peers live")
    parser.add_argument("--repeat", type=_positive, help=f"runs of each row (default: {_ENOUGH})")
    parser.add_argument(
        "--peer-repeat", type=int, default=3, help="runs of the peers that take minutes, 0 for none (%(default)s)"
    )
    parser.add_argument("--in-place", action="store_true", help="run this checkout with this Python, install nothing")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="keep the measurements, and write the tables")
    what.add_argument("--render", action="store_true", help="write the tables from the kept measurements")
    what.add_argument("--check", action="store_true", help="compare one ratio with the kept one, in place")
    what.add_argument("--age", action="store_true", help="fail if too many commits have followed a measurement")
    options = parser.parse_args(argv)
    if options.write and (options.repeat or _ENOUGH) < _ENOUGH:
        parser.error(f"--write: a median of fewer than {_ENOUGH} runs is not for the page")
    options.cache = options.cache.resolve()
    return options


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs")
    return int(text)


def _age() -> int:
    """Say how old the kept measurements are; 1 if one of them is too old."""
    kept = {suite.commit for suite in record.load().values()}
    for commit, age in commits.ages(kept).items():
        said = "which is not known here" if age is None else f"which {age} commits have followed"
        print(f"speed: docs/speed.md shows measurements of {commit or 'no known commit'}, {said}")
    problem = commits.problem(kept)
    if problem:
        print(f"speed: {problem}; run `python benchmarks/speed.py --write`", file=sys.stderr)
    return int(bool(problem))


def _bench(options: argparse.Namespace, scratch: Path) -> Bench:
    in_place = options.in_place or options.check
    variables = environments.variables(environments.ROOT) if in_place else environments.variables()
    python = Path(sys.executable) if in_place else environments.own(options.cache) / "python"
    repeat = options.repeat or (_CHECK_RUNS if options.check else _ENOUGH)
    commit = commits.measured() if options.write else ""
    return Bench(python, Place(scratch, variables), options.cache, repeat, options.peer_repeat, commit)


def _of_late(kept: Mapping[str, Suite]) -> dict[str, Suite]:
    """The suites whose measurements are not too old to be shown."""
    return {name: suite for name, suite in kept.items() if not commits.problem([suite.commit])}


def _measure(bench: Bench, wanted: Sequence[str], *, keep: bool) -> None:
    """Measure one suite after the other; completed suites are kept if a later one fails."""
    fresh: dict[str, Suite] = {}
    for name in wanted:
        print(f"{name}:", file=sys.stderr)
        fresh[name] = SUITES[name](bench)
        if keep:
            record.save({**_of_late(record.load()), name: fresh[name]})
            page.write("speed", table.page(record.load()))
    print(table.page(fresh))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and write them if requested; 2 if a measurement failed."""
    options = _arguments(argv)
    try:
        if options.age:
            return _age()
        if options.render:
            page.write("speed", table.page(record.load()))
            return 0
        cores = pin(CORES)
        with tempfile.TemporaryDirectory() as scratch:
            bench = _bench(options, Path(scratch))
            if options.check:
                print(check.verdict(check.measured(bench), cores, record.load()))
                return 0
            given = options.tree or ["all"]
            _measure(bench, [name for name in SUITES if name in given or "all" in given], keep=options.write)
    except (BenchmarkError, corpora.CorpusError, subprocess.CalledProcessError) as problem:
        print(f"speed: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

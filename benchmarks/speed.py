"""How long torchlint takes, beside TorchFix and beside merely parsing the same files.

Whole processes are timed, start-up included, in alternating order, after one untimed reading of all files.
torchlint runs without its cache unless the row says otherwise. TorchFix lives in an environment of its own,
which this script makes, because it wants an older libcst. ``--write`` puts the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import corpora

PAGE = Path(__file__).resolve().parent.parent / "docs" / "speed.md"
BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"
TORCHFIX = "0.7.0"
OUR_VERSIONS = "import importlib.metadata as m, torchlint; print(torchlint.__version__, m.version('libcst'))"
THEIR_VERSIONS = "import importlib.metadata as m; print(m.version('torchfix'), m.version('libcst'))"
PARSE = """
import ast, pathlib, sys, warnings
warnings.simplefilter("ignore")
count = 0
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        continue
    count += 1
print(count)
"""


class BenchmarkError(Exception):
    """A tool that did not do its work, so that its time would mean nothing."""


@dataclass(frozen=True)
class Contestant:
    """One row of the table: a command, how often it runs, and how its output proves that it worked."""

    name: str
    command: tuple[str, ...]
    repeat: int
    worked: Callable[[subprocess.CompletedProcess[str]], bool]
    warm_up: bool = False


@dataclass
class Times:
    """Wall and processor seconds of every run of one contestant."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def torchfix_environment(cache: Path) -> Path:
    """The Python of an environment that holds TorchFix, made when it is missing."""
    folder = cache / f"torchfix-{TORCHFIX}-venv"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    marker = folder / "complete"
    if not marker.exists():
        print(f"installing TorchFix {TORCHFIX} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", f"torchfix=={TORCHFIX}"], check=True)
        marker.touch()
    return python


def contestants(tree: Path, options: argparse.Namespace, scratch: Path) -> list[Contestant]:
    """The commands to compare over one folder; torchlint as most people run it comes first."""
    lint = (sys.executable, "-m", "torchlint", "check", "--isolated", "--output-format", "json")
    cold, cached = (*lint, "--no-cache"), (*lint, "--cache-dir", str(scratch / "cache"))
    times = options.repeat
    rows = [
        Contestant("torchlint", (*cold, str(tree)), times, _linted),
        Contestant("torchlint --jobs 1", (*cold, "--jobs", "1", str(tree)), times, _linted),
        Contestant("torchlint, cache filled", (*cached, str(tree)), times, _linted, warm_up=True),
        Contestant("ast.parse, one process", (sys.executable, "-c", PARSE, str(tree)), times, _parsed),
    ]
    if options.peer_repeat:
        python = str(torchfix_environment(options.cache))
        command = (python, "-m", "torchfix", "--select", "ALL", str(tree))
        rows.append(Contestant(f"TorchFix {TORCHFIX}", command, options.peer_repeat, _torchfix_checked))
    return rows


def measure(rows: Sequence[Contestant]) -> dict[str, Times]:
    """Run every contestant as often as it asks, turn and turn about."""
    times = {row.name: Times() for row in rows}
    for row in rows:
        if row.warm_up:
            _run(row)
    for turn in range(max(row.repeat for row in rows)):
        for row in rows if turn % 2 == 0 else reversed(rows):
            if turn < row.repeat:
                wall, cpu = _run(row)
                times[row.name].wall.append(wall)
                times[row.name].cpu.append(cpu)
                print(f"{row.name}: {wall:.2f} s, processor {cpu:.2f} s", file=sys.stderr)
    return times


def _run(row: Contestant) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(row.command, capture_output=True, text=True, encoding="utf-8", check=False)
    wall, after = time.perf_counter() - start, os.times()
    if not row.worked(done):
        raise BenchmarkError(f"{row.name} ended with {done.returncode}: {(done.stderr or done.stdout)[-1000:].strip()}")
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return wall, cpu


def _linted(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode in (0, 1) and '"schema"' in done.stdout


def _parsed(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == 0 and int(done.stdout) > 0


def _torchfix_checked(done: subprocess.CompletedProcess[str]) -> bool:
    return re.search(r"Finished checking [1-9]\d* files", done.stderr) is not None


def table(rows: Sequence[Contestant], times: dict[str, Times]) -> str:
    """The measurements in Markdown, each row beside the first."""
    first = statistics.median(times[rows[0].name].wall)
    lines = [
        "| what runs | wall, median | fastest to slowest | processor | times torchlint | runs |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        wall, cpu = times[row.name].wall, times[row.name].cpu
        median = statistics.median(wall)
        lines.append(
            f"| {row.name} | {median:.2f} s | {min(wall):.2f} to {max(wall):.2f} s "
            f"| {statistics.median(cpu):.2f} s | {median / first:.2f} | {len(wall)} |"
        )
    return "\n".join(lines)


def caption(label: str, tree: Path, options: argparse.Namespace) -> str:
    """What was measured, where, with which versions, when."""
    files = list(tree.rglob("*.py"))
    size = sum(path.stat().st_size for path in files) / 1e6
    today = datetime.datetime.now(datetime.timezone.utc).date()
    ours, parser = _versions(sys.executable, OUR_VERSIONS)
    said = f"torchlint {ours} (libcst {parser})"
    if options.peer_repeat:
        theirs, parser = _versions(str(torchfix_environment(options.cache)), THEIR_VERSIONS)
        said += f", TorchFix {theirs} (libcst {parser}, `--select ALL`)"
    return (
        f"{label}: {len(files)} files, {size:.1f} MB. {said}. {platform.system()} {platform.machine()}, "
        f"{_cores()} cores, {platform.python_implementation()} {platform.python_version()}. {today}."
    )


def _versions(python: str, code: str) -> list[str]:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write(text: str, page: Path = PAGE) -> None:
    """Put the text between the markers of the page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchmarkError(f"{page} lacks {BEGIN} or {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="timm", help="a corpus of corpora.py (%(default)s)")
    parser.add_argument("--path", type=Path, help="measure over this folder instead of a corpus")
    parser.add_argument("--cache", type=Path, default=corpora.default_cache(), help="where corpora and TorchFix live")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each row (%(default)s)")
    parser.add_argument("--peer-repeat", type=int, default=3, help="runs of TorchFix, 0 for none (%(default)s)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, write it if asked; 2 when something could not be measured."""
    options = _arguments(argv)
    try:
        corpus = None if options.path else corpora.fetch(options.corpus, options.cache)
        tree = corpus.path if corpus else options.path
        label = f"{corpus.name} {corpus.version}" if corpus else tree.name
        for path in tree.rglob("*.py"):
            path.read_bytes()
        with tempfile.TemporaryDirectory() as scratch:
            rows = contestants(tree, options, Path(scratch))
            text = f"{caption(label, tree, options)}\n\n{table(rows, measure(rows))}"
        print(text)
        if options.write:
            write(text)
    except (BenchmarkError, corpora.CorpusError, subprocess.CalledProcessError) as problem:
        print(f"speed: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

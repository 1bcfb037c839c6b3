"""Measures ``torchlint scan`` beside plain runs over the same files, and compares what they find.

``python benchmarks/scan.py`` puts the eleven packages of ``corpora.py`` into one Parquet file, lints each package by
itself, scans the file with one and with two processes, and fails unless all findings are the same. It prints a table in
Markdown (docs/scan.md). ``--repositories FOLDER`` takes the folders in this one instead. ``--megabytes 2000`` only
scans, and so much of the standard library under many names, for the peak memory of all processes. Processor time and
memory are those of the command and all processes below it, sampled from ``/proc``, so this needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from corpora import PACKAGES, default_cache, fetch

_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY = 0.2  # seconds between samples
_FILE = 200_000_000  # bytes of code in one Parquet file
_KEPT = (".py", ".pyw", ".ipynb")


class Cost(NamedTuple):
    """What a command took: wall-clock and processor seconds, and the peak memory of all its processes in bytes."""

    wall: float
    processor: float
    peak: int


class _Sampler:
    """Adds up the processor time and memory of a process and all below it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._times: dict[tuple[int, str], float] = {}
        self.peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            below, memory = {self._pid}, 0
            for pid, parent, started, seconds in sorted(_processes()):
                if pid in below or parent in below:
                    below.add(pid)
                    self._times[pid, started] = seconds
                    memory += _memory(pid)
            self.peak = max(self.peak, memory)

    def end(self) -> float:
        self._ended.set()
        self._thread.join()
        return sum(self._times.values())


def _processes() -> Iterator[tuple[int, int, str, float]]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(folder.name), int(fields[1]), fields[19], (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(pid: int) -> int:
    """The proportional set size: shared pages count once in all."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def run(*arguments: str, folder: Path | None = None, output: Path | None = None) -> Cost:
    """Run torchlint, which may find something; its standard output goes to a file."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors, (output or Path(os.devnull)).open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "torchlint", *arguments], cwd=folder, stdout=out, stderr=errors
        )
        sampler = _Sampler(process.pid)
        status = process.wait()
        wall = time.perf_counter() - began
        processor = sampler.end()
        errors.seek(0)
        said = errors.read()
    if status not in (0, 1) or "Traceback" in said:
        raise SystemExit(f"torchlint {' '.join(arguments)} ended with status {status}: {said[-2000:]}")
    return Cost(wall, processor, sampler.peak)


def make(sources: list[tuple[str, Path]], megabytes: int, folder: Path) -> tuple[int, int]:
    """Write folders as a data set: each once, or again and again until there is enough.

    Returns the number of repositories, and their bytes. Copies differ by a comment at the end of every file.
    """
    (folder / "data").mkdir(parents=True)
    total = count = 0
    rows: list[dict[str, Any]] = []
    held = 0
    while count < len(sources) or total < megabytes * 1_000_000:
        name, source = sources[count % len(sources)]
        copy = count // len(sources)
        for file in _files(source):
            content = file.read_bytes() + (f"\n# {copy}\n".encode() if copy else b"")
            path = file.relative_to(source).as_posix()
            rows.append({"repo": f"{name}-{copy}" if copy else name, "path": path, "content": content})
            held += len(content)
        count += 1
        if held > _FILE:
            _write(rows, folder / "data" / f"{count:05}.parquet")
            total, held, rows = total + held, 0, []
    if rows:
        _write(rows, folder / "data" / f"{count:05}.parquet")
    return count, total + held


def _files(source: Path) -> list[Path]:
    """The files of a folder that are linted, without packages installed below the standard library."""
    found = (file for file in source.rglob("*") if file.suffix in _KEPT and file.is_file())
    return sorted(file for file in found if "site-packages" not in file.parts)


def _write(rows: list[dict[str, Any]], file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=1000)


def unpack(folder: Path) -> Path:
    """The data set as a tree of files."""
    import pyarrow.parquet as pq

    for part in sorted((folder / "data").iterdir()):
        for row in pq.read_table(part).to_pylist():
            file = folder / "tree" / row["repo"] / row["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(row["content"])
    return folder / "tree"


def scan(folder: Path, jobs: int) -> tuple[Cost, Path]:
    """Scan the data set; returns the folder with the results, too."""
    output = folder / f"out-{jobs}"
    cost = run("scan", str(folder / "data"), "--output", str(output), "--jobs", str(jobs), "--quiet")
    told = json.loads((output / "scan.json").read_text(encoding="utf-8"))
    if not told["complete"]:
        raise SystemExit(f"the scan is not complete: {told['left_out']}")
    return cost, output


def plain(tree: Path, output: Path) -> Cost:
    """Lint each repository by itself with one process; keeps the reports."""
    options = ("check", "--isolated", "--no-cache", "--quiet", "--output-format", "json", "--jobs", "1", ".")
    output.mkdir()
    repos = sorted(tree.iterdir())
    costs = [run(*options, folder=repo, output=output / f"{repo.name}.json") for repo in repos]
    return Cost(sum(c.wall for c in costs), sum(c.processor for c in costs), max(c.peak for c in costs))


def compare(reports: Path, output: Path) -> int:
    """Fail unless the findings of a scan are those of the reports; returns how many there are."""
    import pyarrow.dataset

    from torchlint.scan import results

    scanned: dict[str, list[str]] = {}
    for row in pyarrow.dataset.dataset(output / "findings").to_table().to_pylist():
        scanned.setdefault(row["repo"], []).append(json.dumps(results.record(row)))
    for report in sorted(reports.iterdir()):
        findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
        found = scanned.pop(report.stem, [])
        if [json.dumps(one) for one in findings] != found:
            only = [json.dumps(one) for one in findings if json.dumps(one) not in found]
            more = [one for one in found if json.loads(one) not in findings]
            raise SystemExit(f"{report.stem}: other findings\nplain: {only[:3]}\nscan: {more[:3]}")
        scanned[""] = scanned.get("", []) + found
    if set(scanned) - {""}:
        raise SystemExit(f"findings in repositories without a report: {sorted(scanned)}")
    return len(scanned.get("", []))


def _sources(given: argparse.Namespace) -> list[tuple[str, Path]]:
    if given.repositories:
        return [(one.name, one) for one in sorted(given.repositories.iterdir()) if one.is_dir()]
    # Hardly any of the standard library has to be parsed, so that gigabytes take minutes.
    return [(name, fetch(name, given.cache).path) for name in (("stdlib",) if given.megabytes else PACKAGES)]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=0, help="only scan, and so much of the standard library")
    parser.add_argument("--repositories", type=Path, help="a folder whose folders are taken instead of the packages")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where the packages are kept")
    parser.add_argument("--scratch", type=Path, help="where the data set is written; default: a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        folder = Path(scratch)
        count, size = make(_sources(given), given.megabytes, folder)
        print(f"{count} repositories, {size / 1e6:.0f} MB\n")
        print("| run | wall-clock s | processor s | MB per processor second | peak memory MB |")
        print("| --- | ---: | ---: | ---: | ---: |")
        if given.megabytes:
            cost, output = scan(folder, 2)
            show("scan, 2 processes", cost, size)
        else:
            output = _beside(folder, size)
        told = json.loads((output / "scan.json").read_text(encoding="utf-8"))
        print(f"\nThe tasks that lint took {told['processor_seconds']:.0f} processor seconds.")


def _beside(folder: Path, size: int) -> Path:
    """Plain runs and scans; returns the results of the scan with two processes."""
    reports = folder / "plain"
    show("plain, 1 process", plain(unpack(folder), reports), size)
    for jobs in (1, 2):
        cost, output = scan(folder, jobs)
        show(f"scan, {jobs} process{'es' * (jobs - 1)}", cost, size)
        found = compare(reports, output)
    small = folder / "small"
    (small / "data").mkdir(parents=True)
    (small / "data" / "a.jsonl").write_text('{"repo": "r", "path": "a.py", "content": ""}\n', encoding="utf-8")
    cost, _ = scan(small, 2)
    print(f"| scan of one empty file | {cost.wall:.1f} | {cost.processor:.1f} | | {cost.peak / 1e6:.0f} |")
    print(f"\nPlain runs and scans have the same {found:,} findings.")
    return output


def show(name: str, cost: Cost, size: int) -> None:
    """Print a row."""
    rate = size / 1e6 / cost.processor
    print(f"| {name} | {cost.wall:.1f} | {cost.processor:.1f} | {rate:.2f} | {cost.peak / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()

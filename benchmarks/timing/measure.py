"""Runs whole processes alternately, and notes what each took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from timing.record import BenchmarkError, Row

# Of a long output, so much of its beginning and of its end: enough to see that the work was done.
_KEPT = 4000
# Linux counts memory in units of 1024 bytes, macOS in bytes.
_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Done:
    """One run of a process: how it ended, both ends of what it said, and what it took."""

    status: int
    output: str
    errors: str
    wall: float
    cpu: float
    peak: float


@dataclass(frozen=True)
class Contestant:
    """One row of a table: a command, how often it runs, how its output proves that it worked, and whose it is."""

    name: str
    command: tuple[str, ...]
    repeat: int
    worked: Callable[[Done], bool]
    warm_up: bool = False
    peer: str = ""


@dataclass(frozen=True)
class Place:
    """Where processes run: a folder without any configuration, and the environment variables."""

    folder: Path
    variables: Mapping[str, str]


def pin(cores: int) -> int:
    """Keep this process and its children on so many processors, where the system can; gives their number."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    os.sched_setaffinity(0, chosen)
    return len(chosen)


def measure(contestants: Sequence[Contestant], place: Place) -> dict[str, Row]:
    """Run every contestant as often as it asks. One that is listed twice runs twice in each turn."""
    rows = {contestant.name: Row() for contestant in contestants}
    for contestant in contestants:
        if contestant.warm_up:
            _checked(contestant, place)
    for turn in range(max(contestant.repeat for contestant in contestants)):
        for contestant in contestants if turn % 2 == 0 else reversed(contestants):
            if turn < contestant.repeat:
                _note(_checked(contestant, place), contestant.name, rows[contestant.name])
    return rows


def run(command: Sequence[str], place: Place) -> Done:
    """Run a command. The peak is that of the largest of its processes, those it waited for included."""
    if sys.platform == "win32":
        raise BenchmarkError("measuring needs Linux or macOS")
    output, errors = place.folder / "stdout", place.folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=place.folder, env=dict(place.variables))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss * _MEMORY_UNIT / 1e6
    return Done(process.returncode, _ends(output), _ends(errors), wall, cpu, peak)


def _checked(contestant: Contestant, place: Place) -> Done:
    done = run(contestant.command, place)
    if not contestant.worked(done):
        said = (done.errors or done.output)[-1000:].strip()
        raise BenchmarkError(f"{contestant.name} ended with {done.status}: {said}")
    return done


def _note(done: Done, name: str, row: Row) -> None:
    row.wall.append(round(done.wall, 4))
    row.cpu.append(round(done.cpu, 4))
    row.peak.append(round(done.peak, 1))
    print(f"  {name}: {done.wall:.3f} s, processor {done.cpu:.3f} s, {done.peak:.0f} MB", file=sys.stderr)


def _ends(path: Path) -> str:
    """The beginning and the end of a file; all of it would make this process, and so its children, large."""
    with path.open("rb") as stream:
        data = stream.read(_KEPT)
        size = path.stat().st_size
        if size > _KEPT:
            stream.seek(max(_KEPT, size - _KEPT))
            data += stream.read()
    return data.decode("utf-8", "replace")

"""Fuzzes torchlint with unusual inputs, and reports every failure.

Each kind of input runs in its own process, so that crashes and hangs are found as well. The current input is stored in
a file meanwhile. Status 1 if a failure was found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random

from judge import alike, unscreened
from mutate import corpus, cuts, mutants, whole

HERE = Path(__file__).parent
HUNG = 120.0
# Seconds of processor time for one input. Inputs are small; more than this is a hang in the making.
SLOW = 10.0


@dataclass(frozen=True)
class Task:
    """Inputs of one kind, for this many seconds."""

    kind: str
    seed: int
    seconds: float
    folders: tuple[Path, ...]
    out: Path

    @property
    def current(self) -> Path:
        """The file with the current input."""
        return self.out / f"{self.kind}.current"

    @property
    def count(self) -> Path:
        """How many inputs were tried."""
        return self.out / f"{self.kind}.count"


def inputs(task: Task) -> Iterator[bytes]:
    """The inputs of a task."""
    random = Random(task.seed)
    if task.kind == "generate":
        from generate import programs

        return programs(task.seed)
    own = corpus([HERE.parent / "fixtures"], random, 400)
    files = [*corpus(task.folders, random, 400), *own]
    if task.kind == "stdlib":
        return whole(Path(sysconfig.get_path("stdlib")))
    if task.kind == "cut":
        return cuts(random.sample(files, min(200, len(files))), random)
    return mutants(files, random)


class Trial:
    """Tests one input after the other, and counts them."""

    def __init__(self, task: Task, target: Callable[[bytes], str | None]) -> None:
        self._task, self._target, self._tried = task, target, 0

    def __call__(self, data: bytes) -> None:
        """Try one."""
        self._task.current.write_bytes(data)
        start = time.process_time()
        wrong = self._target(data) or _too_slow(time.process_time() - start)
        self._tried += 1
        if wrong:
            keep(self._task, data, wrong)
        if self._tried % 20 == 0:
            self.count()

    def count(self) -> None:
        """Leave the count for the parent."""
        self._task.count.write_text(str(self._tried))


def _too_slow(seconds: float) -> str | None:
    return f"took {seconds:.0f} s" if seconds > SLOW else None


def work(task: Task) -> None:
    """Test inputs until the time is over or there are none left."""
    if task.kind in GUIDED:
        search(task)
    end, trial = time.monotonic() + task.seconds, Trial(task, unscreened if task.kind == "stdlib" else alike)
    for data in inputs(task):
        trial(data)
        if time.monotonic() > end:
            break
    trial.count()
    task.current.unlink(missing_ok=True)


def search(task: Task) -> None:
    """Let Atheris search for inputs; does not return."""
    import guided

    seeds = {"guided-config": guided.TOML, "guided-suppress": guided.COMMENTS}
    given = seeds.get(task.kind) or corpus([HERE.parent / "fixtures"], Random(task.seed), 60)
    trial = Trial(task, guided.targets(task.out)[task.kind])
    guided.fuzz(trial, given, task.out / f"{task.kind}.corpus", task.seed, task.seconds)


def keep(task: Task, data: bytes, wrong: str) -> None:
    """Store a failing input, under a name derived from the failure, so that duplicates are stored once."""
    name = blake2b(wrong.encode(), digest_size=6).hexdigest()
    file = task.out / f"{task.kind}-{name}.py"
    if not file.exists() or len(file.read_bytes()) > len(data):
        file.write_bytes(data)
        file.with_suffix(".txt").write_text(wrong + "\n")


def watch(task: Task) -> int:
    """Run a task in its own process, again with another seed if it dies; returns the number of inputs."""
    end, seed, tried = time.monotonic() + task.seconds, task.seed, 0
    while (left := end - time.monotonic()) > 0:
        now = Task(task.kind, seed, left, task.folders, task.out)
        now.count.unlink(missing_ok=True)
        process = multiprocessing.get_context("spawn").Process(target=work, args=(now,))
        process.start()
        hung = _wait(process, now)
        tried += int(now.count.read_text()) if now.count.exists() else 0
        if process.exitcode == 0:
            break
        if now.current.exists():
            keep(now, now.current.read_bytes(), "hung" if hung else f"died with status {process.exitcode}")
        seed += 1_000_000
    return tried


def _wait(process: multiprocessing.process.BaseProcess, task: Task) -> bool:
    """Wait for the process; True if it had to be killed."""
    while process.is_alive():
        process.join(2)
        try:
            stuck = time.time() - task.current.stat().st_mtime > HUNG
        except OSError:
            continue
        if stuck:
            process.kill()
            process.join()
            return True
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz, and print the number of inputs and failures."""
    options = _arguments(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    for kind in options.what:
        share = options.seconds / len(options.what)
        tried = watch(Task(kind, options.seed, share, tuple(options.corpus), options.out))
        failures = sorted(options.out.glob(f"{kind}-*.txt"))
        print(f"{kind}: {tried} inputs, {len(failures)} kinds of failure (seed {options.seed})", flush=True)
        for file in failures:
            print(f"  {file.with_suffix('.py')}: {file.read_text().strip()}", flush=True)
    return int(any(options.out.glob("*-*.txt")))


GUIDED = ("guided-lint", "guided-config", "guided-suppress")  # requires Atheris
KINDS = ("cut", "mutate", "generate", "stdlib")


_HELP = f"some of {', '.join((*KINDS, *GUIDED))}; default: those that need no Atheris"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="for all kinds together (%(default)s)")
    parser.add_argument(
        "--what", type=lambda text: text.split(","), default=list(KINDS), metavar="KIND,...", help=_HELP
    )
    parser.add_argument("--seed", type=int, default=1, help="the same seed tries the same inputs (%(default)s)")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="more real code to start from")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where failures go (%(default)s)")
    options = parser.parse_args(argv)
    unknown = sorted(set(options.what) - {*KINDS, *GUIDED})
    if unknown:
        parser.error(f"no kind {unknown[0]!r}; there are {', '.join((*KINDS, *GUIDED))}")
    return options


if __name__ == "__main__":
    sys.exit(main())

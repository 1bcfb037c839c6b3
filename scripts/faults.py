"""Tests what happens to files and processes when runs are killed, interrupted or started concurrently.

``python scripts/faults.py kills --count 200`` and so on; the tests run the same experiments with lower counts. Each
fault is printed on a line, and the status is then 1.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

TORCHLINT = [sys.executable, "-m", "torchlint"]
GUILTY = "import torch\n\n\ndef größe(x):\n    return torch.zeros(3).to(x.device)  # ä\n"
PADDING = "x = [1, 2, 3]  # padding, so that several processes pay\n"
_GONE = 10.0  # seconds within which processes must exit
# : Ways to interrupt a run: a name, the signal, and whether all of its processes receive it.
WAYS = (
    ("Ctrl-C", signal.SIGINT, True),
    ("SIGINT to the parent", signal.SIGINT, False),
    ("SIGTERM", signal.SIGTERM, False),
    ("SIGTERM to all", signal.SIGTERM, True),
    ("SIGHUP to all", signal.SIGHUP, True),
)


@dataclass
class Outcome:
    """Counted observations, and faults: an experiment succeeds if there are none."""

    seen: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def check(self, holds: bool, fault: str) -> None:
        """Record a fault unless a condition holds."""
        if not holds:
            self.faults.append(fault)


# -- trees and runs ------------------------------------------------------------------------------


def plant(folder: Path, files: int, lines: int = 60) -> None:
    """Files with fixes, in several encodings, newline styles and modes, and one without."""
    folder.mkdir(parents=True, exist_ok=True)
    forms: list[Callable[[str], bytes]] = [
        lambda text: text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: f"# -*- coding: latin-1 -*-\n{text}".encode("latin-1"),
        lambda text: text.rstrip("\n").encode(),
    ]
    for number in range(files):
        path = folder / f"part{number % 4}" / f"module{number:03}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(forms[number % len(forms)](GUILTY + f"n = {number}\n" + PADDING * lines + GUILTY))
        path.chmod((0o644, 0o600, 0o755, 0o664)[number % 4])
    (folder / "clean.py").write_text("import torch\n", encoding="utf-8")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file outside the cache: its bytes and its mode."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".torchlint_cache" not in path.parts]
    return {str(p.relative_to(folder)): (p.read_bytes(), stat.S_IMODE(p.stat().st_mode)) for p in files}


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run in its own session."""
    with subprocess.Popen(
        [*TORCHLINT, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """A complete run: status, standard output and standard error."""
    with started(folder, *arguments) as process:
        out, error = process.communicate()
    return process.returncode, out, error


def left_behind(session: int) -> list[int]:
    """The processes of a session that still exist after a while."""
    until = time.monotonic() + _GONE
    while (members := _members(session)) and time.monotonic() < until:
        time.sleep(0.02)
    return members


def _members(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def timed(folder: Path, *arguments: str) -> tuple[float, tuple[int, str, str]]:
    """How long a run takes about, and how it ends."""
    began = time.monotonic()
    ended = run(folder, *arguments)
    return time.monotonic() - began, ended


# -- kills ---------------------------------------------------------------------------------------


def kills(count: int, folder: Path, files: int = 80, seed: int = 0) -> Outcome:
    """Kill runs that fix a tree, at moments from the start to beyond the end."""
    chance, outcome = random.Random(seed), Outcome()
    tree, model = folder / "tree", folder / "model"
    plant(model, files)
    old = contents(model)
    run(model, "--fix", "--no-cache", ".")
    new = contents(model)
    shutil.rmtree(model)
    plant(tree, files)
    command = ("--fix", "--jobs", "2", ".")
    run(tree, *command)
    plant(tree, files)
    takes, _ = timed(tree, *command)
    for number in range(count):
        plant(tree, files)
        with started(tree, *command) as process:
            if number % 2:
                _await_writing(tree, old, process)
                time.sleep(chance.uniform(0, takes / 8))
            else:
                time.sleep(chance.uniform(0, takes * 1.1))
            process.kill()
            process.communicate()
        outcome.check(not left_behind(process.pid), f"kill {number}: processes are left")
        _judge_killed(number, tree, old, new, outcome)
        status, _, error = run(tree, *command)
        outcome.check((status, error) == (0, ""), f"kill {number}: the next run has status {status}: {error}")
        outcome.check(contents(tree) == new, f"kill {number}: the next run does not finish the work")
        partial = list((tree / ".torchlint_cache").glob(".*.torchlint"))
        outcome.check(not partial, f"kill {number}: the next run leaves {partial}")
    return outcome


def _await_writing(tree: Path, old: dict[str, tuple[bytes, int]], process: subprocess.Popen[str]) -> None:
    """Wait until a run starts to write."""
    first = next(name for name in old if name != "clean.py")
    while process.poll() is None and (tree / first).read_bytes() == old[first][0]:
        time.sleep(0.0005)


def _judge_killed(
    number: int, tree: Path, old: dict[str, tuple[bytes, int]], new: dict[str, tuple[bytes, int]], outcome: Outcome
) -> None:
    found = contents(tree)
    beside = {name for name in found if name not in old}
    outcome.check(found.keys() >= old.keys(), f"kill {number}: files are gone: {old.keys() - found.keys()}")
    outcome.check(
        len(beside) <= 1 and all(name.endswith(".torchlint") for name in beside), f"kill {number}: leaves {beside}"
    )
    torn = [name for name in old if name in found and found[name] not in (old[name], new[name])]
    outcome.check(not torn, f"kill {number}: neither old nor new: {torn}")
    done = sum(found.get(name) == new[name] != old[name] for name in old)
    where = "before any file was written" if not done else "after all" if done == len(old) - 1 else "in between"
    outcome.seen[f"killed {where}"] += 1
    outcome.seen["left a file beside"] += bool(beside)


# -- interrupts ----------------------------------------------------------------------------------


def interrupts(count: int, folder: Path, files: int = 80, seed: int = 0) -> Outcome:
    """Interrupt runs that lint or fix, at moments from the start to beyond the end."""
    chance, outcome = random.Random(seed), Outcome()
    tree = folder / "tree"
    plant(tree, files)
    old = contents(tree)
    lint = ("--no-cache", "--jobs", "2", "--output-format", "concise", "--fail-on", "info", ".")
    takes, whole = timed(tree, *lint)
    assert whole[0] == 1
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start background processes
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in range(count):
        way, what, everybody = WAYS[number % len(WAYS)]
        repairs = chance.random() < 0.3
        with started(tree, *(["--fix"] if repairs else []), *lint) as process:
            time.sleep(chance.uniform(0, takes * 1.1))
            expected = process.poll() is None and _expects(process.pid, what)
            if process.poll() is None:
                (os.killpg if everybody else os.kill)(process.pid, what)
            out, error = process.communicate()
        end = how_it_ended(process.returncode, out, error, what, whole=None if repairs else whole[1])
        outcome.seen[end] += 1
        outcome.check(not expected or end != "had finished", f"{way} {number}: is ignored")
        outcome.check(not end.startswith("FAULT"), f"{way} {number}: {end}: {process.returncode} {error[-1500:]!r}")
        outcome.check(not left_behind(process.pid), f"{way} {number}: processes are left")
        if repairs:
            beside = contents(tree).keys() - old.keys()
            outcome.check(not beside, f"{way} {number}: leaves {beside}")
            plant(tree, files)
    return outcome


def _expects(process: int, what: signal.Signals) -> bool:
    """Whether a process has a handler for a signal: torchlint has started, and is not finished."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (what - 1) & 1)
    return False


def how_it_ended(status: int, out: str, error: str, sent: int, whole: str | None) -> str:
    """How an interrupted run ended; for faults the text begins with that word."""
    said = "torchlint: interrupted\n" if sent == signal.SIGINT else f"torchlint: ended by {signal.Signals(sent).name}\n"
    if (status, error) == (128 + sent, said):
        return "interrupted, one line" if not out else "interrupted while it printed, or after"
    if not error and status == -sent:
        return "ended while Python started or stopped" if out in ("", whole) else "FAULT: half a report and no word"
    if not error and status in (0, 1):
        return "had finished" if whole in (None, out) else "FAULT: another report"
    if status in (1, -sent) and not out and _is_pythons_own(error):
        return "ended while Python started"
    return "FAULT"


def _is_pythons_own(error: str) -> bool:
    """Whether a traceback was raised before torchlint's first line."""
    return error.rstrip().endswith("KeyboardInterrupt") and f"torchlint{os.sep}" not in error


# -- deaths of single processes ------------------------------------------------------------------


def deaths(count: int, folder: Path, files: int = 80, seed: int = 0) -> Outcome:
    """Kill one of the worker processes, like a system that is out of memory."""
    chance, outcome = random.Random(seed), Outcome()
    tree = folder / "tree"
    plant(tree, files)
    lint = ("--no-cache", "--jobs", "3", "--output-format", "json", "--fail-on", "info", ".")
    takes, whole = timed(tree, *lint)
    for number in range(count):
        with started(tree, *lint) as process:
            killed = _kill_a_child(process, chance.uniform(0, takes), chance)
            out, error = process.communicate()
        outcome.seen["a process was killed" if killed else "had finished"] += 1
        same = (process.returncode, out, error) == whole
        outcome.check(same, f"death {number}: status {process.returncode}: {error} {out[-500:]}")
        outcome.check(not left_behind(process.pid), f"death {number}: processes are left")
    return outcome


def _kill_a_child(process: subprocess.Popen[str], after: float, chance: random.Random) -> bool:
    """Kill some process of a run except the main one, this many seconds from now or soon after."""
    time.sleep(after)
    until = time.monotonic() + 1  # its output is not read yet, so it may block
    while process.poll() is None and time.monotonic() < until:
        children = [member for member in _members(process.pid) if member != process.pid]
        if children:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(children), signal.SIGKILL)
                return True
        time.sleep(0.002)
    return False


# -- many at once --------------------------------------------------------------------------------


def together(count: int, folder: Path, files: int = 40) -> Outcome:
    """Start many concurrent runs on one tree and one cache, then fix it in two concurrent runs."""
    outcome = Outcome()
    tree = folder / "tree"
    plant(tree, files)
    command = [*TORCHLINT, "--output-format", "json", "--jobs", "2", "--fail-on", "info", "."]
    runs = [
        subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    ends = [(*each.communicate(), each.returncode) for each in runs]
    outcome.seen["runs"] = count
    outcome.seen["outcomes"] = len(set(ends))
    outcome.check(len(set(ends)) == 1, f"{len(set(ends))} outcomes")
    outcome.check(ends[0][1:] == ("", 1), f"status {ends[0][2]}: {ends[0][1]}")
    outcome.check(run(tree, *command[3:])[1] == ends[0][0], "the cache changes the outcome")
    litter = [path.name for path in (tree / ".torchlint_cache").glob(".*") if path.name != ".gitignore"]
    outcome.check(not litter, f"leaves {litter}")
    return outcome


def repairs_together(count: int, folder: Path, files: int = 40) -> Outcome:
    """Fix one tree in several concurrent runs, repeatedly."""
    outcome = Outcome()
    tree, model = folder / "tree", folder / "model"
    plant(model, files)
    run(model, "--fix", "--no-cache", ".")
    new = contents(model)
    for number in range(count):
        plant(tree, files)
        command = [*TORCHLINT, "--fix", "--quiet", "--output-format", "concise", "."]
        runs = [
            subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for each in runs:
            out, error = each.communicate()
            refused = "left to it" in out or "was left alone" in out
            clear = not error and each.returncode == (2 if refused else 0) and (refused or not out)
            outcome.seen["left a file to the other" if out else "repaired, or found repaired, all"] += 1
            outcome.check(clear, f"pair {number}: status {each.returncode}: {out[:300]}{error}")
        found = contents(tree)
        torn = [name for name in new if found[name] != new[name]]
        outcome.check(not torn, f"pair {number}: not repaired: {torn}")
        outcome.check(found.keys() == new.keys(), f"pair {number}: leaves {found.keys() - new.keys()}")
    return outcome


# -- the command line ----------------------------------------------------------------------------

EXPERIMENTS = {
    "kills": kills,
    "interrupts": interrupts,
    "deaths": deaths,
    "together": together,
    "repairs-together": repairs_together,
}


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for an experiment."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> int:
    """Run one experiment and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--files", type=int, default=80)
    arguments = parser.parse_args()
    with scratch() as folder:
        outcome = EXPERIMENTS[arguments.experiment](arguments.count, folder, arguments.files)
    for what, times in sorted(outcome.seen.items()):
        print(f"{times:6}  {what}")
    for fault in outcome.faults:
        print(f"FAULT {fault[:1000]}")
    print(f"{arguments.experiment}: {arguments.count} times, {len(outcome.faults)} faults")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())

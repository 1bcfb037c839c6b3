"""The commands that are compared, and how the output of each proves that it did its work."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from timing import environments
from timing.measure import Contestant, Done, Place
from timing.trees import Tree

COLD = "torchlint"
ONE_JOB = "torchlint --jobs 1"
TWO_JOBS = "torchlint --jobs 2"
WARM = "torchlint, cache filled"
HALVES = ("torchlint, first half of the files", "torchlint, second half of the files")
HOTPATH = "hotpath-ai"
PREFLIGHT = "torch-preflight"
TORCHFIX = "TorchFix"
PYREFLY = "pyrefly, PyTorch lints"
RUFF = "ruff, no cache"
RUFF_WARM = "ruff, cache filled"
RUFF_PYFLAKES_WARM = "ruff --select F, cache filled"
PARSE = "ast.parse, one process"
READ = "reading the bytes"
#: How often at most what takes minutes runs.
FEW = 3
#: The processors that everything is measured on.
CORES = 2

# Both walk as plainly as can be, so that the floor is the reading or the parsing alone.
_FILES = """
import os, sys
def files():
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as stream:
                    yield stream.read()
"""
_READ = f"{_FILES}\nprint(sum(1 for data in files()))"
_PARSE = f"""{_FILES}
import ast, warnings
warnings.simplefilter("ignore")
count = 0
for data in files():
    count += 1
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        pass
print(count)
"""


@dataclass(frozen=True)
class Bench:
    """What all measurements share: torchlint's Python, where processes run, the cache folder, and how often."""

    python: Path
    place: Place
    cache: Path
    repeat: int
    peer_repeat: int
    commit: str = ""

    def lint(self, *options: str) -> tuple[str, ...]:
        """Torchlint's command, with a report that says how many files were linted."""
        return (str(self.python), "-m", "torchlint", "check", "--isolated", "--output-format", "json", *options)

    def hook(self) -> tuple[str, ...]:
        """What pre-commit starts: the command that the installation has made."""
        script = self.python.with_name("torchlint")
        return (str(script),) if script.exists() else (str(self.python), "-m", "torchlint")

    def floor(self, code: str, *arguments: str) -> tuple[str, ...]:
        """Some lines of Python, run by the Python that runs torchlint."""
        return (str(self.python), "-c", code, *arguments)


def cold(bench: Bench, tree: Tree, name: str = COLD, jobs: int | None = None) -> Contestant:
    """Torchlint without its cache."""
    options = ("--jobs", str(jobs)) if jobs else ()
    return Contestant(name, bench.lint("--no-cache", *options, str(tree.path)), bench.repeat, linted(tree.files))


def warm(bench: Bench, tree: Tree) -> Contestant:
    """Torchlint when nothing has changed since the last run."""
    folder = str(bench.place.folder / f"torchlint-{tree.path.name}")
    command = bench.lint("--cache-dir", folder, str(tree.path))
    return Contestant(WARM, command, bench.repeat, linted(tree.files), warm_up=True)


def floors(bench: Bench, tree: Tree) -> list[Contestant]:
    """Yardsticks that every machine has: the parser of Python itself, and the disk."""
    path, worked = str(tree.path), _printed(str(tree.files))
    return [
        Contestant(PARSE, bench.floor(_PARSE, path), bench.repeat, worked),
        Contestant(READ, bench.floor(_READ, path), bench.repeat, worked),
    ]


def hotpath(bench: Bench, tree: Tree) -> Contestant:
    """hotpath-ai, as its page says."""
    command = (_tool(bench, "hotpath-ai", "hotpath"), "analyze", str(tree.path))
    return Contestant(HOTPATH, command, bench.repeat, _ended((0,), r"HotPath project analysis"), peer="hotpath-ai")


def ruff(bench: Bench, tree: Tree) -> list[Contestant]:
    """Ruff with its default rules, without and with its cache, and with few rules.

    Its cache leaves out files with findings; of the default rules, that is most files.
    """

    def row(name: str, *options: str, warm_up: bool = True) -> Contestant:
        command = (_tool(bench, "ruff", "ruff"), "check", "--isolated", "--output-format", "concise")
        worked = _ended((0, 1), r"Found \d+ error|All checks passed")
        return Contestant(name, (*command, *options, str(tree.path)), bench.repeat, worked, warm_up, "ruff")

    cached = ("--cache-dir", str(bench.place.folder / f"ruff-{tree.path.name}"))
    return [
        row(RUFF, "--no-cache", warm_up=False),
        row(RUFF_WARM, *cached),
        row(RUFF_PYFLAKES_WARM, *cached, "--select", "F"),
    ]


def pyrefly(bench: Bench, tree: Tree, repeat: int) -> Contestant:
    """Pyrefly with its PyTorch lints alone; they see nothing unless it is shown an installed torch."""
    lints = ("--preset", "off", "--warn", "pytorch-efficiency-lints", "--min-severity", "warn")
    torch = ("--python-interpreter-path", sys.executable)
    # Its own excludes would leave out every tree below a hidden folder.
    files = ("--project-excludes", "**/node_modules", str(tree.path))
    said = ("--output-format", "min-text", "--summary", "full", "--progress-bar", "no")
    command = (_tool(bench, "pyrefly", "pyrefly"), "check", *lints, *torch, *said, *files)
    return Contestant(PYREFLY, command, repeat, _ended((0, 1), r"[1-9][\d,]* modules"), peer="pyrefly")


def slow_peers(bench: Bench, tree: Tree) -> list[Contestant]:
    """The linters that take minutes."""
    path, jobs = str(tree.path), str(CORES)
    torchfix = (_tool(bench, "torchfix", "torchfix"), "--select", "ALL", "-j", jobs, path)
    preflight = (_tool(bench, "torch-preflight", "torch-preflight"), "check", "--no-color", "-j", jobs, path)
    checked = _ended((0, 1), r"Finished checking [1-9]\d* files"), _ended((0, 1), r"in [1-9]\d* file")
    return [
        Contestant(TORCHFIX, torchfix, bench.peer_repeat, checked[0], peer="torchfix"),
        Contestant(PREFLIGHT, preflight, bench.peer_repeat, checked[1], peer="torch-preflight"),
    ]


def linted(files: int) -> Callable[[Done], bool]:
    """Whether torchlint says that it linted so many files, and had no problem with itself."""
    said = re.compile(rf'"files": {files}\b')
    return lambda done: done.status in (0, 1) and said.search(done.output) is not None


def _printed(text: str) -> Callable[[Done], bool]:
    return lambda done: done.status == 0 and done.output.strip() == text


def _ended(statuses: Sequence[int], pattern: str) -> Callable[[Done], bool]:
    said = re.compile(pattern)
    return lambda done: done.status in statuses and said.search(done.output + done.errors) is not None


def _tool(bench: Bench, peer: str, command: str) -> str:
    return str(environments.peer(peer, bench.cache) / command)

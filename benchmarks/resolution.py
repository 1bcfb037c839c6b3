"""Measures how much of real programs torchlint's analysis resolves: values, devices, frequencies and imports.

``python benchmarks/resolution.py FOLDER`` measures every checkout in FOLDER (``FOLDER/owner+name``), each in a process
of its own, and prints the totals over all of them: a single repository cannot raise them much. What is counted is found
by its spelling alone, so that the same places count for every version of the analysis:

- *training*: the receivers and calls in loops that call ``backward``, and how many of them have a value: an object or
  function of the project, a name of a library, or a tensor, module, loader, optimizer or number;
- *devices*: the calls of ``.item()``, ``.cpu()``, ``.tolist()`` and ``.numpy()``, and how many read something whose
  device is known;
- *frequency*: the same calls, and of how many it is known how often they run: they are outside of functions, or
  something that is known calls their function;
- *imports*: the imports that some file of the repository may answer, by its name, and how many of them are resolved.

``benchmarks/evaluation/register.jsonl`` halves the repositories by a coin that was thrown once: one half may be read by
those who build the analysis, of the other one only the totals are looked at. ``--write`` puts the table into
``docs/evaluation.md``; ``--details`` prints a line for each repository of the open half.
"""

from __future__ import annotations

import argparse
import ast
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from judging.register import Register
from timing import page

from torchlint.analysis.module import SourceModule
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.syntax.errors import SyntaxProblem
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Device
from torchlint.config.config import Config
from torchlint.model import Heat
from torchlint.project.merged import Project
from torchlint.project.view import ProjectView
from torchlint.run import session
from torchlint.run.discovery import discover

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation.md"
REGISTER = ROOT / "benchmarks" / "evaluation" / "register.jsonl"
HALVES = ("open", "validating")
_READS = frozenset({"item", "cpu", "tolist", "numpy"})
_LOOPS = (cst.For, cst.While)


class Share(NamedTuple):
    """How many of some places are known."""

    known: int = 0
    all: int = 0

    def plus(self, other: Share) -> Share:
        """The share in both sets of places."""
        return Share(self.known + other.known, self.all + other.all)

    def __str__(self) -> str:
        return f"{self.known / self.all:.0%} of {self.all:,}" if self.all else "-"


class Figures(NamedTuple):
    """The shares in one or several repositories, with the processor time in seconds and the peak memory in MiB."""

    training: Share = Share()
    devices: Share = Share()
    frequency: Share = Share()
    imports: Share = Share()
    seconds: float = 0.0
    memory: float = 0.0

    def plus(self, other: Figures) -> Figures:
        """The figures of both; the memory is the larger one."""
        return Figures(
            self.training.plus(other.training),
            self.devices.plus(other.devices),
            self.frequency.plus(other.frequency),
            self.imports.plus(other.imports),
            self.seconds + other.seconds,
            max(self.memory, other.memory),
        )

    def row(self, *head: object) -> str:
        """A row of the table."""
        cells = (*head, *self[:4], f"{self.seconds:.0f}", f"{self.memory:.0f}")
        return f"| {' | '.join(map(str, cells))} |"


# -- one repository --------------------------------------------------------------------------------


def measure(root: Path) -> Figures:
    """The figures of one checkout, linted as one project."""
    plan = session.plan(Config(root=str(root)))
    paths, *_ = discover.files([str(root)], plan.scopes.configurations, str(root))
    began = time.process_time()
    tree = session.Tree(paths, plan, jobs=1)
    tree.result()
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts: Counter[tuple[str, bool]] = Counter()
    for path, data in tree.contents.items():
        counts.update(_file(path, data, tree.project, paths))
    training, devices, frequency, imports = (
        Share(counts[what, True], counts[what, True] + counts[what, False]) for what in Figures._fields[:4]
    )
    return Figures(training, devices, frequency, imports, seconds, memory)


def _file(path: str, data: bytes, project: Project, paths: list[str]) -> Iterator[tuple[str, bool]]:
    """What is counted in a file, and whether it is known."""
    try:
        text = data.decode()
        module = SourceModule.parse(text, path, project=ProjectView(project, path), layout=False)
        imported = _own_imports(ast.parse(text), paths)
    except (SyntaxProblem, SyntaxError, UnicodeDecodeError, ValueError):
        return
    yield from (("imports", any(project.module(path, name) for name in names)) for names in imported)
    yield from _in_training(module)
    for call in module.nodes_of(cst.Call, _READS):
        source = receiver(call)
        if method(call) in _READS and source is not None:
            yield "devices", module.value(source).device is not Device.UNKNOWN
            yield "frequency", _has_frequency(module, call)


def _own_imports(tree: ast.Module, paths: list[str]) -> Iterator[tuple[str, ...]]:
    """The modules that each import may name, if a file of the repository may be one of them."""
    own = {part.removesuffix(".py") for path in paths for part in Path(path).parts}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names if alias.name.partition(".")[0] in own)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if node.level or module.partition(".")[0] in own:
                point = "." if node.module else ""
                yield (module, *(f"{module}{point}{alias.name}" for alias in node.names))


def _in_training(module: SourceModule) -> Iterator[tuple[str, bool]]:
    seen: set[cst.CSTNode] = set()
    for kind in _LOOPS:
        for loop in module.nodes_of(kind):
            below = list(descendants(loop.body))
            if not any(method(node) == "backward" for node in below):
                continue
            for node in below:
                if isinstance(node, cst.Call) and node not in seen:
                    seen.add(node)
                    yield "training", _has_value(module, node)
                    owner = receiver(node)
                    if owner is not None:
                        yield "training", _has_value(module, owner)


def _has_value(module: SourceModule, node: cst.BaseExpression) -> bool:
    callee = module.functions.callee(node) if isinstance(node, cst.Call) else None
    of_library = isinstance(node, cst.Call) and module.qualified(node.func) is not None
    return module.value(node).known or callee is not None or of_library or module.qualified(node) is not None


def _has_frequency(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether it is known how often a node runs; a function that nothing is known to call has no frequency."""
    function = module.function_of(node)
    if function is None or module.heat(node) is not Heat.ONCE:
        return True
    return bool(module.functions.callers(function).sites)


# -- all repositories ------------------------------------------------------------------------------


def measured(folder: Path) -> Iterator[tuple[str, Figures]]:
    """The figures of each checkout in a folder; each in a process of its own, for its memory and its errors."""
    for root in sorted(path for path in folder.iterdir() if "+" in path.name):
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(root)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{root.name}: {done.stderr.strip().splitlines()[-1:]}")
        (training, devices, frequency, imports), (seconds, memory) = json.loads(done.stdout)
        shares = (Share(*training), Share(*devices), Share(*frequency), Share(*imports))
        yield root.name.replace("+", "/", 1), Figures(*shares, seconds=seconds, memory=memory)


def table(found: dict[str, Figures], halves: dict[str, str]) -> str:
    """The totals of both halves in Markdown."""
    names = "training steps | devices of reads | frequency of reads | imports | seconds | MiB at most"
    rows = [f"| half | repositories | {names} |", "| --- " * 8 + "|"]
    for half in HALVES:
        of = [figures for name, figures in found.items() if halves.get(name.lower()) == half]
        rows.append(reduce(Figures.plus, of, Figures()).row(half, len(of)))
    return "\n".join(rows)


def main() -> None:
    """Measure one checkout, or all of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder with checkouts, `owner+name` each")
    parser.add_argument("--one", action="store_true", help="FOLDER is one checkout; print its figures as JSON")
    parser.add_argument("--details", action="store_true", help="a line for each repository of the open half")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    if options.one:
        figures = measure(options.folder.resolve())
        print(json.dumps([figures[:4], figures[4:]]))
        return
    register = Register(REGISTER)
    halves = {entry.repository.lower(): entry.half for entry in register.entries()}
    found = {}
    for name, figures in measured(options.folder):
        found[name] = figures
        if options.details and halves.get(name.lower()) == "open":
            print(figures.row(name, ""), flush=True)
    print(table(found, halves))
    if options.write:
        page.write("resolution", table(found, halves), PAGE)


if __name__ == "__main__":
    main()

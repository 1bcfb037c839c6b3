"""What is measured side by side: three trees, and three files of a commit."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from pathlib import Path

import corpora

from timing import commits, environments, trees
from timing import contestants as c
from timing.measure import Contestant, Done, measure, run
from timing.record import BenchmarkError, Suite
from timing.trees import Tree

#: A part of a training run, a part of a data pipeline and a model, which rules have reasons to parse.
TYPICAL = ("timm/data/loader.py", "timm/models/mlp_mixer.py", "timm/task/classification.py")
#: Files that no rule has a reason to parse.
PLAIN = ("timm/data/config.py", "timm/models/_registry.py", "timm/data/readers/reader_image_in_tar.py")
COMMIT_TYPICAL = "torchlint, three files"
COMMIT_PLAIN = "torchlint, three files without torch"
IMPORT_LIBCST = 'python -c "import libcst"'
PASS = "python -c pass"
#: Runs of a fraction of a second are repeated more often.
_SHORT = 4
_LOADED = "import sys; from torchlint.cli.main import main; main(sys.argv[1:]); print('libcst' in sys.modules)"


def utils(bench: c.Bench) -> Suite:
    """Every tool over ``torch/utils``."""
    tree = trees.utils(bench.cache)
    return _suite("utils", bench, tree, [c.cold(bench, tree), *_cached_and_peers(bench, tree)])


def timm(bench: c.Bench) -> Suite:
    """Every tool over timm."""
    tree = trees.timm(bench.cache)
    return _suite("timm", bench, tree, [*_jobs(bench, tree), *_cached_and_peers(bench, tree)])


def eleven(bench: c.Bench) -> Suite:
    """The faster tools over all packages, and torchlint over two halves of the files; they take minutes."""
    bench = replace(bench, repeat=min(bench.repeat, c.FEW))
    tree = trees.eleven(bench.cache)
    parts = zip(c.HALVES, trees.halves(bench.cache), strict=True)
    rows = [
        *_jobs(bench, tree),
        *(c.cold(bench, half, name) for name, half in parts),
        c.warm(bench, tree),
        c.hotpath(bench, tree),
        *c.ruff(bench, tree),
        *([c.pyrefly(bench, tree, bench.peer_repeat)] if bench.peer_repeat else []),
        *c.floors(bench, tree),
    ]
    return _suite("eleven", bench, tree, rows)


def commit(bench: c.Bench) -> Suite:
    """What pre-commit runs for three files, beside the start of Python and of the parser."""
    tree = trees.timm(bench.cache)
    hook = (*bench.hook(), "check", "--force-exclude", "--no-cache")
    typical, plain = (tuple(str(tree.path / name) for name in names) for names in (TYPICAL, PLAIN))
    if _loads_libcst(bench, plain):
        raise BenchmarkError(f"a file that is meant to be screened out was parsed: {', '.join(PLAIN)}")
    times = bench.repeat * _SHORT
    rows = [
        Contestant(COMMIT_TYPICAL, (*hook, *typical), times, _hook_worked),
        Contestant(COMMIT_PLAIN, (*hook, *plain), times, _hook_worked),
        Contestant(IMPORT_LIBCST, bench.floor("import libcst"), times, _succeeded),
        Contestant(PASS, bench.floor("pass"), times, _succeeded),
    ]
    parsed = "of which some are parsed" if _loads_libcst(bench, typical) else "of which none is parsed"
    return _suite("commit", bench, _three(tree, f"three files of a commit, {parsed}"), rows)


#: In the order in which they stand on the page.
SUITES: dict[str, Callable[[c.Bench], Suite]] = {
    "utils": utils,
    "timm": timm,
    "eleven": eleven,
    "commit": commit,
}


def _jobs(bench: c.Bench, tree: Tree) -> list[Contestant]:
    return [c.cold(bench, tree), c.cold(bench, tree, c.ONE_JOB, 1), c.cold(bench, tree, c.TWO_JOBS, 2)]


def _cached_and_peers(bench: c.Bench, tree: Tree) -> list[Contestant]:
    return [
        c.warm(bench, tree),
        c.hotpath(bench, tree),
        *c.ruff(bench, tree),
        c.pyrefly(bench, tree, bench.repeat),
        *c.floors(bench, tree),
        *(c.slow_peers(bench, tree) if bench.peer_repeat else []),
    ]


def _suite(name: str, bench: c.Bench, tree: Tree, rows: Sequence[Contestant]) -> Suite:
    trees.read(tree)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Suite(
        name=name,
        label=tree.label,
        files=tree.files,
        size=tree.size,
        rows=measure(rows, bench.place),
        commit=bench.commit,
        date=commits.today(),
        machine=f"{platform.system()} {platform.machine()}, {_processor()}",
        cores=cores,
        versions=_versions(bench, {row.peer for row in rows if row.peer}),
    )


def _loads_libcst(bench: c.Bench, files: Sequence[str]) -> bool:
    done = run(bench.floor(_LOADED, "check", "--force-exclude", "--no-cache", *files), bench.place)
    if done.status:
        raise BenchmarkError(f"torchlint cannot lint three files: {done.errors}")
    return done.output.endswith("True\n")


def _three(tree: Tree, label: str) -> Tree:
    size = sum((tree.path / name).stat().st_size for name in TYPICAL)
    return Tree(f"{label} ({tree.label})", tree.path, len(TYPICAL), size)


def _versions(bench: c.Bench, peers: Set[str]) -> dict[str, str]:
    """Of torchlint and the peers that took part, and of what their speed depends on."""
    ours = environments.versions(bench.python)
    found = {"CPython": platform.python_version(), "torchlint": ours["torchlint"], "libcst": ours["libcst"]}
    for peer in sorted(peers):
        found[peer] = environments.PEERS[peer]
        parser = environments.versions(environments.peer(peer, bench.cache) / "python").get("libcst")
        if parser:
            found[peer] += f" (libcst {parser})"
        if peer == "pyrefly":
            found[peer] += f" (torch {corpora.fetch('torch', bench.cache).version})"
    return found


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _hook_worked(done: Done) -> bool:
    return done.status in (0, 1) and not done.errors


def _succeeded(done: Done) -> bool:
    return done.status == 0

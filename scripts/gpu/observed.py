"""Programs without and with observation, and with the simulated device."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.gpu.common import ROOT, Row, Settings, difference, differs, last_line, ran
from scripts.gpu.verdicts import judged

if TYPE_CHECKING:
    from torchlint.confirm.evidence import Run

_FOLDER = ROOT / "scripts" / "gpu_programs"
_KINDS = ("upload", "download", "peer", "sync")
# Programs that record code whose operations are not observed, and what it is.
_OPAQUE = {"compiled": "compiled", "graphs": "replayed"}
# Programs of which it is known how many copies wait for the device, each of which torch reports.
_WAITING = {"copies": 16}
_LOST = "exited unexpectedly"  # what torch says of a worker


def feature_programs(_: Settings) -> list[str]:
    """Mixed precision, compiled models, CUDA graphs, nccl, workers."""
    return sorted(path.stem for path in _FOLDER.glob("*.py"))


def features(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """The same output and status with and without observation, and what was observed."""
    for name in items:
        path = str(_FOLDER / f"{name}.py")
        with tempfile.TemporaryDirectory() as folder:
            bare = ran([path], folder)
            if bare.returncode:
                yield differs(name, "undecided", f"fails without torchlint: {bare.stderr[-200:]}")
                continue
            observed = _observed(settings.mode, [path], folder, folder)
            row, wrong = _compared(name, bare, observed, folder)
            run = _run(folder)
        if run is not None and run.left is None:
            wrong += _expected(name, run)
        yield {name: row, "differences": wrong}


def given(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """The same of the programs of the command line, and whether their verdicts are those of the simulated device.

    Each run has a copy of the script's folder, as they may write into it.
    """
    for program in items:
        script, *arguments = shlex.split(program)
        if not Path(script).is_file():
            yield differs(program, "undecided", "there is no such script")
            continue
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
            where = [str(Path(folder, name)) for name in ("bare", "observed", "simulated")]
            for copy in where:
                shutil.copytree(Path(script).parent, copy, symlinks=True)
            command = [Path(script).name, *arguments]
            stored, other = (str(Path(folder, name)) for name in ("evidence", "other"))
            simulating = pool.submit(_observed, "sim", command, where[2], other)
            bare = ran(command, where[0])
            observed = _observed(settings.mode, command, where[1], stored)
            if bare.returncode:
                yield differs(program, "undecided", f"fails without torchlint: {bare.stderr[-300:]}")
                continue
            row, wrong = _compared(program, bare, observed, stored)
            yield {program: row, "differences": wrong}
            simulated = simulating.result()
            if (simulated.returncode, last_line(simulated)) != (bare.returncode, last_line(bare)):
                row = {"status": simulated.returncode, "last": last_line(simulated), "errors": simulated.stderr[-300:]}
                yield {program: {"simulated": row}}
            yield beside(program, _verdicts(stored), _verdicts(other))


def beside(program: str, here: Mapping[str, Any], simulated: Mapping[str, Any]) -> Row:
    """A row about the verdicts of a program, on the device and on the simulated one."""
    equal, wrong = 0, []
    for place in sorted({*here, *simulated}):
        one, other = here.get(place), simulated.get(place)
        if one is not None and other is not None and one["status"] == other["status"]:
            equal += 1
            continue
        expected, reason = (other["status"], other["reason"]) if other is not None else ("no verdict", "not simulated")
        verdict, why = (
            judged(expected, one, reason) if other is not None else ("undecided", "a verdict on the device only")
        )
        wrong.append(difference(f"{program}: {place}", verdict, f"{why} (simulated: {expected}: {reason})"))
    counts = {"equal": equal, "different": len(wrong)}
    return {program: counts, **counts, "differences": wrong}


def _observed(mode: str, command: list[str], where: str, folder: str) -> subprocess.CompletedProcess[str]:
    report = ["--output-format", "json", "--output-file", str(Path(folder, "report.json"))]
    Path(folder).mkdir(exist_ok=True)
    options = ["--isolated", "--fail-on", "never", "--on", mode, "--evidence", str(Path(folder, "evidence")), *report]
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if mode == "sim" else {}
    return ran(["-m", "torchlint", "confirm", *options, "--", *command], where, **hidden)


def _run(folder: str) -> Run | None:
    """The evidence of an observed program; None if there is none."""
    from torchlint.confirm import evidence

    stored = Path(folder, "evidence")
    try:
        return evidence.read(str(stored), json.loads((stored / "order.json").read_text("utf-8"))["run"])
    except (OSError, ValueError, evidence.EvidenceProblem):
        return None


def _verdicts(folder: str) -> dict[str, Any]:
    """The verdicts of an observed program by rule and place."""
    try:
        report = json.loads(Path(folder, "report.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {f"{Path(f['path']).name}:{f['line']} {f['rule']}": f["verdict"] for f in report["findings"]}


def _compared(
    name: str, bare: subprocess.CompletedProcess[str], observed: subprocess.CompletedProcess[str], folder: str
) -> tuple[Row, list[dict[str, str]]]:
    """What was observed, and whether the program behaved as without observation."""
    row: Row = {"status": observed.returncode, "last": last_line(observed)[:200]}
    row["verdicts"] = dict(Counter(verdict["status"] for verdict in _verdicts(folder).values()))
    wrong = []
    if (bare.returncode, last_line(bare)) != (observed.returncode, last_line(observed)):
        both = f"{last_line(bare)!r} without and {last_line(observed)!r} with observation"
        statuses = f"status {bare.returncode} and {observed.returncode}: {observed.stderr[-300:]}"
        wrong.append(difference(name, "fault", f"{both}, {statuses}"))
    run = _run(folder)
    if run is None:
        return row, [*wrong, difference(name, "fault", f"nothing was observed: {observed.stderr[-300:]}")]
    row |= {kind: sum(event.count for event in run.of(kind)) for kind in _KINDS}
    left = run.left[1] if run.left is not None else None
    row |= {"steps": run.steps, "opaque": list(run.opaque), "account": run.account, "left": left}
    if left is not None:
        return row, [difference(name, "undecided", f"not simulated: {left}")]
    if run.uncounted_waits:
        wrong.append(difference(name, "undecided", "; ".join(run.notes) or "synchronizations were not counted"))
    return row, wrong


def _expected(name: str, run: Run) -> list[dict[str, str]]:
    """What is known of the program, and was not observed."""
    wrong = []
    wanted = _OPAQUE.get(name) if run.mode == "gpu" else None
    if wanted is not None and wanted not in run.opaque:
        wrong.append(difference(name, "fault", f"{wanted} code was not recorded"))
    known = _WAITING.get(name)
    if known is None:
        return wrong
    counted = {"their arguments": sum(event.count for event in run.of("upload") if not event.facts["non_blocking"])}
    if run.account is not None:
        counted["torch's account"] = run.account["explained"]
    for source, count in counted.items():
        if count != known:
            wrong.append(difference(name, "fault", f"{count} copies wait by {source}, {known} do"))
    return wrong


# -- workers ---------------------------------------------------------------------------------------


def worker_programs(_: Settings) -> list[str]:
    """How the workers of loaders start, and which memory they fill."""
    return [f"{start} {memory}" for start in ("fork", "spawn") for memory in ("pinned", "pageable")]


def workers(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """Two loaders, one after the other: their workers end with observation as they do without."""
    program = str(_FOLDER / "loaders" / "one_after_other.py")
    for item in items:
        with tempfile.TemporaryDirectory() as folder:
            command = [program, *item.split()]
            bare, observed = ran(command, folder), _observed(settings.mode, command, folder, folder)
            row, wrong = _compared(item, bare, observed, folder)
        lost = {
            how: done.stderr[-500:]
            for how, done in {"bare": bare, "observed": observed}.items()
            if _LOST in done.stderr
        }
        if bare.returncode:
            wrong.append(difference(item, "undecided", f"fails without torchlint: {bare.stderr[-300:]}"))
        yield {item: {**row, "bare": bare.returncode, "lost": lost}, "differences": wrong}

"""The options ``--from-trace`` and ``--evidence``: recordings of runs, and what they show at findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torchlint.cli.output import Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.model import Observed, Recording, RunResult
    from torchlint.run.plan import Plan

_REFUSED = ("fix", "diff", "add_ignore", "statistics")


def options(group: argparse._ArgumentGroup) -> None:
    """Add the options to the parser."""
    group.add_argument(
        "--from-trace",
        metavar="FILE",
        action="append",
        help="say what a recording of a run shows at the lines of findings, and at others: a trace of torch.profiler, "
        "logs of TORCH_TRACE, SQLite of Nsight Systems",
    )
    group.add_argument(
        "--evidence",
        metavar="PATH",
        action="append",
        help="lint with what `torchlint confirm --evidence` has seen in files that have not changed since: its folder, "
        "or the observations.json in it",
    )


def refuse(arguments: argparse.Namespace, paths: Sequence[str]) -> None:
    """Refuse what a recording has nothing to say about."""
    if not arguments.from_trace:
        return
    if list(paths) == ["-"]:
        raise Failure("--from-trace needs files; standard input has no place in a recording")
    for name in _REFUSED:
        if getattr(arguments, name):
            option = f"--{name.replace('_', '-')}"
            raise Failure(f"--from-trace tells findings apart by what they cost; leave out {option}, or run it alone")


def with_evidence(arguments: argparse.Namespace, what: Plan) -> Plan:
    """The plan with what earlier runs have shown. Raises ``Failure`` if their evidence cannot be used."""
    if not arguments.evidence:
        return what
    from torchlint.run.recorded.evidence import EvidenceProblem, read

    try:
        return what._replace(evidence=read(arguments.evidence))
    except EvidenceProblem as problem:
        raise Failure(f"--evidence: {problem}") from None


def reader(
    arguments: argparse.Namespace,
    files: Sequence[str],
    what: Plan,
    lines: Callable[[str], Sequence[str] | None],
    content: Callable[[str], bytes | None],
) -> Callable[[RunResult], RunResult]:
    """Read the recordings; returns what adds them to the result of linting these files.

    ``lines`` and ``content`` return those of a file, or None if it cannot be read. Raises ``Failure`` for a damaged
    recording.
    """
    if not (arguments.from_trace or arguments.evidence):
        return lambda run: run
    from torchlint.run.recorded.observed import with_recordings

    recordings, observations = _traces(arguments, files, lines) if arguments.from_trace else ([], [])
    earlier, shown = what.evidence.seen_in(files, content) if what.evidence is not None else ([], [])
    return lambda run: with_recordings(run, [*recordings, *earlier], [*observations, *shown])


def _traces(
    arguments: argparse.Namespace, files: Sequence[str], lines: Callable[[str], Sequence[str] | None]
) -> tuple[list[Recording], list[Observed]]:
    from torchlint.trace.files import Files
    from torchlint.trace.problem import Unreadable
    from torchlint.trace.reading import read

    def text(path: str) -> str | None:
        found = lines(path)
        return "\n".join(found) if found is not None else None

    known, found = Files(files, text), []
    for name in dict.fromkeys(arguments.from_trace):
        try:
            found.append(read(name, known))
        except Unreadable as problem:
            raise Failure(f"--from-trace: {name} {problem}") from None
    return [each.recording for each in found], [one for each in found for one in each.observed]

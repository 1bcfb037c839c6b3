"""The option ``--from-trace``: reads recordings of runs, and gives the findings what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torchlint.cli.output import Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.model import RunResult

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


def reader(
    arguments: argparse.Namespace, files: Sequence[str], lines: Callable[[str], Sequence[str] | None]
) -> Callable[[RunResult], RunResult]:
    """Read the recordings; returns what adds them to the result of linting these files.

    ``lines`` returns the lines of a file, or None if it cannot be read. Raises ``Failure`` for a damaged recording.
    """
    if not arguments.from_trace:
        return lambda run: run
    from torchlint.run.observed import with_recordings
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
    observations = [one for each in found for one in each.observed]
    return lambda run: with_recordings(run, [each.recording for each in found], observations)

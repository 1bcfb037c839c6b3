"""Options for projects with findings: baselines, and findings on changed or staged lines only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.cli.output import Failure

if TYPE_CHECKING:
    import argparse

    from torchlint.model import RunResult
    from torchlint.run.baselines.accepted import AcceptedFindings
    from torchlint.run.baselines.baseline import Baseline
    from torchlint.run.discovery.since import Since
    from torchlint.run.narrow import Narrowing
    from torchlint.run.plan import Plan


def options(group: argparse._ArgumentGroup) -> None:
    """Add the options to the parser."""
    group.add_argument("--baseline", metavar="FILE", help="do not report the findings in this file, except new ones")
    group.add_argument("--no-baseline", action="store_true", help="ignore the baseline of the configuration")
    group.add_argument("--write-baseline", action="store_true", help="accept all present findings: write the baseline")
    group.add_argument(
        "--prune-baseline", action="store_true", help="drop the findings that no longer occur from the baseline"
    )
    group.add_argument(
        "--changed-since",
        metavar="REV",
        help="report only lines that are new since the merge base with this branch, tag or commit",
    )
    group.add_argument("--staged", action="store_true", help="lint what is staged in git, and report only staged lines")


class Prepared(NamedTuple):
    """The files to lint, which of their findings to report, and what to do with the result."""

    files: list[str]
    narrowing: Narrowing
    finish: Callable[[RunResult, RunResult], RunResult]


def refuse(arguments: argparse.Namespace, paths: Sequence[str]) -> None:
    """Refuse options that contradict each other."""
    lines = "--staged" if arguments.staged else "--changed-since" if arguments.changed_since is not None else None
    changes = [name for name in ("--write-baseline", "--prune-baseline") if getattr(arguments, _field(name))]
    if arguments.staged and arguments.changed_since is not None:
        raise Failure("--staged and --changed-since contradict each other; give one of them")
    if arguments.no_baseline and (arguments.baseline or changes):
        raise Failure(f"--no-baseline and {changes[0] if changes else '--baseline'} contradict each other")
    if len(changes) > 1:
        raise Failure("--write-baseline drops what no longer occurs, too; leave out --prune-baseline")
    for option in changes:
        if lines:
            raise Failure(f"{option} needs all findings of the files; leave out {lines}")
        if arguments.diff:
            raise Failure(f"{option}: --diff changes nothing; leave it out")
        if list(paths) == ["-"]:
            raise Failure(f"{option} needs files; standard input has no place in a baseline")
    if arguments.write_baseline and arguments.fix:
        raise Failure("--write-baseline accepts findings as they are; run --fix first, on its own")
    if lines and list(paths) == ["-"]:
        raise Failure(f"{lines} compares files in git; it cannot be used with standard input")


def prepare(arguments: argparse.Namespace, paths: Sequence[str], files: list[str], what: Plan) -> Prepared | None:
    """What the options ask for; None if all findings are reported."""
    changes = arguments.write_baseline or arguments.prune_baseline
    by_baseline = bool(what.config.baseline) or any(what.scope(path).config.baseline for path in files)
    by_lines = arguments.staged or arguments.changed_since is not None
    if changes and not by_baseline:
        option = "--write-baseline" if arguments.write_baseline else "--prune-baseline"
        raise Failure(f'{option}: say which file: --baseline FILE, or baseline = "FILE" in the configuration')
    if not (by_baseline or by_lines):
        return None
    from torchlint.run.narrow import Narrowing

    since = _since(arguments, paths, files, what) if by_lines else None
    files = since.files if since is not None else files
    notes = list(since.notes) if since is not None else []
    accepted = _accepted(arguments, files, what, notes) if by_baseline else None
    contents: Mapping[str, bytes] = since.contents if since is not None else {}
    left_alone = _left_alone(contents)
    narrowing = Narrowing(accepted, since.lines if since is not None else None, contents, left_alone)
    problems = since.problems if since is not None else ()

    def finish(every: RunResult, run: RunResult) -> RunResult:
        if accepted is not None and changes:
            run = _changed(arguments, accepted, narrowing, every, run, notes)
        if arguments.staged and arguments.fix and run.repairs is not None and run.repairs.fixed:
            notes.append("The fixes are not staged: look at them, and stage them with git add.")
        return run.with_problems(problems)._replace(notes=(*run.notes, *notes))

    return Prepared(files, narrowing, finish)


def _field(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _since(arguments: argparse.Namespace, paths: Sequence[str], files: list[str], what: Plan) -> Since:
    from torchlint.run.discovery import since
    from torchlint.vcs.git import GitProblem

    try:
        if arguments.staged:
            return since.staged(paths, files, what.scopes.configurations)
        return since.since(arguments.changed_since, paths, files)
    except GitProblem as problem:
        raise Failure(f"{'--staged' if arguments.staged else '--changed-since'}: {problem}") from None


def _left_alone(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Files whose staged content is not what is on disk are not fixed: the fixes would be for other text."""
    if not contents:
        return {}
    from torchlint.run.discovery.since import PARTLY_STAGED

    return dict.fromkeys(contents, PARTLY_STAGED)


def _accepted(arguments: argparse.Namespace, files: list[str], what: Plan, notes: list[str]) -> AcceptedFindings:
    from torchlint.run.baselines.accepted import AcceptedFindings
    from torchlint.run.baselines.baseline import BaselineProblem

    def renames(baseline: Baseline, missing: Sequence[str]) -> tuple[Mapping[str, str], frozenset[str]]:
        from torchlint.vcs.moves import moves

        found = moves(baseline.file, missing)
        if found.unknown is not None:
            gone = [path for path in missing if path not in found.names and path not in found.absent]
            more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
            where = f"{gone[0]}{more} of {baseline.file} no longer exist{'' if more else 's'}"
            notes.append(f"{where}; if renamed, its findings count as new: {found.unknown}.")
        return found.names, found.absent

    try:
        return AcceptedFindings(files, what, renames, create=arguments.write_baseline)
    except BaselineProblem as problem:
        raise Failure(str(problem)) from None


def _changed(
    arguments: argparse.Namespace,
    accepted: AcceptedFindings,
    narrowing: Narrowing,
    every: RunResult,
    run: RunResult,
    notes: list[str],
) -> RunResult:
    """Write or prune the baselines; returns the run as it is with them."""
    from torchlint.report.shared import plural
    from torchlint.run.baselines.baseline import BaselineProblem

    try:
        if arguments.prune_baseline:
            dropped = sum(entry.times for entry in run.obsolete)
            if names := " and ".join(accepted.prune(every)):
                done = f"Dropped {plural(dropped, 'finding')} from {names}."
                notes.append(done if dropped else f"Updated {names}: no finding was dropped.")
            return run._replace(obsolete=())
        written = accepted.accept(every)
    except BaselineProblem as problem:
        raise Failure(str(problem)) from None
    run = narrowing.narrowed(every)
    done = f"Wrote {' and '.join(written)}" if written else f"{' and '.join(accepted.files())} needs no change"
    notes.append(f"{done}: {plural(run.baselined, 'finding')} accepted.")
    return run

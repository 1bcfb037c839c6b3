"""``check --add-ignore``: writes suppression comments into the code, or shows them as a diff."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torchlint.cli.output import CLEAN, FAILED, FOUND, Failure, print_diff, print_text

if TYPE_CHECKING:
    import argparse

    from torchlint.cli.adoption import Prepared
    from torchlint.run.cache import Cache
    from torchlint.run.discovery.discover import Found
    from torchlint.run.fixing.ignorer import Ignored
    from torchlint.run.plan import Plan

_OTHERS = (
    "fix",
    "unsafe_fixes",
    "statistics",
    "output_file",
    "show_files",
    "show_settings",
    "clear_cache",
    "write_baseline",
    "prune_baseline",
)


def refuse(arguments: argparse.Namespace) -> None:
    """Raise :class:`Failure` for options that cannot be combined."""
    from torchlint.run.fixing.ignore_comments import reason_problem

    if not arguments.add_ignore:
        raise Failure("--reason: give --add-ignore, which writes the reason into the code")
    if arguments.paths == ["-"]:
        raise Failure("--add-ignore changes files, not standard input; name the files")
    for name in _OTHERS:
        if getattr(arguments, name):
            raise Failure(f"--add-ignore and --{name.replace('_', '-')} cannot be combined; run one after the other")
    if arguments.output_format != "text":
        raise Failure("--add-ignore prints text only; leave out --output-format, and lint again for a report")
    if arguments.reason is not None and (problem := reason_problem(arguments.reason)) is not None:
        raise Failure(f"--reason: {problem}")


def run(arguments: argparse.Namespace, what: Plan, found: Found, cache: Cache | None, prepared: Prepared | None) -> int:
    """Run the command and return the exit status: 1 if findings are left that make the run fail."""
    from torchlint.cli.progress import Bar
    from torchlint.run.fixing import fixer, ignorer
    from torchlint.run.fixing.ignore_comments import DEFAULT_REASON
    from torchlint.run.narrow import EVERYTHING

    files = prepared.files if prepared else found.files
    trees = None if arguments.diff else fixer.trees(arguments.paths or ["."], what.config)
    with Bar(len(files), quiet=arguments.quiet) as bar:
        done = ignorer.add_ignores(
            files,
            what,
            arguments.reason or DEFAULT_REASON,
            write_below=trees,
            jobs=arguments.jobs,
            cache=cache,
            progress=bar.progress,
            narrowing=prepared.narrowing if prepared else EVERYTHING,
        )
    if prepared is not None:
        done = done._replace(result=prepared.finish(done.result, done.result))
    done = done._replace(result=done.result.with_problems(found.problems))
    if arguments.diff:
        print_diff(fixer.diff(done.changes))
    lines = [*_remarks(done), *([] if arguments.quiet else _summary(done, what, written=not arguments.diff))]
    print_text("".join(f"{line}\n" for line in lines), sys.stderr if arguments.diff else sys.stdout)
    if done.result.problems:
        return FAILED
    failing = done.changes if arguments.diff else any(map(what.fails, done.result.findings))
    return FOUND if failing and not arguments.exit_zero else CLEAN


def _remarks(done: Ignored) -> list[str]:
    """Why findings were left, and what could not be done."""
    from torchlint.report.shared import place, problem_line
    from torchlint.text.visible import visible

    lines = []
    for finding in sorted(done.left, key=lambda finding: finding.sort_key):
        where = place(finding.path, finding.span.line, finding.span.column, cell=finding.cell)
        lines.append(f"{where}: {visible(finding.rule)} {visible(finding.name)} is left: {visible(done.left[finding])}")
    return lines + [problem_line(problem) for problem in done.result.problems]


def _summary(done: Ignored, what: Plan, *, written: bool) -> list[str]:
    from torchlint.report.shared import plural
    from torchlint.report.summary import about_baselines, not_checked

    count = plural(len(done.suppressed), "finding")
    where = plural(len({finding.path for finding in done.suppressed}), "file")
    if not done.suppressed:
        lines = [f"Nothing to suppress in {plural(done.result.files, 'file')}."]
    else:
        lines = [f"Suppressed {count} in {where}." if written else f"{count} in {where} would be suppressed."]
    below = sum(not what.fails(finding) and not finding.is_notice for finding in done.result.findings)
    if below:
        which = "finding does" if below == 1 else "findings do"
        lines.append(f"{below} other {which} not make the run fail; --fail-on info suppresses such findings too.")
    return lines + not_checked(done.result) + about_baselines(done.result)

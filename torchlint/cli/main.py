"""The main function of the command line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from torchlint.base.version import __version__
from torchlint.cli import disguised
from torchlint.cli.output import Failure, colored, need, print_text, write_file

if TYPE_CHECKING:
    import argparse

    from torchlint.config.config import Config
    from torchlint.model import Finding, RuleInfo, RunResult
    from torchlint.report import ReportOptions
    from torchlint.run.cache import Cache
    from torchlint.run.discover import Found
    from torchlint.run.plan import Plan

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        disguised.refuse(given)
        if given in (["--version"], ["-V"]):
            print(f"torchlint {__version__}")
            return CLEAN
        status = _run(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("torchlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return FAILED
    except Failure as failure:
        return _failed(str(failure))
    except OSError as error:
        _drop_output()
        return _failed(f"{error.filename or _nameless()}: {error.strerror or type(error).__name__}")


def _failed(reason: str) -> int:
    """Print in one escaped line why torchlint cannot do its work."""
    from torchlint.report.shared import visible

    print(f"torchlint: error: {visible(reason)}", file=sys.stderr)
    return FAILED


def _nameless() -> str:
    """The subject of a system error that names no file."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs start-up
    except OSError:
        return "the current folder"
    return "standard output"


def _drop_output() -> None:
    """Discard the remaining output, which has no reader; Python would try to write it at exit."""
    with contextlib.suppress(OSError, ValueError):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(given: list[str]) -> int:
    from torchlint.cli import options
    from torchlint.config.config import ConfigError
    from torchlint.run.registry import RegistryError

    given, program = options.split_program(options.with_command(given))
    arguments = options.parser(given[0] if given[0] in options.COMMANDS else None).parse_args(given)
    try:
        if arguments.command in options.COMPANION:
            from torchlint.base import interrupts
            from torchlint.cli import companion

            interrupts.give_back()  # signals reach the program being run, and folders are cleaned up
            return companion.run(arguments, program)
        return {"check": _check, "rule": _rule, "rules": _rules, "completion": _completion}[arguments.command](
            arguments
        )
    except (ConfigError, RegistryError) as error:
        raise Failure(str(error)) from None


# -- check ---------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace) -> int:
    from torchlint.cli import settings
    from torchlint.run import session

    paths = arguments.paths or ["."]
    if "-" in paths and len(paths) > 1:
        raise Failure("`-` reads standard input and cannot be mixed with paths")
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise Failure("--unsafe-fixes: give --fix to make the fixes, or --diff to see them")
    need(arguments.output_format)
    if arguments.diff and arguments.output_file:
        raise Failure("--diff prints to standard output: redirect that instead of giving --output-file")
    what = session.plan_of(settings.configured(arguments, paths))._replace(exhaustive=arguments.exhaustive)
    if arguments.show_settings:
        print(settings.shown(what), end="")
        return CLEAN
    if arguments.show_files and paths != ["-"]:
        return _show_files(paths, what)
    if arguments.fix or arguments.diff:
        return _repair(arguments, paths, what)
    run = _standard_input(arguments, what) if paths == ["-"] else _lint_paths(arguments, paths, what)
    _write(arguments, run)
    return _status(arguments, what, run)


def _standard_input(arguments: argparse.Namespace, what: Plan) -> RunResult:
    from torchlint.run import session

    path, data = _piped(arguments)
    return session.collect([what.lint(data, path)], what, files=1)


def _read_input(size: int) -> bytes:
    if sys.stdin is None:  # closed by the shell: `<&-`
        raise Failure("standard input is closed: pipe a file into `torchlint -`, or name its path")
    try:
        return sys.stdin.buffer.read(size)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise Failure(f"standard input cannot be read: {reason}") from None


def _piped(arguments: argparse.Namespace) -> tuple[str, bytes]:
    from torchlint.base.limits import MAX_BYTES
    from torchlint.run import sources

    path = arguments.stdin_filename or "<stdin>"
    data = _read_input(MAX_BYTES + 1)
    if (reason := sources.piped_problem(data, path)) is not None:
        raise Failure(f"{path}: {reason}")
    if len(data) > MAX_BYTES and (arguments.fix or arguments.diff):
        raise Failure("standard input is larger than 4 MB, which torchlint does not fix")
    _sources[path] = data
    return path, data


_sources: dict[str, bytes] = {}


def _lint_paths(arguments: argparse.Namespace, paths: list[str], what: Plan) -> RunResult:
    from torchlint.cli.progress import Bar
    from torchlint.run import session

    found = _found(paths, what)
    with _profiled(arguments), Bar(len(found.files), quiet=arguments.quiet) as bar:
        run = session.run(found.files, what, jobs=arguments.jobs, cache=_cache(arguments, what), progress=bar.progress)
    return _with_what_was_found(run, found)


@contextmanager
def _profiled(arguments: argparse.Namespace) -> Iterator[None]:
    """Run in one process, and write timings to the file of ``--profile``."""
    if not arguments.profile:
        yield
        return
    import json

    from torchlint.base import timings

    arguments.jobs = 1
    timings.start()
    with timings.phase("all"):
        yield
    write_file("--profile", arguments.profile, json.dumps({"seconds": timings.taken()}, indent=2) + "\n")


def _found(paths: list[str], what: Plan) -> Found:
    from torchlint.run import discover

    return discover.files(paths, what.scopes.configurations, os.getcwd())  # noqa: PTH109 - pathlib costs start-up


def _with_what_was_found(run: RunResult, found: Found) -> RunResult:
    return run.with_problems(found.problems)._replace(unfollowed=tuple(found.unfollowed))


def _show_files(paths: list[str], what: Plan) -> int:
    from torchlint.report.shared import visible

    files, problems, _ = _found(paths, what)
    print_text("".join(f"{visible(file)}\n" for file in files))
    if problems:
        raise Failure(f"{problems[0].path}: {problems[0].message}")
    return CLEAN


def _cache(arguments: argparse.Namespace, what: Plan) -> Cache | None:
    """The cache for this configuration, or None."""
    if arguments.no_cache or arguments.exhaustive:
        return None
    from torchlint.run.cache import for_settings

    return for_settings(what.rules, what.scopes, arguments.cache_dir)


# -- repairs -------------------------------------------------------------------------------------


def _repair(arguments: argparse.Namespace, paths: list[str], what: Plan) -> int:
    """``--fix`` and ``--diff``: write or print fixed files or standard input."""
    from torchlint.cli.progress import Bar
    from torchlint.model import Safety
    from torchlint.run import fixer

    allowed = Safety.UNSAFE if arguments.unsafe_fixes else Safety.SAFE
    if paths == ["-"]:
        path, data = _piped(arguments)
        fixed, run = fixer.fix_text(data, path, what, allowed)
        changes: Mapping[str, tuple[bytes, bytes]] = {path: (data, fixed)} if fixed != data else {}
        _sources[path] = fixed
        if not arguments.diff:
            _print_bytes(fixed)
            _write(arguments, run, sys.stderr)
            return _status(arguments, what, run)
    else:
        found = _found(paths, what)
        with Bar(len(found.files), quiet=arguments.quiet) as bar:
            options = {"jobs": arguments.jobs, "cache": _cache(arguments, what), "progress": bar.progress}
            trees = None if arguments.diff else fixer.trees(paths, what.config)
            done = fixer.fix_files(found.files, what, allowed, write_below=trees, **options)
        run, changes = _with_what_was_found(done.result, found), done.changes
    if arguments.diff:
        return _show_diff(arguments, run, changes)
    _write(arguments, run)
    return _status(arguments, what, run)


def _show_diff(arguments: argparse.Namespace, run: RunResult, changes: Mapping[str, tuple[bytes, bytes]]) -> int:
    """Print only the diff; other messages go to standard error."""
    from torchlint.report.shared import problem_line, repaired, visible
    from torchlint.run import fixer

    text = fixer.diff(changes)
    if sys.stdout.isatty():  # a diff on a terminal is not applied, and must not contain control sequences
        print_text("".join(f"{visible(line)}\n" for line in text.decode("utf-8", "replace").split("\n")[:-1]))
    else:
        _print_bytes(text)
    said = [problem_line(problem) for problem in run.problems]
    said += [] if arguments.quiet else [repaired(run, done="would be fixed")]
    print("".join(f"{line}\n" for line in said), end="", file=sys.stderr)
    if run.problems:
        return FAILED
    return FOUND if changes and not arguments.exit_zero else CLEAN


def _print_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


# -- the report ----------------------------------------------------------------------------------


def _write(arguments: argparse.Namespace, run: RunResult, stream: TextIO | None = None) -> None:
    from torchlint.report import renderer

    text = renderer(arguments.output_format)(run, _report_options(arguments))
    if arguments.output_file:
        write_file("--output-file", arguments.output_file, text)
    else:
        print_text(text, stream)


def _report_options(arguments: argparse.Namespace) -> ReportOptions:
    from torchlint.report import ReportOptions

    return ReportOptions(
        color=colored(arguments.color, to_file=bool(arguments.output_file)),
        verbose=arguments.verbose,
        quiet=arguments.quiet,
        statistics=arguments.statistics,
        source=_lines,
    )


def _lines(path: str) -> list[str] | None:
    """The lines of a file, for showing findings."""
    from torchlint.base.limits import content
    from torchlint.text.decode import DecodeProblem, decode
    from torchlint.text.lines import split_lines

    try:
        data = _sources[path] if path in _sources else content(path)
        return split_lines(decode(data))
    except (OSError, DecodeProblem):
        return None


def _status(arguments: argparse.Namespace, what: Plan, run: RunResult) -> int:
    if run.problems:
        return FAILED
    if arguments.exit_zero:
        return CLEAN
    return FOUND if any(_counts(finding, what.scope(finding.path).config) for finding in run.findings) else CLEAN


def _counts(finding: Finding, config: Config) -> bool:
    return config.fail_on is not None and finding.severity.rank >= config.fail_on.rank


# -- the other commands --------------------------------------------------------------------------


def _infos() -> tuple[RuleInfo, ...]:
    from torchlint.run import registry, session

    return session.infos(registry.load())


def _rule(arguments: argparse.Namespace) -> int:
    from torchlint import docs
    from torchlint.config.values import nearest

    infos = _infos()
    found = next((r for r in infos if arguments.name in (r.id, r.name)), None)
    if found is None:
        close = nearest(arguments.name, [word for r in infos for word in (r.id, r.name)])
        advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
        raise Failure(f"there is no rule {arguments.name!r}; {advice}")
    print(docs.as_json([found]) if arguments.format == "json" else docs.page(found), end="")
    return CLEAN


def _rules(arguments: argparse.Namespace) -> int:
    from torchlint import docs

    infos = _infos()
    print(docs.as_json(infos) if arguments.format == "json" else docs.listing(infos), end="")
    return CLEAN


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    from torchlint.cli import options

    print(shtab.complete(options.parser(), shell=arguments.shell))
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())

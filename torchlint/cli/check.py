"""The ``check`` command: lints paths or standard input, or fixes them, and prints the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from torchlint.base.interpreter import few_full_collections
from torchlint.cli.output import (
    CLEAN,
    FAILED,
    FOUND,
    Failure,
    colored,
    need,
    print_bytes,
    print_diff,
    print_text,
    write_file,
)

if TYPE_CHECKING:
    import argparse

    from torchlint.cli.adoption import Prepared
    from torchlint.model import RunResult
    from torchlint.report import ReportOptions
    from torchlint.run.cache import Cache
    from torchlint.run.discovery.context import Context
    from torchlint.run.discovery.discover import Found
    from torchlint.run.notebooks import Shown
    from torchlint.run.plan import Plan

# Wider text is harder to read.
_WIDEST = 120
# What was piped in, or what fixes made of it, by its displayed path.
_sources: dict[str, bytes] = {}
_notebooks: dict[str, Shown] = {}


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    from torchlint.cli import adoption, recorded, settings
    from torchlint.run import session

    _sources.clear()  # of an earlier run in this process
    _notebooks.clear()
    paths = _paths(arguments)
    need(arguments.output_format)
    _refuse(arguments)
    adoption.refuse(arguments, paths)
    recorded.refuse(arguments, paths)
    what = session.plan_of(settings.configured(arguments, paths))
    what = what._replace(exhaustive=arguments.exhaustive, around=_context(arguments, paths, what))
    what = recorded.with_evidence(arguments, what)
    if arguments.add_ignore or arguments.reason is not None:
        from torchlint.cli import ignoring

        ignoring.refuse(arguments)
        found = _found(paths, what)
        prepared = _prepared(arguments, paths, found.files, what)
        return ignoring.run(arguments, what, found, _cache(arguments, what), prepared)
    if arguments.show_settings:
        print(settings.shown(what), end="")
        return CLEAN
    if arguments.clear_cache:
        return _clear_cache(arguments, what)
    if arguments.show_files and paths != ["-"]:
        return _show_files(paths, what)
    if arguments.fix or arguments.diff:
        return _repair(arguments, paths, what)
    result = _standard_input(arguments, what) if paths == ["-"] else _lint_paths(arguments, paths, what)
    _write(arguments, what, result)
    return _status(arguments, what, result)


def _refuse(arguments: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise Failure("--unsafe-fixes: give --fix to make the fixes, or --diff to see them")
    if arguments.diff and arguments.output_file:
        raise Failure("--diff prints to standard output: redirect that instead of giving --output-file")
    if arguments.statistics and arguments.diff:
        raise Failure("--diff and --statistics cannot be combined; run one after the other")
    if arguments.statistics and arguments.output_format not in ("text", "concise", "json"):
        raise Failure(f"--statistics prints text or JSON; leave out --output-format {arguments.output_format}")


def _paths(arguments: argparse.Namespace) -> list[str]:
    """What to lint: ``-`` alone for standard input, which a name for it asks for as well."""
    named = arguments.stdin_filename is not None
    paths: list[str] = arguments.paths or ["-" if named else "."]
    if "-" in paths and len(paths) > 1:
        raise Failure("`-` reads standard input and cannot be mixed with paths")
    if named and paths != ["-"]:
        raise Failure("--stdin-filename is a name for standard input; leave it out to lint paths")
    return paths


def _context(arguments: argparse.Namespace, paths: list[str], what: Plan) -> Context:
    """The files around the given ones, or around the one that standard input is the content of."""
    from torchlint.run.discovery import context

    given = paths if paths != ["-"] else [arguments.stdin_filename] if arguments.stdin_filename else []
    return context.around(given, what.scopes.configurations) if arguments.context else context.NONE


def _standard_input(arguments: argparse.Namespace, what: Plan) -> RunResult:
    from torchlint.run import session
    from torchlint.run.discovery.sources import is_notebook
    from torchlint.run.results import collect

    path, data = _piped(arguments)
    if what.around.files and is_notebook(path) == is_notebook(path, data):
        run = session.run([path], what, jobs=1, cache=_cache(arguments, what), given={path: data})
    else:
        run = collect([session.lint_text(data, path, what)], what, files=1)
    prepared = _prepared(arguments, ["-"], [path], what)
    return prepared.finish(run, prepared.narrowing.narrowed(run)) if prepared is not None else run


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
    from torchlint.run.discovery import sources

    path = arguments.stdin_filename or "<stdin>"
    data = _read_input(MAX_BYTES + 1)
    notebook = sources.is_notebook(path, data)
    if notebook and len(data) > MAX_BYTES:
        from torchlint.notebook.document import MAX_BYTES as LARGEST

        data += _read_input(LARGEST + 1 - len(data))
    if len(data) > MAX_BYTES and not notebook and (arguments.fix or arguments.diff):
        raise Failure("standard input is larger than 4 MB, which torchlint does not fix")
    _sources[path] = data
    return path, data


def _lint_paths(arguments: argparse.Namespace, paths: list[str], what: Plan) -> RunResult:
    from torchlint.cli import recorded
    from torchlint.cli.progress import Bar
    from torchlint.run import session, unmatched

    found = _found(paths, what)
    prepared = _prepared(arguments, paths, found.files, what)
    files, given = (prepared.files, prepared.narrowing.contents) if prepared is not None else (found.files, None)
    with_recordings = recorded.reader(arguments, files, what, _lines, _content)
    with few_full_collections(), _profiled(arguments), Bar(len(files), quiet=arguments.quiet) as bar:
        options = {"jobs": arguments.jobs, "cache": _cache(arguments, what), "progress": bar.progress}
        run = session.run(files, what, given=given, **options)
    run = _with_what_was_found(run, found)
    run = run._replace(notes=(*run.notes, *unmatched.notes(paths, found.files, what)))
    run = prepared.finish(run, prepared.narrowing.narrowed(run)) if prepared is not None else run
    return with_recordings(run)


def _prepared(arguments: argparse.Namespace, paths: list[str], files: list[str], what: Plan) -> Prepared | None:
    """What the options for code with many findings ask for; what they lint is also what reports show."""
    from torchlint.cli import adoption

    prepared = adoption.prepare(arguments, paths, files, what)
    _sources.update(prepared.narrowing.contents if prepared is not None else {})
    return prepared


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
    from torchlint.run.discovery import discover

    return discover.files(paths, what.scopes.configurations, os.getcwd())  # noqa: PTH109 - pathlib costs start-up


def _with_what_was_found(run: RunResult, found: Found) -> RunResult:
    return run.with_problems(found.problems)._replace(unfollowed=tuple(found.unfollowed))


def _show_files(paths: list[str], what: Plan) -> int:
    from torchlint.text.visible import visible_path

    files, problems, _ = _found(paths, what)
    print_text("".join(f"{visible_path(file)}\n" for file in files))
    if problems:
        raise Failure(f"{problems[0].path}: {problems[0].message}")
    return CLEAN


def _cache(arguments: argparse.Namespace, what: Plan) -> Cache | None:
    """The cache for this configuration, or None."""
    if arguments.no_cache or arguments.exhaustive:
        return None
    from torchlint.run.cache import for_settings

    return for_settings(what.rules, what.scopes, arguments.cache_dir)


def _clear_cache(arguments: argparse.Namespace, what: Plan) -> int:
    from torchlint.run import cache
    from torchlint.text.visible import visible_path

    folder = cache.folder(what.scopes, arguments.cache_dir)
    deleted = cache.clear(folder, own=not arguments.cache_dir)
    print(f"Deleted {deleted} cache{'' if deleted == 1 else 's'} in {visible_path(str(folder))}.")
    return CLEAN


# -- repairs -------------------------------------------------------------------------------------


def _repair(arguments: argparse.Namespace, paths: list[str], what: Plan) -> int:
    """``--fix`` and ``--diff``: write or print fixed files or standard input."""
    from torchlint.cli.progress import Bar
    from torchlint.model import Safety
    from torchlint.run.fixing import fixer
    from torchlint.run.narrow import EVERYTHING

    allowed = Safety.UNSAFE if arguments.unsafe_fixes else Safety.SAFE
    if paths == ["-"]:
        path, data = _piped(arguments)
        prepared = _prepared(arguments, paths, [path], what)
        fixed, run = fixer.fix_text(data, path, what, allowed, prepared.narrowing if prepared else EVERYTHING)
        run = prepared.finish(run, run) if prepared else run
        changes: Mapping[str, tuple[bytes, bytes]] = {path: (data, fixed)} if fixed != data else {}
        _sources[path] = fixed
        if not arguments.diff:
            print_bytes(fixed)
            _write(arguments, what, run, sys.stderr)
            return _status(arguments, what, run)
    else:
        found = _found(paths, what)
        prepared = _prepared(arguments, paths, found.files, what)
        files = prepared.files if prepared else found.files
        with Bar(len(files), quiet=arguments.quiet) as bar:
            options = {"jobs": arguments.jobs, "cache": _cache(arguments, what), "progress": bar.progress}
            trees = None if arguments.diff else fixer.trees(paths, what.config)
            narrowing = prepared.narrowing if prepared else EVERYTHING
            done = fixer.fix_files(files, what, allowed, write_below=trees, narrowing=narrowing, **options)
        run, changes = _with_what_was_found(done.result, found), done.changes
        run = prepared.finish(done.every, run) if prepared else run
    if arguments.diff:
        return _show_diff(arguments, run, changes)
    _write(arguments, what, run)
    return _status(arguments, what, run)


def _show_diff(arguments: argparse.Namespace, run: RunResult, changes: Mapping[str, tuple[bytes, bytes]]) -> int:
    """Print only the diff; other messages go to standard error."""
    from torchlint.report.shared import problem_line
    from torchlint.report.summary import about_baselines, repaired
    from torchlint.run.fixing import fixer

    print_diff(fixer.diff(changes))
    said = [problem_line(problem) for problem in run.problems]
    said += [] if arguments.quiet else [repaired(run, done="would be fixed"), *about_baselines(run)]
    print("".join(f"{line}\n" for line in said), end="", file=sys.stderr)
    if run.problems:
        return FAILED
    return FOUND if changes and not arguments.exit_zero else CLEAN


# -- the report ----------------------------------------------------------------------------------


def _write(arguments: argparse.Namespace, what: Plan, run: RunResult, stream: TextIO | None = None) -> None:
    from torchlint.report import renderer
    from torchlint.report.causes import by_cause

    run = by_cause(run, whole=bool(arguments.verbose))
    text = renderer(arguments.output_format)(run, _report_options(arguments, what, run, stream))
    if arguments.output_file:
        write_file("--output-file", arguments.output_file, text)
    else:
        print_text(text, stream)


def _report_options(arguments: argparse.Namespace, what: Plan, run: RunResult, stream: TextIO | None) -> ReportOptions:
    from torchlint.cli.terminal import columns, hyperlinks
    from torchlint.report import WIDTH, ReportOptions

    to_file = bool(arguments.output_file)
    color = colored(arguments.color, to_file=to_file, stream=stream)
    return ReportOptions(
        color=color,
        links=color and not to_file and hyperlinks(stream),
        width=WIDTH if to_file else min(columns() or WIDTH, _WIDEST),
        show_info=arguments.show_info or _fails_on_info(what, run),
        verbose=arguments.verbose,
        quiet=arguments.quiet,
        statistics=arguments.statistics,
        source=_lines,
        file_line=_file_line,
    )


def _fails_on_info(what: Plan, run: RunResult) -> bool:
    """Whether a finding of severity info makes the exit status 1; such findings are not hidden."""
    from torchlint.model import Severity

    return any(finding.severity is Severity.INFO and what.fails(finding) for finding in run.findings)


def _lines(path: str, cell: int | None = None) -> list[str] | None:
    """The lines of a file or of a cell of a notebook, for showing findings."""
    from torchlint.base.limits import content
    from torchlint.run.discovery.sources import is_notebook
    from torchlint.text.decode import DecodeProblem, decode
    from torchlint.text.lines import split_lines

    if is_notebook(path, _sources.get(path, b"")):
        from torchlint.run.notebooks import Shown

        if path not in _notebooks:
            _notebooks[path] = Shown(path, _sources.get(path))
        return _notebooks[path].lines(cell)
    try:
        data = _sources[path] if path in _sources else content(path)
        return split_lines(decode(data))
    except (OSError, DecodeProblem):
        return None


def _content(path: str) -> bytes | None:
    """The content of a file as it was linted; None if it cannot be read."""
    from torchlint.base.limits import content

    try:
        return _sources[path] if path in _sources else content(path)
    except OSError:
        return None


def _file_line(path: str, cell: int, line: int) -> int | None:
    """The line of a file on which a line of a cell is."""
    _lines(path, cell)
    return _notebooks[path].file_line(cell, line) if path in _notebooks else None


def _status(arguments: argparse.Namespace, what: Plan, run: RunResult) -> int:
    if run.problems:
        return FAILED
    if arguments.exit_zero:
        return CLEAN
    return FOUND if any(map(what.fails, run.findings)) else CLEAN

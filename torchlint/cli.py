"""The command line: reads arguments, prints, and sets the exit status. Nothing else does any of these."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint import __version__

if TYPE_CHECKING:
    import argparse

    from torchlint.cache import Cache
    from torchlint.config import Config
    from torchlint.model import RuleInfo, RunResult
    from torchlint.report import ReportOptions
    from torchlint.session import Plan, Progress

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
_LONG_RUN = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        print(f"torchlint {__version__}")
        return CLEAN
    try:
        status = _run(given)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("torchlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except _Failure as failure:
        print(f"torchlint: error: {failure}", file=sys.stderr)
        return FAILED


class _Failure(Exception):
    """torchlint cannot do its work: one line that says why and what to do."""


def _run(given: list[str]) -> int:
    from torchlint import options
    from torchlint.config import ConfigError
    from torchlint.registry import RegistryError

    arguments = options.parser().parse_args(options.with_command(given))
    command = {"check": _check, "rule": _rule, "rules": _rules, "completion": _completion}[arguments.command]
    try:
        return command(arguments)
    except (ConfigError, RegistryError) as error:
        raise _Failure(str(error)) from None


# -- check ---------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace) -> int:
    from torchlint import session

    paths = arguments.paths or ["."]
    if "-" in paths and len(paths) > 1:
        raise _Failure("`-` reads standard input and cannot be mixed with paths")
    config = _config(arguments, paths)
    what = session.plan(config)
    if arguments.show_settings:
        return _show_settings(what)
    run = _standard_input(arguments, what) if paths == ["-"] else _lint_paths(arguments, paths, what)
    if run is None:
        return CLEAN
    _write(arguments, run)
    return _status(arguments, config, run)


def _config(arguments: argparse.Namespace, paths: list[str]) -> Config:
    """The configuration file nearest to the first path, overridden by options."""
    from pathlib import Path

    from torchlint.config import load, read_value

    first = (arguments.stdin_filename or ".") if paths == ["-"] else paths[0]
    explicit = Path(arguments.config) if arguments.config else None
    config = load(Path(first), explicit=explicit, isolated=arguments.isolated)
    changes: dict[str, object] = {}
    if arguments.select:
        changes["select"] = _selectors("--select", arguments.select)
        changes["ignore"] = ()
    if arguments.ignore:
        changes["ignore"] = (*config.ignore, *_selectors("--ignore", arguments.ignore))
    if arguments.extend_select:
        added = _selectors("--extend-select", arguments.extend_select)
        changes["extend_select"] = (*config.extend_select, *added)
    if arguments.per_file_ignores:
        changes["per_file_ignores"] = (*config.per_file_ignores, *_per_file(arguments.per_file_ignores))
    if arguments.exclude:
        changes["exclude"] = (*config.exclude, *arguments.exclude)
    if arguments.target_torch:
        changes["target_torch"] = read_value("target-torch", arguments.target_torch, "--target-torch")
    if arguments.fail_on:
        changes["fail_on"] = read_value("fail-on", arguments.fail_on, "--fail-on")
    if arguments.force_exclude:
        changes["force_exclude"] = True
    return replace(config, **changes)  # type: ignore[arg-type]


def _selectors(option: str, given: list[str]) -> tuple[str, ...]:
    """The selectors of an option that may be repeated and takes comma-separated lists."""
    from torchlint.registry import load
    from torchlint.select import check

    listed = tuple(part.strip() for text in given for part in text.split(",") if part.strip())
    check(listed, load(), option)
    return listed


def _per_file(given: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for text in given:
        glob, colon, rules = text.rpartition(":")
        if not colon or not glob:
            raise _Failure(f"--per-file-ignores: {text!r} is not GLOB:RULES, such as 'tests/**:TL7,TL101'")
        found.append((glob, _selectors("--per-file-ignores", [rules])))
    return found


def _standard_input(arguments: argparse.Namespace, what: Plan) -> RunResult:
    from torchlint import session

    data = sys.stdin.buffer.read()
    path = arguments.stdin_filename or "<stdin>"
    _sources[path] = data
    return session.collect([what.lint(data, path)], what, files=1)


_sources: dict[str, bytes] = {}


def _lint_paths(arguments: argparse.Namespace, paths: list[str], what: Plan) -> RunResult | None:
    from torchlint import discover, session

    files, problems = discover.files(paths, what.config, os.getcwd())  # noqa: PTH109 - pathlib costs start-up
    if arguments.show_files:
        print("\n".join(files))
        if problems:
            raise _Failure(f"{problems[0].path}: {problems[0].message}")
        return None
    with _Bar(arguments, len(files)) as bar:
        run = session.run(files, what, jobs=arguments.jobs, cache=_cache(arguments, what), progress=bar.progress)
    return replace(run, problems=tuple(sorted((*problems, *run.problems), key=lambda p: p.sort_key)))


def _cache(arguments: argparse.Namespace, what: Plan) -> Cache | None:
    """The cache for this configuration, or None."""
    if arguments.no_cache:
        return None
    from pathlib import Path

    from torchlint.cache import NAME, Cache, digest

    directory = Path(arguments.cache_dir) if arguments.cache_dir else Path(what.config.root, NAME)
    key = digest(*(part.encode() for part in _cache_key(what)))
    return Cache(directory, key)


def _cache_key(what: Plan) -> list[str]:
    """Everything besides the file itself that a result depends on."""
    import platform

    sources = [f"{rule.__module__}.{rule.__qualname__}" for rule in what.rules]
    settings = replace(what.config, fail_on=None, exclude=(), source=None, force_exclude=False)
    return [
        __version__,
        platform.python_version(),
        *_stamps(),
        *sources,
        repr(sorted(what.active)),
        repr(settings),
    ]


def _stamps() -> list[str]:
    """What changes when torchlint's own code or its parser changes, also in a checkout."""
    from importlib.metadata import version
    from pathlib import Path

    root = Path(__file__).parent
    stamps = [f"{file.relative_to(root)}:{file.stat().st_mtime_ns}" for file in sorted(root.rglob("*.py"))]
    return [version("libcst"), *stamps]


class _Bar:
    """A progress bar on standard error, for long runs on a terminal."""

    def __init__(self, arguments: argparse.Namespace, total: int) -> None:
        self._shown = total >= _LONG_RUN and not arguments.quiet and sys.stderr.isatty()
        self._total = total
        self.progress: Progress | None = None

    def __enter__(self) -> _Bar:
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(total=self._total, unit="file", leave=False, delay=0.5, file=sys.stderr)
            self.progress = self._advance
        return self

    def _advance(self, count: int) -> None:
        self._bar.update(count)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.close()


# -- the report ----------------------------------------------------------------------------------


def _write(arguments: argparse.Namespace, run: RunResult) -> None:
    from torchlint.report import renderer

    text = renderer(arguments.output_format)(run, _report_options(arguments))
    if arguments.output_file:
        _write_file(arguments.output_file, text)
    else:
        _print(text)


def _print(text: str) -> None:
    """Print text that may hold what the terminal's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _write_file(name: str, text: str) -> None:
    from pathlib import Path

    target = Path(name)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise _Failure(f"--output-file: {name} cannot be written: {error.strerror}") from None


def _report_options(arguments: argparse.Namespace) -> ReportOptions:
    from torchlint.report import ReportOptions

    return ReportOptions(
        color=_colored(arguments),
        verbose=arguments.verbose,
        quiet=arguments.quiet,
        statistics=arguments.statistics,
        source=_lines,
    )


def _colored(arguments: argparse.Namespace) -> bool:
    if arguments.color != "auto":
        return bool(arguments.color == "always")
    if arguments.output_file or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _lines(path: str) -> list[str] | None:
    """The lines of a file that findings are shown with."""
    from pathlib import Path

    from torchlint.decode import DecodeProblem, decode
    from torchlint.text import split_lines

    try:
        data = _sources[path] if path in _sources else Path(path).read_bytes()
        return split_lines(decode(data))
    except (OSError, DecodeProblem):
        return None


def _status(arguments: argparse.Namespace, config: Config, run: RunResult) -> int:
    if run.problems:
        return FAILED
    least = config.fail_on
    if arguments.exit_zero or least is None:
        return CLEAN
    return FOUND if any(f.severity.rank >= least.rank for f in run.findings) else CLEAN


# -- the other commands --------------------------------------------------------------------------


def _show_settings(what: Plan) -> int:
    import json

    config = what.config
    settings = {
        "source": config.source,
        "root": config.root,
        "rules": sorted(what.active),
        "per-file-ignores": {glob: list(rules) for glob, rules in config.per_file_ignores},
        "exclude": list(config.exclude),
        "force-exclude": config.force_exclude,
        "target-torch": config.target_torch,
        "fail-on": config.fail_on.value if config.fail_on else "never",
        "rule-options": {name: dict(options) for name, options in config.rules.items()},
    }
    print(json.dumps(settings, indent=2))
    return CLEAN


def _infos() -> tuple[RuleInfo, ...]:
    from torchlint import registry, session

    return session.infos(registry.load())


def _rule(arguments: argparse.Namespace) -> int:
    from torchlint import docs
    from torchlint.config import nearest

    infos = _infos()
    found = next((r for r in infos if arguments.name in (r.id, r.name)), None)
    if found is None:
        close = nearest(arguments.name, [word for r in infos for word in (r.id, r.name)])
        advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
        raise _Failure(f"there is no rule {arguments.name!r}; {advice}")
    print(docs.as_json([found]) if arguments.format == "json" else docs.page(found), end="")
    return CLEAN


def _rules(arguments: argparse.Namespace) -> int:
    from torchlint import docs

    infos = _infos()
    print(docs.as_json(infos) if arguments.format == "json" else docs.listing(infos), end="")
    return CLEAN


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    from torchlint import options

    print(shtab.complete(options.parser(), shell=arguments.shell))
    return CLEAN


if __name__ == "__main__":
    sys.exit(main())

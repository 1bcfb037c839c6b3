"""The ``scan`` command: lints data sets and folders of repositories, and summarizes what was found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torchlint.base.version import installation
from torchlint.cli.output import CLEAN, FAILED, FOUND, Failure, need, print_text, write_file

if TYPE_CHECKING:
    import argparse

    from torchlint.config.config import Config
    from torchlint.scan.scan import Progress

_EXTRA = {"ray": "Ray", "pyarrow": "PyArrow"}


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    _need_extra(only_arrow=arguments.summary)
    need(arguments.output_format)
    from torchlint.scan.problems import ScanError

    try:
        return _summary(arguments, arguments.input) if arguments.summary else _scan(arguments)
    except ScanError as error:
        raise Failure(str(error)) from None


def _need_extra(*, only_arrow: bool) -> None:
    from importlib.util import find_spec

    missing = [name for name in _EXTRA if find_spec(name) is None and not (only_arrow and name == "ray")]
    if missing:
        names = " and ".join(_EXTRA[name] for name in missing)
        raise Failure(f"scan needs {names}: {installation('scan')}")


def _scan(arguments: argparse.Namespace) -> int:
    from torchlint.run.processes.processors import usable_cpus
    from torchlint.scan.columns import Columns
    from torchlint.scan.scan import Request, scan

    if not arguments.output:
        raise Failure("scan: give --output DIR, the folder for the results")
    if arguments.address is not None and arguments.jobs:
        raise Failure("--jobs: with --address, the cluster decides how many processes there are")
    config = _config(arguments)
    request = Request(
        arguments.input,
        arguments.output,
        Columns(arguments.repo_column, arguments.path_column, arguments.content_column),
        config,
        arguments.jobs or usable_cpus(),
        arguments.address,
        arguments.resume,
        arguments.repository_limit * 1_000_000,
    )
    told = scan(request, _progress(quiet=arguments.quiet))
    if not arguments.quiet or arguments.output_file:
        _summary(arguments, arguments.output)
    return _status(arguments, told, config)


def _config(arguments: argparse.Namespace) -> Config:
    """The configuration of all repositories: the given one or none, with the changes of options."""
    from torchlint.cli.settings import changes
    from torchlint.config.configurations import configurations
    from torchlint.run.session import plan_of

    change = changes(arguments).made
    given = configurations(".", change, explicit=arguments.config or None, isolated=not arguments.config)
    return plan_of(given).config  # checked against the rules


def _progress(*, quiet: bool) -> Progress:
    """Tell on a terminal how far the scan is."""
    shown = not quiet and sys.stderr.isatty()

    def progress(what: str, done: int, total: int) -> None:
        if shown:
            end = "\n" if done == total else ""
            print(f"\r\x1b[K{what}: {done} of {total}", end=end, file=sys.stderr, flush=True)

    return progress


def _status(arguments: argparse.Namespace, told: dict[str, Any], config: Config) -> int:
    from torchlint.model import Severity

    counts = told["counts"]
    if told["left_out"] or counts["files"].get("failed") or set(counts["files"]) == {"malformed"}:
        return FAILED
    if arguments.exit_zero or config.fail_on is None:
        return CLEAN
    least = config.fail_on.rank
    return FOUND if any(n and Severity(name).rank >= least for name, n in counts["findings"].items()) else CLEAN


def _summary(arguments: argparse.Namespace, folder: str) -> int:
    """Write the summary of the scan in a folder."""
    from torchlint.scan.summary import as_json, as_text, summarize

    found = summarize(folder)
    if arguments.output_format == "html":
        from torchlint.scan.html import page

        text = page(found)
    else:
        text = (as_json if arguments.output_format == "json" else as_text)(found)
    if arguments.output_file:
        write_file("--output-file", arguments.output_file, text)
    else:
        print_text(text)
    return CLEAN

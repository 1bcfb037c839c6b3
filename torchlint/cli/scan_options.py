"""The options of the ``scan`` command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from torchlint.config.values import FAIL_ON

_EXAMPLES = """\
examples:
  torchlint scan data/ --output scan                    Parquet, JSONL or Arrow files
  torchlint scan 'data/*.parquet' --output scan --content-column code
  torchlint scan checkouts/ --output scan               a folder of repositories or of archives
  torchlint scan s3://bucket/data --output s3://bucket/scan --address auto
  torchlint scan data/ --output scan --resume           do what is missing
  torchlint scan --summary scan                         show what was found

Needs the extra torchlint[scan]. Exit status: 0 nothing found, 1 findings, 2 something could not be read, linted or
written, which the summary names.
"""


def add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    formatter: type[argparse.HelpFormatter],
    positive: Callable[[str], int],
) -> None:
    """Add the command to the parser."""
    scan = commands.add_parser(
        "scan",
        help="lint data sets of code, and folders of repositories or archives",
        description="Lint more code than one machine holds, on Ray: data sets, repositories, archives.",
        epilog=_EXAMPLES,
        formatter_class=formatter,
    )
    scan.add_argument(
        "input", metavar="INPUT", help="a file, folder, glob or URI; with --summary, the folder of a scan"
    )
    scan.add_argument("--output", metavar="DIR", help="the folder or URI for the results")
    scan.add_argument("--resume", action="store_true", help="go on with the scan in --output: do what is missing")
    scan.add_argument("--summary", action="store_true", help="show what a scan found, instead of scanning")
    _input(scan.add_argument_group("input"))
    _rules(scan.add_argument_group("which rules"))
    _running(scan.add_argument_group("running"), positive)
    _output(scan.add_argument_group("output"))


def _input(group: argparse._ArgumentGroup) -> None:
    usual = "default: the first usual name that is there, such as"
    group.add_argument("--repo-column", metavar="NAME", help=f"the column of the repository; {usual} repo_name")
    group.add_argument("--path-column", metavar="NAME", help=f"the column of the path; {usual} file_path")
    group.add_argument("--content-column", metavar="NAME", help=f"the column of the source; {usual} content")
    group.add_argument("--exclude", metavar="GLOB", action="append", help="exclude these files and folders")


def _rules(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--select", metavar="RULES", action="append", help="run these rules only")
    group.add_argument("--extend-select", metavar="RULES", action="append", help="run these rules too")
    group.add_argument("--ignore", metavar="RULES", action="append", help="do not run these rules")
    group.add_argument("--preview", action="store_true", help="run the rules of the group preview too")
    group.add_argument(
        "--per-file-ignores", metavar="GLOB:RULES", action="append", help="do not report these rules in these files"
    )
    group.add_argument("--target-torch", metavar="VERSION", help="the oldest torch the code must run on, such as 2.4")
    group.add_argument(
        "--config", metavar="FILE", help="read this configuration; default: none, not even that of a repository"
    )


def _running(group: argparse._ArgumentGroup, positive: Callable[[str], int]) -> None:
    group.add_argument("-j", "--jobs", metavar="N", type=positive, help="processes; default: one for each processor")
    group.add_argument("--address", metavar="ADDRESS", help="a Ray cluster, such as auto; default: this machine")
    group.add_argument(
        "--repository-limit",
        metavar="MB",
        type=positive,
        default=256,
        help="megabytes of Python in a repository above which it is linted in parts; default: 256",
    )


def _output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output-format", choices=("text", "html", "json"), default="text", help="of the summary; default: text"
    )
    group.add_argument("--output-file", metavar="FILE", help="write the summary to a file")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress, and no summary after a scan")
    group.add_argument(
        "--fail-on", choices=FAIL_ON, help="the lowest severity that makes the exit status 1; default: warning"
    )
    group.add_argument("--exit-zero", action="store_true", help="exit with status 0 even if there are findings")

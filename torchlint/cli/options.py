"""The argument parser: subcommands, options and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchlint.base.version import __version__
from torchlint.cli import adoption, recorded
from torchlint.cli.parsing import Help, Parser, microseconds, refuse_unknown
from torchlint.config.values import FAIL_ON
from torchlint.report import FORMATS

# The commands of the runtime companion; the first two take a program.
COMPANION = ("confirm", "compare", "verdict", "calibrate")
COMMANDS = ("check", "rule", "rules", "completion", "scan", "server", *COMPANION)
_SELECTORS = "comma-separated ids (TL101), names, prefixes (TL4), topics (loading), groups (waste), presets (ci) or ALL"
_EXAMPLES = """\
examples:
  torchlint                          lint the current folder
  torchlint train.py src/            lint a file and a folder
  torchlint --select loading src/    only the rules about data loading
  torchlint --output-format sarif --output-file torchlint.sarif .
  torchlint --fix src/               repair what is safe to repair
  torchlint --diff --unsafe-fixes .  show everything that could be repaired
  torchlint rule hardcoded-cuda      explain a rule
  torchlint rules                    list the rules
  torchlint confirm -- train.py      run a program, and report what its findings cost
  torchlint scan data/ --output scan lint data sets of code, or folders of repositories

Exit status: 0 nothing found, 1 findings (with --fix: left; with --diff: changes), 2 torchlint could not do its work,
130 interrupted (143 and 129: ended by SIGTERM and SIGHUP).
Suppress a finding with `# torchlint: ignore[TL101] reason` on a line of the statement.
"""


def with_command(arguments: Sequence[str]) -> list[str]:
    """``torchlint path`` means ``torchlint check path``. Raises ``Failure`` for a misspelled command."""
    if arguments and arguments[0] in (*COMMANDS, "-h", "--help", "--version", "-V"):
        return list(arguments)
    if arguments:
        refuse_unknown(arguments, COMMANDS)
    return ["check", *arguments]


def split_program(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the command line at ``--``: torchlint's own arguments, and the program to observe with its arguments."""
    given = list(arguments)
    if given[0] not in COMPANION or "--" not in given:
        return given, []
    at = given.index("--")
    return given[:at], given[at + 1 :]


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The argument parser; with ``only``, that of one command, which is faster to create."""
    top: argparse.ArgumentParser = Parser(
        prog="torchlint",
        description="Find PyTorch code that wastes time. Linting reads code and never runs it.",
        epilog=_EXAMPLES + "\n`torchlint check --help` shows the options of linting.",
        formatter_class=Help,
    )
    top.add_argument("-V", "--version", action="version", version=f"torchlint {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, prog=top.prog)
    for name, add in _ADDED.items():
        if only in (None, name):
            add(commands)
    return top


def _rule(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rule = commands.add_parser("rule", help="explain one rule", description="Explain one rule, or all of them.")
    rule.add_argument("name", metavar="RULE", nargs="?", help="an id (TL101) or a name (tensor-copies-ndarray)")
    rule.add_argument("--all", action="store_true", help="explain all rules")
    _lookup_format(rule)


def _rules(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rules = commands.add_parser("rules", help="list the rules", description="List the rules, or some of them.")
    rules.add_argument("rules", metavar="RULES", nargs="*", help=f"list these rules only: {_SELECTORS}")
    _lookup_format(rules)


def _lookup_format(parser: argparse.ArgumentParser) -> None:
    formats = ("text", "json")
    parser.add_argument("--output-format", choices=formats, default="text", help="default: text")
    # The name that the option had before.
    parser.add_argument(
        "--format", dest="output_format", choices=formats, default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )


def _completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = commands.add_parser(
        "completion",
        help="print a shell completion script",
        description="Print a completion script, for example: torchlint completion bash > ~/.torchlint-completion",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


def _server(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    server = commands.add_parser(
        "server",
        help="start the language server, for editors",
        description="Speak the Language Server Protocol over standard input and output. Editors start it.",
    )
    server.add_argument("--stdio", action="store_true", help="ignored: the server always uses standard streams")


def _check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser(
        "check",
        help="lint files and folders (the default)",
        description="Lint files and folders. A folder means the Python files and notebooks below it.",
        epilog=_EXAMPLES,
        formatter_class=Help,
    )
    check.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and folders; `-` is standard input; default: the current folder",
    )
    add_linting(check)


def add_linting(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    _selection(parser.add_argument_group("which rules"))
    _repairs(parser.add_argument_group("repairs"))
    _files(parser.add_argument_group("which files"))
    adoption.options(parser.add_argument_group("code with many findings"))
    recorded.options(parser.add_argument_group("recordings of runs"))
    _output(parser.add_argument_group("output"))
    _running(parser.add_argument_group("running"))


def _selection(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--select", metavar="RULES", action="append", help=f"run these rules only: {_SELECTORS}")
    group.add_argument("--extend-select", metavar="RULES", action="append", help="run these rules too")
    group.add_argument("--ignore", metavar="RULES", action="append", help="do not run these rules")
    group.add_argument(
        "--per-file-ignores",
        metavar="GLOB:RULES",
        action="append",
        help="do not report these rules in files that match, such as 'tests/**:TL7'",
    )
    group.add_argument("--preview", action="store_true", help="run the rules of the group preview too")
    group.add_argument("--target-torch", metavar="VERSION", help="the oldest torch the code must run on, such as 2.4")


def _repairs(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fix", action="store_true", help="apply fixes that do not change results")
    group.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: also fixes that may change results"
    )
    group.add_argument(
        "--add-ignore",
        action="store_true",
        help="suppress every finding that makes the run fail by a comment in the code",
    )
    group.add_argument("--reason", metavar="TEXT", help="with --add-ignore: the reason; default: existing code")
    group.add_argument(
        "--diff", action="store_true", help="show what --fix or --add-ignore would change, and change nothing"
    )


def _files(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--exclude", metavar="GLOB", action="append", help="exclude these files and folders")
    group.add_argument("--force-exclude", action="store_true", help="exclude files named on the command line too")
    group.add_argument("--stdin-filename", metavar="NAME", help="lint standard input, and report it under this name")
    group.add_argument("--config", metavar="FILE", help="read this configuration, not the nearest one")
    group.add_argument("--isolated", action="store_true", help="read no configuration")
    group.add_argument("--show-files", action="store_true", help="list the files that would be linted, and exit")
    group.add_argument("--show-settings", action="store_true", help="print the settings in effect, and exit")


def _output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    group.add_argument("--output-file", metavar="FILE", help="write the report to a file")
    group.add_argument(
        "--statistics", action="store_true", help="count the findings of each rule instead of showing them"
    )
    group.add_argument("--show-info", action="store_true", help="show infos in full, not one line for each rule")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    group.add_argument("-q", "--quiet", action="store_true", help="findings only: no count, no progress")
    group.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="more: links to rules, cached files, skipped folders, files without a sign of a device",
    )
    group.add_argument(
        "--fail-on", choices=FAIL_ON, help="the lowest severity that makes the exit status 1; default: warning"
    )
    group.add_argument("--exit-zero", action="store_true", help="exit with status 0 even if there are findings")


def _running(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-j", "--jobs", metavar="N", type=_positive, help="processes; default: one for each processor")
    group.add_argument(
        "--no-context",
        action="store_false",
        dest="context",
        help="lint what is given alone, without the other files of the project",
    )
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    group.add_argument("--cache-dir", metavar="DIR", help="where the cache is; default: .torchlint_cache")
    group.add_argument("--clear-cache", action="store_true", help="delete the cache of the project, and exit")
    # For developers of torchlint: no shortcuts, one process, and timings.
    group.add_argument("--exhaustive", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--profile", metavar="FILE", help=argparse.SUPPRESS)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps; give 0 or more")
    return int(text)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes; give 1 or more")
    return number


# -- the runtime companion -----------------------------------------------------------------------

_CONFIRM_EXAMPLES = """\
examples:
  torchlint confirm -- train.py --epochs 1
  torchlint confirm --steps 100 -- -m package.train
  torchlint confirm --on sim --budget budget.toml -- train.py
  torchrun --nproc-per-node 2 -m torchlint confirm -- train.py

The program runs with all its side effects. Its output stays on standard output; the report goes to standard error.
Exit status: the program's own if it failed, else 0, 1 for confirmed findings (--fail-on) and exceeded budgets, 2 if
torchlint could not do its work.
"""


def _confirm(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    confirm = commands.add_parser(
        "confirm",
        help="run a program, and report what its findings cost",
        description="Run a program under observation, and give every finding in it a verdict.",
        epilog=_CONFIRM_EXAMPLES,
        formatter_class=Help,
    )
    _program(confirm, ("auto", "gpu", "sim", "cpu"), "where; default: a GPU, else a simulated one")
    confirm.add_argument(
        "--profile-steps",
        metavar="N",
        type=_count,
        default=5,
        help="on a GPU, profile so many steps, for what waits and copies cost; 0: none; default: 5",
    )
    confirm.add_argument("--evidence", metavar="DIR", help="keep the evidence in this folder")
    _judging(confirm)
    _settings(confirm)


def _compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="run a program, and measure what the fix of a finding is worth",
        description="Measure a finding's fix: both forms in one process in random order, or in pairs of processes.",
    )
    compare.add_argument(
        "--finding",
        metavar="ID",
        required=True,
        help="a fingerprint, RULE:FILE:LINE, FILE:LINE, or a rule with one finding",
    )
    compare.add_argument(
        "--method", choices=("auto", "switch", "pairs"), default="auto", help="default: what suits the finding"
    )
    compare.add_argument(
        "--blocks", metavar="N", type=_positive, default=60, help="pairs of blocks of steps; default: 60"
    )
    compare.add_argument("--pairs", metavar="N", type=_positive, default=8, help="pairs of processes; default: 8")
    compare.add_argument("--unsafe-fixes", action="store_true", help="also fixes that may change results")
    compare.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    compare.add_argument("--output-file", metavar="FILE", help="write the report to a file")
    _program(compare, ("auto", "gpu", "cpu"), "where; default: a GPU, else the plain CPU")
    _settings(compare)


def _verdict(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verdict = commands.add_parser(
        "verdict",
        help="evaluate recorded evidence again, without running anything",
        description="Judge the evidence that `confirm --evidence DIR` has left. Needs neither torch nor the program.",
    )
    verdict.add_argument("directory", metavar="DIR", help="the folder of the evidence")
    _judging(verdict)
    verdict.add_argument("--config", metavar="FILE", help="read this configuration, not the nearest one")
    verdict.add_argument("--isolated", action="store_true", help="read no configuration")


def _calibrate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    calibrate = commands.add_parser(
        "calibrate",
        help="measure what copies and synchronizations cost on this GPU",
        description="Measure prices on a GPU, and which operations synchronize; write them as a profile.",
    )
    calibrate.add_argument(
        "--output-file", metavar="FILE", default="torchlint-profile.json", help="default: %(default)s"
    )
    calibrate.add_argument("--name", metavar="NAME", help="the name of the profile; default: the device's")


def _program(group: argparse.ArgumentParser, modes: tuple[str, ...], where: str) -> None:
    group.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="-- SCRIPT ARGUMENTS", help="a script, or `-m` and a module"
    )
    group.add_argument("--on", choices=modes, default="auto", help=where)
    group.add_argument("--steps", metavar="N", type=_positive, help="end the program after N steps")
    group.add_argument("--seconds", metavar="S", type=_seconds, help="end the program after S seconds")
    group.add_argument("--devices", metavar="N", type=_positive, default=1, help="simulated GPUs; default: 1")
    group.add_argument("--findings", metavar="FILE", help="findings from a JSON report, instead of linting the program")


def _judging(group: argparse.ArgumentParser) -> None:
    group.add_argument(
        "--profile",
        metavar="NAME",
        default="nominal",
        help="prices for modeled times: h200, a file of torchlint calibrate, or nominal, the default",
    )
    group.add_argument(
        "--gpu-step",
        metavar="TIME",
        type=microseconds,
        help="how long a step takes on a GPU, as in 12ms: without one, costs are given as shares of it",
    )
    group.add_argument("--budget", metavar="FILE", help="how much a step may transfer and synchronize")
    group.add_argument(
        "--output-format", choices=("text", "json", "sarif", "github", "html"), default="text", help="default: text"
    )
    group.add_argument("--output-file", metavar="FILE", help="write the report to a file; `-` is standard output")
    group.add_argument(
        "--trace", metavar="FILE", help="write sampled steps in Chrome's trace event format, which Perfetto opens"
    )
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="in text, each undecided finding by itself, and all lines of each"
    )
    group.add_argument(
        "--fail-on", choices=FAIL_ON, help="the lowest severity of a confirmed finding that makes the exit status 1"
    )


def _settings(group: argparse.ArgumentParser) -> None:
    rules = group.add_argument_group("which rules")
    rules.add_argument("--select", metavar="RULES", action="append", help="confirm these rules only")
    rules.add_argument("--extend-select", metavar="RULES", action="append", help="confirm these rules too")
    rules.add_argument("--ignore", metavar="RULES", action="append", help="do not confirm these rules")
    rules.add_argument("--preview", action="store_true", help="confirm the rules of the group preview too")
    rules.add_argument("--config", metavar="FILE", help="read this configuration, not the nearest one")
    rules.add_argument("--isolated", action="store_true", help="read no configuration")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds; give more than 0")
    return seconds


def _scan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from torchlint.cli import scan_options

    scan_options.add(commands, Help, _positive)


_ADDED = {
    "check": _check,
    "rule": _rule,
    "rules": _rules,
    "confirm": _confirm,
    "compare": _compare,
    "verdict": _verdict,
    "calibrate": _calibrate,
    "scan": _scan,
    "completion": _completion,
    "server": _server,
}

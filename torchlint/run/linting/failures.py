"""Words what goes wrong with a file: an error in a rule, an exceeded limit, code that cannot be read."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from torchlint.model import SYNTAX_ERROR, Finding, Problem, Severity, Span
from torchlint.rule import is_core
from torchlint.run.linting.fingerprints import fingerprinted
from torchlint.run.rules import plugins, registry
from torchlint.text.lines import split_lines
from torchlint.text.python2 import is_python2

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.rule import Rule

_NEWER = "Python {}, which runs torchlint, does not parse this ({}): run torchlint with a newer one"
_CONFLICT = "a merge conflict is not resolved here: choose a side and delete the markers"


def internal_error(what: str, path: str, error: BaseException, rule: type[Rule] | None = None) -> Problem:
    """An error in a rule, or in torchlint itself, while it looked at a file."""
    reason = plugins.reason(error)[:300]
    trace = error.__traceback__
    line = None
    while trace is not None:
        line, trace = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}", trace.tb_next  # noqa: PTH119
    return Problem(
        path,
        f"{SYNTAX_ERROR} internal-error: {what} failed ({reason}, at {line}); the other rules "
        f"went on. Please report this with the file {_where(rule)}",
    )


def over_limit(over: str, running: type[Rule] | None) -> str:
    """The message for a file that exceeds a limit; names the rule of another package that was running."""
    during = f" in {running.id} {running.name}" if running is not None and not is_core(running.id) else ""
    return f"{over}{during}: exclude the file, and please report it {_where(running)}"


def _where(rule: type[Rule] | None) -> str:
    """Where errors of a rule, or of torchlint itself, are reported."""
    return plugins.where_to_report(registry.package_of(rule) if rule is not None else plugins.CORE)


def refusal(path: str, message: str, config: Config, line: int = 1, column: int = 1) -> Finding:
    """The finding for a file that cannot be linted."""
    return fingerprinted(_error(path, message, line, column), "", 0, config)


def not_python(
    path: str, code: str, message: str, line: int, column: int, whole: str | None = None, *, is_newer: bool = False
) -> Finding:
    """The finding for code that the parser refuses at this place: an error, or a notice if it is another Python's.

    ``whole`` is all the code of the notebook that it is in; ``is_newer`` says that it may be syntax of a newer Python
    than the one that runs torchlint. The finding has no fingerprint.
    """
    lines = split_lines(code)
    shown = lines[line - 1].lstrip() if line <= len(lines) else ""
    if shown.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
        return _error(path, _CONFLICT, line, column)
    if is_python2(code, message, line, column, whole):
        message = f"this is Python 2, which torchlint does not check: {message}"
    elif is_newer:
        message = _NEWER.format(".".join(map(str, sys.version_info[:2])), message)
    else:
        return _error(path, message, line, column)
    return _error(path, message, line, column)._replace(severity=Severity.INFO)


def _error(path: str, message: str, line: int, column: int) -> Finding:
    span = Span(line, column, line, column + 1)
    return Finding(SYNTAX_ERROR, "syntax-error", "lint", Severity.ERROR, path, span, message)

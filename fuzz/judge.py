"""The properties that hold for any input: findings or ``TL000``, no exception, no internal error, no long runtime."""

from __future__ import annotations

from functools import lru_cache
from unittest import mock

from torchlint.analysis.syntax import depth
from torchlint.config.config import Config
from torchlint.model import SYNTAX_ERROR, FileResult, Safety
from torchlint.run import session
from torchlint.run.fixing.fixer import fix_text
from torchlint.run.linting.parsable import is_parsable
from torchlint.run.plan import Plan
from torchlint.text.lines import split_lines


@lru_cache(maxsize=1)
def plan() -> Plan:
    """All rules."""
    return session.plan(Config(select=("ALL",), preview=True))


def fault(data: bytes) -> str | None:
    """What is wrong with the result of linting and fixing these bytes; None if nothing is."""
    try:
        result = plan().lint(data, "input.py")
        return _of_result(result) or _of_places(result, data) or _of_fixes(result, data)
    except Exception as error:
        return traced(error)


def alike(data: bytes) -> str | None:
    """Like :func:`fault`, and the findings must be equal when LibCST parses everything for every rule."""
    return fault(data) or _of_shortcuts(data)


def unscreened(data: bytes) -> str | None:
    """The same without prefilters, so that every rule looks at every text, even without PyTorch."""
    with mock.patch("torchlint.prefilter.text_index.TextIndex.all", lambda _, needs: True):  # noqa: ARG005
        return alike(data)


def _of_shortcuts(data: bytes) -> str | None:
    """Compare with and without shortcuts, except files that LibCST refuses or changes, or without PyTorch."""
    if b"torch" not in data:
        return None
    everything = plan()._replace(exhaustive=True).analyze(data, "input.py")
    if any(f.rule == SYNTAX_ERROR for f in everything.result.findings):
        return None if is_parsable(data) or refused(data) else "a file that names torch and does not parse is clean"
    if not _is_kept(data):
        return None
    found = plan().analyze(data, "input.py")
    for one, other in ((found.result.findings, everything.result.findings), (found.facts, everything.facts)):
        if one != other:
            return f"shortcuts change the result: {one} and not {other}"[:500]
    return None


def _is_kept(data: bytes) -> bool:
    """Whether LibCST reproduces the file exactly."""
    import libcst as cst  # as torchlint imports it

    try:
        return depth.problem(data.decode("utf-8", "replace")) is None and cst.parse_module(data).bytes == data
    except Exception:  # LibCST's parser raises what it likes
        return False


def traced(error: Exception) -> str:
    """An exception and where it was raised, on one line."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        place, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
    return f"{type(error).__name__}: {error} at {place}"[:500]


def refused(data: bytes) -> bool:
    """Whether torchlint cannot parse the bytes."""
    return any(f.rule == SYNTAX_ERROR for f in plan().lint(data, "input.py").findings)


def _of_result(result: FileResult) -> str | None:
    return result.problems[0].message if result.problems else None


def _of_places(result: FileResult, data: bytes) -> str | None:
    """Every finding must be inside the file, with a one-line message."""
    lines = len(split_lines(data.decode("latin-1")))
    for finding in result.findings:
        span = finding.span
        ordered = (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
        if not ordered or span.line > lines:
            return f"{finding.rule} stands at {span}, in a text of {lines} lines"
        if not finding.message.isprintable():
            return f"{finding.rule} has a message with control characters: {finding.message!r}"
    return None


def _of_fixes(result: FileResult, data: bytes) -> str | None:
    """The text must compile after all fixes."""
    if not any(finding.fix for finding in result.findings):
        return None
    after, run = fix_text(data, "input.py", plan(), Safety.UNSAFE)
    if run.problems:
        return f"repairing: {run.problems[0].message}"
    return "repairing broke the program" if refused(after) and not refused(data) else None

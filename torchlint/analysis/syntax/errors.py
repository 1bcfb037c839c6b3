"""What is wrong with a text that cannot be parsed, with CPython's messages."""

from __future__ import annotations

import ast
import warnings

from torchlint.analysis.syntax import depth


class SyntaxProblem(Exception):
    """The text is not Python that torchlint can parse; ``line`` and ``column`` count from 1.

    ``is_newer``: LibCST parses it, so it may be syntax that is newer than the Python that runs torchlint.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, *, is_newer: bool = False) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.is_newer = message, line, column, is_newer


def syntax_problem(text: str, error: Exception) -> SyntaxProblem:
    """Why a text cannot be parsed, or its tree cannot be read."""
    too_deep = depth.problem(text)
    if too_deep is not None:
        return SyntaxProblem(too_deep.message, too_deep.line)
    if isinstance(error, KeyError):
        return SyntaxProblem(f"this version of torchlint does not know this syntax: {error}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as plain:
        line, column = max(plain.lineno or 1, 1), max(plain.offset or 1, 1)
        return SyntaxProblem(plain.msg, line, column, is_newer=_libcst_parses(text))
    except ValueError:
        pass
    return SyntaxProblem(f"the parser refuses this code: {error}")


def _libcst_parses(text: str) -> bool:
    import libcst as cst

    try:
        depth.with_room(text, lambda: cst.parse_module(text))
    except Exception:  # LibCST's parser raises many kinds of exceptions
        return False
    return True

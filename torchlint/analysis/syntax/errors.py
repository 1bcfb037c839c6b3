"""Syntax errors, with CPython's messages."""

from __future__ import annotations

import ast
import warnings

import libcst as cst


class SyntaxProblem(Exception):
    """The text is not Python that torchlint can parse; ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def syntax_problem(
    text: str, error: cst.ParserSyntaxError | cst.CSTValidationError | cst.CSTLogicError
) -> SyntaxProblem:
    """The error behind a failed parse: CPython's message if it fails too, else LibCST's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as plain:
        return SyntaxProblem(plain.msg, max(plain.lineno or 1, 1), max(plain.offset or 1, 1))
    except (ValueError, RecursionError, MemoryError):
        pass  # CPython accepts the text
    if not isinstance(error, cst.ParserSyntaxError):
        return SyntaxProblem(f"the parser refuses this code: {error}", 1, 1)
    message = " ".join(error.message.split())
    for prefix in ("parser error: ", "tokenizer error: "):
        message = message.removeprefix(prefix)
    return SyntaxProblem(message, max(error.raw_line, 1), error.raw_column + 1)

"""Text edits made from nodes: add arguments, remove method calls, delete statements.

Edits are minimal, so that formatting survives. An edit that would lose a comment, or whose result is not certain,
raises :class:`Unfixable`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import libcst as cst

from torchlint.analysis.syntax.calls import keyword
from torchlint.model import Edit
from torchlint.text.comments import comments

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

P = ParamSpec("P")
T = TypeVar("T")

_TRIVIA = re.compile(r"(?:[ \t\f\r\n]|\\\r?\n|#[^\r\n]*)*")
_BLANK = re.compile(r"[ \t\f]*")
_LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_PRINTS = re.compile(r"=\s*[}!:#]")  # in every f-string with the text of an expression
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.FormattedString)
_BARE = (cst.GeneratorExp, cst.NamedExpr, cst.Yield, cst.StarredElement)


class Unfixable(Exception):
    """The code here cannot be rewritten with certainty."""


def or_none(repair: Callable[P, T]) -> Callable[P, T | None]:
    """Make a function that may raise :class:`Unfixable` return None instead."""

    @wraps(repair)
    def offered(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return repair(*args, **kwargs)
        except Unfixable:
            return None

    return offered


def _meets(extents: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a range overlaps with one of these, which are sorted and do not overlap."""
    following = bisect_left(extents, (start, start))
    near = extents[max(following - 1, 0) : following + 1]
    return any(start < last and first < end for first, last in near)


class Editor:
    """Creates edits for one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._positions = module.positions
        self.text = module.text

    # -- reading ---------------------------------------------------------------------------------

    def source(self, node: cst.CSTNode) -> str:
        """The text of an expression, including the parentheses around it."""
        start, end = self._positions.outer(node)
        return self.text[start:end]

    def argument(self, node: cst.BaseExpression) -> str:
        """The text of an expression, usable as an argument of a call."""
        bare = isinstance(node, _BARE) and not self._positions.is_parenthesized(node)
        return f"({self.source(node)})" if bare else self.source(node)

    def receiver(self, node: cst.BaseExpression) -> str:
        """The text of an expression, usable before a dot."""
        atom = isinstance(node, _ATOMS) or self._positions.is_parenthesized(node)
        return self.source(node) if atom else f"({self.source(node)})"

    @cached_property
    def _comments(self) -> list[tuple[int, int]]:
        return list(comments(self.text))

    def _line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def _line_end(self, offset: int) -> int:
        found = _LINE_END.search(self.text, offset)
        assert found is not None
        return found.start()

    def _after_trivia(self, offset: int) -> int:
        found = _TRIVIA.match(self.text, offset)
        assert found is not None
        return found.end()

    def newline(self) -> str:
        """The newline characters of the file."""
        return self._module.tree.default_newline

    # -- edits -----------------------------------------------------------------------------------

    def edit(self, start: int, end: int, text: str) -> Edit:
        """Replace a range of characters. Raises :class:`Unfixable` if it contains a comment."""
        if _meets(self._comments, start, end):
            raise Unfixable
        return self._edit(start, end, text)

    def _edit(self, start: int, end: int, text: str) -> Edit:
        if any((start < last and first < end) or first < start < last for first, last in self._quoted):
            raise Unfixable
        return Edit(self._positions.between(start, end), text)

    @cached_property
    def _quoted(self) -> list[tuple[int, int]]:
        """Code whose text the program prints, as in ``f"{x.to(device)=}"``."""
        parts = self._module.nodes_of(cst.FormattedStringExpression) if _PRINTS.search(self.text) else ()
        return [self._positions.extent(part) for part in parts if part.equal is not None]

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Replace an expression and the parentheses around it."""
        return self.edit(*self._positions.outer(node), text)

    def replace_inside(self, node: cst.CSTNode, text: str) -> Edit:
        """Replace an expression and keep the parentheses around it."""
        return self.edit(*self._positions.extent(node), text)

    def wrap(self, node: cst.BaseExpression, before: str, after: str) -> tuple[Edit, Edit]:
        """Insert text before and after an expression, keeping comments in it."""
        start, end = self._positions.outer(node)
        return self._insert(start, before), self._insert(end, after)

    def append(self, node: cst.BaseExpression | cst.CSTNode, text: str) -> tuple[Edit, ...]:
        """Insert text right after an expression."""
        return (self._insert(self._positions.outer(node)[1], text),)

    def _insert(self, offset: int, text: str) -> Edit:
        return self._edit(offset, offset, text)

    def remove_call(self, call: cst.Call) -> Edit:
        """Turn ``x.method(..)`` into ``x``."""
        if not isinstance(call.func, cst.Attribute):
            raise Unfixable
        return self.edit(self._positions.outer(call.func.value)[1], self._positions.extent(call)[1], "")

    def set_argument(self, call: cst.Call, name: str, value: str) -> tuple[Edit, ...]:
        """Set a keyword argument of a call, replacing the present value."""
        before = keyword(call, name)
        return (self.replace(before, value),) if before is not None else self.add_argument(call, f"{name}={value}")

    def remove_argument(self, call: cst.Call, name: str) -> Edit:
        """Remove a keyword argument of a call."""
        found = [i for i, arg in enumerate(call.args) if arg.keyword is not None and arg.keyword.value == name]
        if not found:
            raise Unfixable
        at = found[0]
        end = self._positions.outer(call.args[at].value)[1]
        if at > 0:
            return self.edit(self._positions.outer(call.args[at - 1].value)[1], end, "")
        following = call.args[1:2]
        return self.edit(
            self._argument_start(call.args[0]), self._argument_start(following[0]) if following else end, ""
        )

    def add_argument(self, call: cst.Call, text: str) -> tuple[Edit, ...]:
        """Append an argument to a call, on its own line if the last argument has its own line."""
        close = self._positions.extent(call)[1] - 1
        if not call.args:
            return (self._insert(close, text),)
        last = call.args[-1]
        end = self._positions.outer(last.value)[1]
        if isinstance(last.value, cst.GeneratorExp) and self.text[self._after_trivia(end)] != ")":
            raise Unfixable
        if isinstance(last.value, cst.GeneratorExp) and not self._positions.is_parenthesized(last.value):
            raise Unfixable  # `f(x for x in y)` needs parentheses before it can take a second argument
        indent = self._own_line(last, end, close)
        if indent is None:
            return (self._insert(end, f", {text}"),)
        return self._on_own_line(end, close, f"{indent}{text}")

    def add_first_argument(self, call: cst.Call, text: str) -> tuple[Edit, ...]:
        """Insert an argument before all others."""
        if not call.args:
            return self.add_argument(call, text)
        return (self._insert(self._argument_start(call.args[0]), f"{text}, "),)

    def _argument_start(self, arg: cst.Arg) -> int:
        first = arg.keyword if arg.keyword is not None else arg.value
        return self._positions.outer(first)[0] - len(arg.star)

    def _own_line(self, last: cst.Arg, end: int, close: int) -> str | None:
        """The indentation of an argument that begins its line, if the parenthesis is closed on a later line."""
        start = self._argument_start(last)
        before = self.text[self._line_start(start) : start]
        comma = self._after_trivia(end)
        line = self._line_end(comma if comma < close else end)
        if before.strip() or line > close or self.text[line - 1] == "\\":
            return None
        return before

    def _on_own_line(self, end: int, close: int, line: str) -> tuple[Edit, ...]:
        comma = self._after_trivia(end)
        after = self._line_end(comma if comma < close else end)
        if comma < close:  # a trailing comma: the new argument gets one as well
            return (self._insert(after, f"{self.newline()}{line},"),)
        if after == end:
            return (self._insert(end, f",{self.newline()}{line}"),)
        return self._insert(end, ","), self._insert(after, f"{self.newline()}{line}")

    # -- statements ------------------------------------------------------------------------------

    def delete(self, statement: cst.CSTNode) -> Edit:
        """Delete a simple statement, and its line if it is alone there; comments stay."""
        start, end = self._positions.extent(statement)
        line, block = self._around(statement)
        if len(line.body) > 1:
            return self._delete_among(line, statement, start, end)
        if block is None or len(block.body) == 1:
            return self.edit(start, end, "pass")
        first, last = self._line_start(start), self._line_end(end)
        rest = self.text[end:last]
        if self.text[first:start].strip():
            raise Unfixable
        if rest.strip(" \t\f;"):
            return self.edit(start, end + len(rest) - len(rest.lstrip(" \t\f;")), "")
        newline = _LINE_END.match(self.text, last)
        assert newline is not None
        return self.edit(first, newline.end(), "")

    def delete_call(self, call: cst.CSTNode) -> Edit:
        """Delete a call that is a statement of its own."""
        statement = self._module.parent(call)
        if not isinstance(statement, cst.Expr):
            raise Unfixable
        return self.delete(statement)

    def _around(
        self, statement: cst.CSTNode
    ) -> tuple[cst.SimpleStatementLine | cst.SimpleStatementSuite, cst.IndentedBlock | cst.Module | None]:
        """The line of a simple statement, and the block that contains the line."""
        line = self._module.parent(statement)
        if not isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            raise Unfixable
        block = self._module.parent(line)
        return line, block if isinstance(block, (cst.IndentedBlock, cst.Module)) else None

    def _delete_among(
        self,
        line: cst.SimpleStatementLine | cst.SimpleStatementSuite,
        statement: cst.CSTNode,
        start: int,
        end: int,
    ) -> Edit:
        """Delete one of ``a; b; c`` with the semicolon after it, or before it if it is the last."""
        place = next(i for i, small in enumerate(line.body) if small is statement)
        if place + 1 < len(line.body):
            return self.edit(start, self._positions.extent(line.body[place + 1])[0], "")
        return self.edit(self._positions.extent(line.body[place - 1])[1], end, "")

    def insert_after(self, statement: cst.CSTNode, line: str) -> Edit:
        """Insert a line after a top-level statement, with the same indentation."""
        start, end = self._positions.extent(statement)
        first = self._line_start(start)
        indent = _BLANK.match(self.text, first)
        newline = _LINE_END.search(self.text, end)
        assert indent is not None
        assert newline is not None
        if newline.start() == newline.end():
            raise Unfixable  # the last line of a file without a final newline
        return self._insert(newline.end(), f"{indent[0]}{line}{self.newline()}")

    def insert_before(self, statement: cst.CSTNode, line: str) -> Edit:
        """Insert a line before a statement, with the same indentation."""
        start, _ = self._positions.extent(statement)
        first = self._line_start(start)
        indent = self.text[first:start]
        if indent.strip():
            raise Unfixable  # another statement begins on this line
        return self._insert(first, f"{indent}{line}{self.newline()}")

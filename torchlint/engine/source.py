"""Where an expression stands in its file: the statement around it, and what becomes of its value there."""

from __future__ import annotations

import ast
from bisect import bisect

from torchlint.engine.measured import Measured
from torchlint.engine.uses import Uses
from torchlint.knowledge.forms import Form
from torchlint.project.followed import Range

_SHOWN = 40  # characters of an expression in a message


class Source:
    """The source of a file, as a tree that knows what is around a node."""

    def __init__(self, tree: ast.Module) -> None:
        parents = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
        self._statements = sorted(map(_lines, (node for node in parents if isinstance(node, ast.stmt))))
        self._uses, self._measured = Uses(parents), Measured(tree)

    def statement(self, place: Range) -> tuple[int, int]:
        """The lines of the innermost statement around a place; those of the place itself if there is none."""
        line, _, last, _ = place
        before = bisect(self._statements, line, key=lambda lines: lines[0])
        outwards = (self._statements[number] for number in range(before - 1, -1, -1))
        return next((lines for lines in outwards if line <= lines[1]), (line, last))

    def needs(self, node: ast.AST, form: Form) -> bool:
        """Whether a wait that was asked for serves to measure time, or to share memory."""
        return self._measured.needs(node, form)

    def use(self, node: ast.AST) -> str:
        """What becomes of a value, as :class:`~torchlint.project.followed.FollowedEvent` names it."""
        return self._uses.of(node)


def iterated(loop: ast.AST) -> str:
    """What a loop runs over, as it is written; empty for one that is not short, and for a ``while``."""
    over = loop if isinstance(loop, ast.expr) else getattr(loop, "iter", None)
    text = ast.unparse(over) if over is not None else ""
    return text if len(text) <= _SHOWN else ""


def _lines(node: ast.stmt) -> tuple[int, int]:
    """The first and last line of a statement; of a compound statement, those of its header."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    first = min((getattr(inner, "lineno", 0) for inner in body), default=0) if body else 0
    return node.lineno, first - 1 if first > node.lineno else node.end_lineno or node.lineno

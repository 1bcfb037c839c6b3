"""Where an expression stands in its file: the statement around it, and what becomes of its value there."""

from __future__ import annotations

import ast
from bisect import bisect
from collections import defaultdict
from functools import cached_property

from torchlint.engine.measured import Measured
from torchlint.engine.names import Names
from torchlint.engine.reduced import Reduced
from torchlint.engine.uses import Uses
from torchlint.knowledge.forms import Form
from torchlint.project.followed import Range

_INITIAL = ("__init__", "__post_init__", "setup")
_SHOWN = 40  # characters of an expression in a message


class Source:
    """The source of a file, as a tree that knows what is around a node."""

    def __init__(self, tree: ast.Module) -> None:
        parents = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
        self._statements = sorted(map(_lines, (node for node in parents if isinstance(node, ast.stmt))))
        self._parents, names = parents, Names(parents)
        self._uses, self._reduced = Uses(parents, names), Reduced(parents, names)
        self._measured = Measured(tree)

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

    def reduced(self, node: ast.AST) -> str:
        """What reduces a tensor that is copied to the host, if the host needs nothing else of it; or empty."""
        return self._reduced.of(node)

    def sets_later(self, node: ast.AST) -> bool:
        """Whether an attribute in what a method is called on may be another object later."""
        copied = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
        read = (part for part in ast.walk(copied) if isinstance(part, ast.Attribute))
        return any(not {self._owner(part), None}.isdisjoint(self._set_later.get(part.attr, ())) for part in read)

    @cached_property
    def _set_later(self) -> dict[str, set[ast.AST | None]]:
        """The attributes that functions assign which do not construct objects, with the classes, if these are known."""
        found: dict[str, set[ast.AST | None]] = defaultdict(set)
        for node in self._parents:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                function = self._around(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                if function is not None and getattr(function, "name", "") not in _INITIAL:
                    found[node.attr].add(self._owner(node))
        return found

    def _owner(self, node: ast.Attribute) -> ast.AST | None:
        """The class of ``self``, of which something is an attribute."""
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return self._around(node, (ast.ClassDef,)) if own else None

    def _around(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        """The innermost node of some kinds around one."""
        outer: ast.AST | None = node
        while outer is not None and not isinstance(outer, kinds):
            outer = self._parents.get(outer)
        return outer

    def is_read(self, node: ast.AST) -> bool:
        """Whether the expression around a value reads it, as in ``x.sum().item()``."""
        while isinstance(outer := self._parents.get(node), (ast.Attribute, ast.Call)) and node not in getattr(
            outer, "args", ()
        ):
            if isinstance(outer, ast.Attribute) and outer.attr in ("item", "tolist"):
                return True
            node = outer
        return False


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

"""The order in which the code of a function can evaluate its expressions.

Every step of an evaluation has a number, and edges lead to what may be evaluated next. Where it is not certain what
happens, such as which exception is raised where, there is an edge for everything that may.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor)
_WITH = (ast.With, ast.AsyncWith)
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))  # since Python 3.11
_SILENT = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.Constant)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


class Flow:
    """The steps of the evaluation of a function's own code; ``nodes`` has the syntax node of each, if it has one."""

    def __init__(self, function: ast.AST) -> None:
        self.nodes: list[ast.AST | None] = [None]
        self.next: list[set[int]] = [set()]
        self.lines: list[int] = [0]
        self._now, self._line = 0, getattr(function, "lineno", 1)
        self._loops: list[tuple[int, int]] = []  # where each loop around goes on, and where it ends
        body = getattr(function, "body", [])
        self._block(body) if isinstance(body, list) else self._expression(body)

    # -- building --------------------------------------------------------------------------------

    def _step(self, node: ast.AST | None = None) -> int:
        """What is evaluated after what is now."""
        made = self._apart(node)
        self.next[self._now].add(made)
        self._now = made
        return made

    def _apart(self, node: ast.AST | None = None) -> int:
        """A step that nothing leads to yet."""
        self.nodes.append(node)
        self.lines.append(self._line)
        self.next.append(set())
        return len(self.nodes) - 1

    def _to(self, *targets: int) -> None:
        self.next[self._now].update(targets)

    @contextmanager
    def _perhaps(self, end: int) -> Iterator[None]:
        """What is built in this context is left out, or goes on at ``end``, where the context ends."""
        before = self._now
        yield
        self._to(end)
        self._now = before

    @contextmanager
    def _may_fail(self, *targets: int) -> Iterator[None]:
        """What is built in this context may go on at these steps after each of its own."""
        first, before = len(self.nodes), self._now
        yield
        for step in (before, *range(first, len(self.nodes))):
            self.next[step].update(targets)

    # -- statements ------------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._line = getattr(statement, "lineno", self._line)
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                self._condition(node, node.body, node.orelse)
            case ast.While():
                head = self._step()
                self._expression(node.test)
                self._step(node)
                self._loop(head, node.body, node.orelse)
            case _ if isinstance(node, _LOOPS):
                self._expression(node.iter)
                self._step(node)  # which asks for an iterator
                self._loop(self._step(node), node.body, node.orelse, node.target)
            case _ if isinstance(node, _TRY):
                self._try(node)
            case _ if isinstance(node, _WITH):
                self._all(part for item in node.items for part in (item.context_expr, item.optional_vars) if part)
                end = self._apart()
                with self._may_fail(end):  # a context may keep exceptions to itself
                    self._block(node.body)
                self._to(end)
                self._now = end
            case ast.Match():
                self._match(node)
            case ast.Break() | ast.Continue():
                self._to(self._loops[-1][isinstance(node, ast.Break)])
                self._now = self._apart()
            case ast.Return() | ast.Raise():
                self._all(ast.iter_child_nodes(node))
                self._now = self._apart()
            case _:
                self._simple(node)

    def _simple(self, node: ast.stmt) -> None:
        match node:
            case ast.ClassDef():
                self._all([*node.decorator_list, *node.bases])
            case _ if isinstance(node, _FUNCTIONS):
                self._all([*node.decorator_list, node.args])
            case ast.Assign():
                self._all([node.value, *node.targets])
            case ast.AnnAssign():
                self._all(part for part in (node.value, node.target) if part)
            case ast.AugAssign():
                self._all([node.target, node.value])
                self._step(node)
                self._step(node.target)
            case _:
                self._all(ast.iter_child_nodes(node))
                self._step(node)

    def _condition(self, node: ast.If | ast.IfExp, body: Sequence[ast.AST], other: Sequence[ast.AST]) -> None:
        self._expression(node.test)
        self._step(node)
        end = self._apart()
        for branch in (body, other):
            with self._perhaps(end):
                for part in branch:
                    self._block([part]) if isinstance(part, ast.stmt) else self._expression(part)
        self._now = end

    def _loop(
        self, head: int, body: Sequence[ast.stmt], other: Sequence[ast.stmt], target: ast.expr | None = None
    ) -> None:
        """A loop whose condition has been built from ``head`` on."""
        end = self._apart()
        with self._perhaps(head):
            if target is not None:
                self._expression(target)
            self._loops.append((head, end))
            self._block(body)
            self._loops.pop()
        self._block(other)
        self._to(end)
        self._now = end

    def _try(self, node: ast.Try) -> None:
        caught, last, end = self._apart(), self._apart(), self._apart()
        with self._may_fail(last):
            with self._may_fail(caught):
                self._block(node.body)
            self._block(node.orelse)
            self._to(last)
            for handler in node.handlers:
                self._now = caught
                self._all([handler.type] if handler.type else [])
                self._block(handler.body)
                self._to(last)
        self._now = last
        self._block(node.finalbody)
        self._to(end, *(self._loops[-1] if node.finalbody and self._loops else ()))
        self._now = end

    def _match(self, node: ast.Match) -> None:
        self._expression(node.subject)
        end = self._apart()
        for case in node.cases:
            if case.guard:
                self._expression(case.guard)
            with self._perhaps(end):
                self._block(case.body)
        self._to(end)
        self._now = end

    # -- expressions -----------------------------------------------------------------------------

    def _all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self._expression(node)

    def _expression(self, node: ast.AST) -> None:
        if isinstance(node, _SILENT):
            return
        around, self._line = self._line, getattr(node, "lineno", self._line)
        match node:
            case ast.BoolOp():
                end = self._apart()
                for value in node.values:
                    self._expression(value)
                    self._step(node)
                    self._to(end)
                self._now = end
            case ast.IfExp():
                self._condition(node, [node.body], [node.orelse])
            case ast.Lambda():
                self._all([node.args])
            case ast.GeneratorExp():
                self._expression(node.generators[0].iter)
                self._step(node)
            case _ if isinstance(node, _COMPREHENSIONS):
                self._comprehension(node)
            case _:
                self._all(ast.iter_child_nodes(node))
                self._step(node)
        self._line = around

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> None:
        """A loop: since Python 3.12 it is no function of its own."""
        self._expression(node.generators[0].iter)
        head, end = self._step(), self._apart()
        with self._perhaps(head), self._may_fail(head):  # where a condition does not hold
            for at, generator in enumerate(node.generators):
                self._all([generator.iter] if at else [])
                self.next[head].add(self._step())  # the next element of any of the loops
                self._all([generator.target, *generator.ifs])
            self._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._to(end)
        self._now = end
        self._step(node)

"""Guards: the conditions that dominate a node, collected from its ancestors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from torchlint.analysis.scopes.flow import constant, never_falls_through


class Guard:
    """A condition that evaluated to ``holds`` whenever the guarded node runs.

    ``kind`` is ``test`` for a condition, ``case`` for a match case (``condition`` is then its subject, ``pattern`` the
    pattern), ``try`` for the body of a try statement, ``handler`` for an exception handler, and ``decorator`` for a
    decorator of an enclosing function or class.
    """

    __slots__ = ("condition", "holds", "kind", "node", "pattern")

    def __init__(
        self,
        kind: str,
        node: cst.CSTNode,
        condition: cst.BaseExpression | None = None,
        holds: bool = True,
        pattern: cst.MatchPattern | None = None,
    ) -> None:
        self.kind, self.node, self.condition, self.holds, self.pattern = kind, node, condition, holds, pattern


class Guards:
    """Finds the guards of the nodes of one module."""

    def __init__(self, parents: dict[cst.CSTNode, cst.CSTNode], qualified: Callable[[cst.CSTNode], str | None]) -> None:
        self._parents = parents
        self._qualified = qualified
        self._any: dict[tuple[Callable[[Guard], bool], cst.CSTNode], bool] = {}
        self._left: dict[cst.CSTNode, tuple[dict[cst.CSTNode, int], list[tuple[int, Guard]]]] = {}

    def of(self, node: cst.CSTNode, *, stop: cst.CSTNode | None = None) -> Iterator[Guard]:
        """The guards of a node, innermost first, through enclosing functions and classes up to ``stop``.

        The guards of a ``def`` statement count for its body: the function is defined only where they hold.
        """
        below, current = node, self._parents.get(node)
        while current is not None and below is not stop:
            yield from self._step(current, below)
            below, current = current, self._parents.get(current)

    def any(self, node: cst.CSTNode, accepts: Callable[[Guard], bool]) -> bool:
        """Whether some guard satisfies a predicate. Cached at every ``if``, so long ``elif`` chains stay linear."""
        passed: list[tuple[Callable[[Guard], bool], cst.CSTNode]] = []
        found = False
        below, current = node, self._parents.get(node)
        while current is not None and not found:
            found = any(accepts(guard) for guard in self._step(current, below))
            below, current = current, self._parents.get(current)
            if below.__class__ is cst.If and not found:
                if (accepts, below) in self._any:
                    found = self._any[accepts, below]
                    break
                passed.append((accepts, below))
        self._any.update(dict.fromkeys(passed, found))
        return found

    def after(self, block: cst.BaseSuite | cst.Module) -> Iterator[Guard]:
        """The guards that hold at the end of a block: asserts, and negated tests of ``if`` statements that exit."""
        yield from self._earlier(block, block)

    def contradict(self, node: cst.CSTNode) -> bool:
        """Whether some guard of the node is a constant that never evaluates to the required value."""
        return self.any(node, self._is_contradiction)

    def _is_contradiction(self, guard: Guard) -> bool:
        test = guard.condition if guard.kind == "test" else None
        return test is not None and constant(test, self._while_running) is (not guard.holds)

    def _while_running(self, test: cst.BaseExpression) -> bool | None:
        return False if self._qualified(test) == "typing.TYPE_CHECKING" else None

    def _step(self, current: cst.CSTNode, below: cst.CSTNode) -> Iterator[Guard]:
        if isinstance(current, (cst.If, cst.IfExp, cst.While, cst.BooleanOperation)):
            yield from _tested(current, below)
        elif isinstance(current, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)):
            if below is not current.for_in:
                yield from _comprehension(current.for_in)
        elif isinstance(current, (cst.IndentedBlock, cst.Module, cst.SimpleStatementSuite)):
            yield from self._earlier(current, below)
        elif isinstance(current, cst.MatchCase):
            yield from self._case(current, below)
        else:
            yield from _surrounding(current, below)

    def _case(self, case: cst.MatchCase, below: cst.CSTNode) -> Iterator[Guard]:
        match = self._parents.get(case)
        if below is case.body and isinstance(match, cst.Match):
            yield Guard("case", case, match.subject, True, case.pattern)
            if case.guard is not None:
                yield Guard("test", case, case.guard)

    def _earlier(self, block: cst.BaseSuite | cst.Module, below: cst.CSTNode) -> Iterator[Guard]:
        """Asserts, and ``if`` statements that exit, before the statement in the same block; nearest first."""
        if block not in self._left:  # cached per block: a long block is queried for each of its statements
            places = {statement: place for place, statement in enumerate(block.body)}
            left = [(place, guard) for statement, place in places.items() for guard in self._established_by(statement)]
            self._left[block] = places, left
        places, left = self._left[block]
        here = places.get(below, len(places))
        yield from (guard for place, guard in reversed(left) if place < here)

    def _established_by(self, statement: cst.CSTNode) -> Iterator[Guard]:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, cst.Assert):
                    yield Guard("test", small, small.test)
        elif isinstance(statement, cst.If):
            if never_falls_through(statement.body, self._qualified):
                yield Guard("test", statement, statement.test, False)
            elif isinstance(statement.orelse, cst.Else) and never_falls_through(statement.orelse.body, self._qualified):
                yield Guard("test", statement, statement.test, True)


def _tested(current: cst.If | cst.IfExp | cst.While | cst.BooleanOperation, below: cst.CSTNode) -> Iterator[Guard]:
    if isinstance(current, cst.BooleanOperation):
        if below is current.right:
            yield Guard("test", current, current.left, isinstance(current.operator, cst.And))
    elif isinstance(current, cst.While):
        if below is current.body:
            yield Guard("test", current, current.test)
    elif below is not current.test:
        yield Guard("test", current, current.test, below is current.body)


def _comprehension(clause: cst.CompFor | None) -> Iterator[Guard]:
    while clause is not None:
        for test in clause.ifs:
            yield Guard("test", test, test.test)
        clause = clause.inner_for_in


def _surrounding(current: cst.CSTNode, below: cst.CSTNode) -> Iterator[Guard]:
    if isinstance(current, (cst.Try, cst.TryStar)):
        if below is current.body and current.handlers:
            yield Guard("try", current)
    elif isinstance(current, (cst.ExceptHandler, cst.ExceptStarHandler)):
        yield Guard("handler", current, current.type)
    elif isinstance(current, (cst.FunctionDef, cst.ClassDef)):
        for decorator in current.decorators:
            yield Guard("decorator", decorator, decorator.decorator)


def implied(test: cst.BaseExpression, holds: bool, by_operand: Callable[[cst.BaseExpression, bool], bool], /) -> bool:
    """Whether a condition that evaluates to ``holds`` implies something, given what its operands imply.

    ``not``, ``and``, ``or`` and assignment expressions are taken apart; ``by_operand`` decides for anything else.
    """
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return implied(test.expression, not holds, by_operand)
    if isinstance(test, cst.BooleanOperation):
        sides = [implied(side, holds, by_operand) for side in (test.left, test.right)]
        return any(sides) if isinstance(test.operator, cst.And) is holds else all(sides)
    if isinstance(test, cst.NamedExpr):
        return implied(test.value, holds, by_operand)
    return by_operand(test, holds)


def different_branches(around: cst.CSTNode, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two children of a node are different branches of it, so that no pass through the code runs both."""
    if isinstance(around, (cst.If, cst.IfExp)):
        return one is not around.test and other is not around.test and one is not other
    if isinstance(around, cst.Match):
        return isinstance(one, cst.MatchCase) and isinstance(other, cst.MatchCase) and one is not other
    if isinstance(around, (cst.Try, cst.TryStar)):
        ends = (*around.handlers, around.orelse)
        return one in ends and other in ends and one is not other
    return False

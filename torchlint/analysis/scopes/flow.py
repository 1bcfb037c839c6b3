"""Control flow: forward data flow analysis over structured statements, and statements that end a path.

:class:`ForwardAnalysis` visits the statements of a function or module in execution order: it joins branches, iterates
loops to a fixpoint, and does not enter code after ``return`` or ``sys.exit()``. Subclasses define the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import libcst as cst

from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.syntax.walk import test_of

StateT = TypeVar("StateT")
LOOPS = (cst.For, cst.While)
ANCHORS = (
    cst.BaseSmallStatement,
    cst.If,
    cst.While,
    cst.For,
    cst.With,
    cst.FunctionDef,
    cst.ClassDef,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
    cst.Match,
)
_LEAVING = frozenset({cst.Return, cst.Raise, cst.Break, cst.Continue})
_is_small = test_of(cst.BaseSmallStatement)
_ROUNDS = 5
NEVER_RETURN = frozenset(
    "sys.exit os._exit os.abort builtins.exit builtins.quit pytest.skip pytest.fail pytest.exit".split()
)
# Context managers that do not suppress exceptions.
_TRANSPARENT = ("torch.", "builtins.open", "contextlib.nullcontext", "contextlib.closing")


class _Loop(Generic[StateT]):
    def __init__(self) -> None:
        self.breaks: list[StateT] = []
        self.continues: list[StateT] = []


class ForwardAnalysis(Generic[StateT]):
    """Base class of forward analyses: define ``join`` and ``transfer``, then :meth:`run` a body.

    States are immutable. ``before`` holds the state before every reachable statement or compound header; ``exits``
    holds the states at every ``return`` and at the end of the body.
    """

    def __init__(self, qualified: Callable[[cst.CSTNode], str | None]) -> None:
        self.before: dict[cst.CSTNode, StateT] = {}
        self.exits: list[StateT] = []
        self._qualified = qualified
        self._loops: list[_Loop[StateT]] = []
        self._watchers: list[list[StateT]] = []

    # -- what a subclass says --------------------------------------------------------------------

    def join(self, one: StateT, other: StateT) -> StateT:
        """The state that holds on either of two paths."""
        raise NotImplementedError

    def transfer(self, statement: cst.CSTNode, state: StateT) -> StateT:
        """The state after a simple statement, or after the header of a compound statement."""
        raise NotImplementedError

    def assume(self, test: cst.BaseExpression, holds: bool, state: StateT) -> StateT | None:  # noqa: ARG002
        """The state in a branch where ``test`` evaluated to ``holds``; None if the branch is unreachable.

        Not called for constants.
        """
        return state

    # -- the walk --------------------------------------------------------------------------------

    def run(self, body: cst.BaseSuite | cst.Module, state: StateT) -> None:
        """Analyze the body of a module, class or function, starting from an initial state."""
        end = self._block(body.body, state)
        if end is not None:
            self.exits.append(end)

    def _taken(self, test: cst.BaseExpression, holds: bool, state: StateT) -> StateT | None:
        return None if constant(test) is (not holds) else self.assume(test, holds, state)

    def _merge(self, *states: StateT | None) -> StateT | None:
        merged: StateT | None = None
        for state in states:
            if state is not None:
                merged = state if merged is None else self.join(merged, state)
        return merged

    def _enter(self, node: cst.CSTNode, state: StateT) -> StateT:
        known = self.before.get(node)
        self.before[node] = state if known is None else self.join(known, state)
        after = self.transfer(node, state)
        for watcher in self._watchers:
            watcher.append(after)
        return after

    def _block(self, body: Sequence[cst.CSTNode], state: StateT | None) -> StateT | None:
        for statement in body:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _suite(self, suite: cst.BaseSuite, state: StateT | None) -> StateT | None:
        return self._block(suite.body, state)

    def _statement(self, node: cst.CSTNode, state: StateT) -> StateT | None:
        if node.__class__ is cst.SimpleStatementLine:
            return self._block(node.body, state)
        if _is_small(node):
            return self._small(node, state)  # type: ignore[arg-type]
        if isinstance(node, cst.If):
            return self._if(node, state)
        if isinstance(node, LOOPS):
            return self._loop(node, state)
        if isinstance(node, (cst.Try, cst.TryStar)):
            return self._try(node, state)
        if isinstance(node, cst.With):
            return self._with(node, self._enter(node, state))
        if isinstance(node, cst.Match):
            return self._match(node, state)
        return self._enter(node, state)

    def _small(self, node: cst.BaseSmallStatement, state: StateT) -> StateT | None:
        after: StateT | None = self._enter(node, state)
        assert after is not None
        kind = node.__class__
        if kind is cst.Return:
            self.exits.append(after)
        elif kind is cst.Break and self._loops:
            self._loops[-1].breaks.append(after)
        elif kind is cst.Continue and self._loops:
            self._loops[-1].continues.append(after)
        elif kind is cst.Assert:
            return self._taken(node.test, True, after)  # type: ignore[attr-defined]
        return None if never_continues(node, self._qualified) else after

    def _if(self, node: cst.If, state: StateT) -> StateT | None:
        after = self._enter(node, state)
        yes = self._suite(node.body, self._taken(node.test, True, after))
        no = self._taken(node.test, False, after)
        if no is not None and isinstance(node.orelse, cst.If):
            no = self._if(node.orelse, no)
        elif isinstance(node.orelse, cst.Else):
            no = self._suite(node.orelse.body, no)
        return self._merge(yes, no)

    def _loop(self, node: cst.For | cst.While, state: StateT) -> StateT | None:
        entry, loop = state, _Loop[StateT]()
        for _ in range(_ROUNDS):
            loop = _Loop()
            self._loops.append(loop)
            inside: StateT | None = self._enter(node, entry)
            if isinstance(node, cst.While) and inside is not None:
                inside = self._taken(node.test, True, inside)
            end = self._suite(node.body, inside)
            self._loops.pop()
            again = self._merge(entry, end, *loop.continues)
            if again is None or again == entry:
                break
            entry = again
        return self._merge(self._loop_end(node, entry), *loop.breaks)

    def _loop_end(self, node: cst.For | cst.While, state: StateT) -> StateT | None:
        if isinstance(node, cst.While):
            known = self._taken(node.test, False, self.transfer(node, state))
            if known is None:
                return None
            state = known
        return self._suite(node.orelse.body, state) if node.orelse else state

    def _with(self, node: cst.With, state: StateT) -> StateT | None:
        """Analyze ``with``: if the body always raises, a manager such as ``suppress(OSError)`` may continue there."""
        seen = [state]
        self._watchers.append(seen)
        end = self._suite(node.body, state)
        self._watchers.pop()
        return end if end is not None or self._lets_through(node) else self._merge(*seen)

    def _lets_through(self, node: cst.With) -> bool:
        managers = [item.item.func if isinstance(item.item, cst.Call) else item.item for item in node.items]
        return all((self._qualified(manager) or "").startswith(_TRANSPARENT) for manager in managers)

    def _try(self, node: cst.Try | cst.TryStar, state: StateT) -> StateT | None:
        seen: list[StateT] = [state]
        before = len(self.exits)
        self._watchers.append(seen)
        end = self._suite(node.body, state)
        self._watchers.pop()
        raised = self._merge(*seen)
        assert raised is not None
        if node.orelse:
            end = self._suite(node.orelse.body, end)
        ends = [end] + [self._suite(h.body, self._enter(h, raised)) for h in node.handlers]
        after = self._merge(*ends)
        if node.finalbody:
            self._returned_through(node.finalbody, before)
            done = self._suite(node.finalbody.body, after if after is not None else raised)
            return done if after is not None else None
        return after

    def _returned_through(self, final: cst.Finally, before: int) -> None:
        """Run ``finally`` for every ``return`` inside the statement."""
        returned = self._merge(*self.exits[before:])
        if returned is not None:
            left = self._suite(final.body, returned)
            self.exits[before:] = [left] if left is not None else []

    def _match(self, node: cst.Match, state: StateT) -> StateT | None:
        after = self._enter(node, state)
        ends = [self._suite(case.body, self._enter(case, after)) for case in node.cases]
        caught = any(_catches_all(case) for case in node.cases)
        return self._merge(None if caught else after, *ends)


def _catches_all(case: cst.MatchCase) -> bool:
    return case.guard is None and isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None


def constant(
    test: cst.BaseExpression, known: Callable[[cst.BaseExpression], bool | None] = lambda _: None
) -> bool | None:
    """The value of a condition that is constant, else None; ``known`` recognizes further constants."""
    value = literal(test)
    if value is not ...:
        return bool(value)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = constant(test.expression, known)
        return None if inner is None else not inner
    if isinstance(test, cst.BooleanOperation):
        decisive = isinstance(test.operator, cst.Or)
        sides = {constant(test.left, known), constant(test.right, known)}
        return decisive if decisive in sides else None if None in sides else not decisive
    return known(test)


def never_continues(node: cst.CSTNode, qualified: Callable[[cst.CSTNode], str | None]) -> bool:
    """Whether control never continues to the next statement."""
    kind = node.__class__
    if kind in _LEAVING:
        return True
    if kind is not cst.Expr and kind is not cst.Assert:
        return False
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        func = node.value.func
        skips = isinstance(func, cst.Attribute) and func.attr.value == "skipTest"  # unittest raises an exception there
        return skips or qualified(func) in NEVER_RETURN
    return isinstance(node, cst.Assert) and constant(node.test) is False


def never_falls_through(suite: cst.BaseSuite, qualified: Callable[[cst.CSTNode], str | None]) -> bool:
    """Whether control never reaches the end of the block."""
    for statement in reversed(suite.body):
        if isinstance(statement, cst.SimpleStatementLine):
            if any(never_continues(small, qualified) for small in statement.body):
                return True
        elif isinstance(statement, cst.BaseSmallStatement):
            if never_continues(statement, qualified):
                return True
        elif isinstance(statement, cst.If) and _if_never_falls_through(statement, qualified):
            return True
        elif isinstance(statement, cst.With) and never_falls_through(statement.body, qualified):
            return True
    return False


def _if_never_falls_through(node: cst.If, qualified: Callable[[cst.CSTNode], str | None]) -> bool:
    if not never_falls_through(node.body, qualified) or node.orelse is None:
        return False
    if isinstance(node.orelse, cst.If):
        return _if_never_falls_through(node.orelse, qualified)
    return never_falls_through(node.orelse.body, qualified)

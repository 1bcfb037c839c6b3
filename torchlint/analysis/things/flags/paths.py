"""Path-sensitive data flow of backend flags.

The state is a small set of paths. Each path records the flags written on it and the outcomes of the conditions on it,
so that two tests of the same condition are correlated. Calls of functions of the file are analyzed if those write
flags; functions in other files are represented by their summaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import libcst as cst

from torchlint.analysis.scopes.flow import ForwardAnalysis
from torchlint.analysis.syntax.walk import children, wording

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_MAX_PATHS = 64
_MAX_CALLS = 5


class BackendFlag(NamedTuple):
    """One write of a backend flag.

    ``value`` is True or False, or None if it is unknown. ``warn_only`` marks determinism that only warns.
    ``other_file`` is the file and line of a write in another file; ``node`` is then the call that leads to it.
    """

    name: str
    value: bool | None
    node: cst.CSTNode
    warn_only: bool = False
    other_file: tuple[str, int] | None = None


class Setting(NamedTuple):
    """A flag and the expression that it is set to, before that is evaluated on a path."""

    flag: str
    value: cst.BaseExpression | bool | None
    node: cst.CSTNode
    warn_only: bool = False


class Path(NamedTuple):
    """One path through the code. ``completed`` is the write after which all watched flags are True."""

    writes: frozenset[BackendFlag] = frozenset()
    conditions: frozenset[tuple[str, bool]] = frozenset()
    completed: BackendFlag | None = None

    def last_write(self, flag: str) -> BackendFlag | None:
        """The last write of a flag, or None."""
        return next((w for w in self.writes if w.name == flag), None)

    def with_write(self, write: BackendFlag, watched: frozenset[str]) -> Path:
        """The path after another write."""
        writes = frozenset(w for w in self.writes if w.name != write.name) | {write}
        on = {w.name for w in writes if w.value is True}
        if not watched or not watched <= on:
            return Path(writes, self.conditions, None)
        return Path(writes, self.conditions, self.completed or write)


State = frozenset[Path]


class FlagWriteQueries(Protocol):
    """The queries on flag writes that the data flow analysis needs."""

    module: SourceModule

    def matters(self, node: cst.CSTNode) -> bool: ...

    def called_writer(self, call: cst.Call) -> cst.FunctionDef | None: ...

    def set_by_assignment(self, statement: cst.CSTNode) -> Iterator[Setting]: ...

    def set_by_call(self, call: cst.Call) -> Iterator[Setting]: ...

    def helper_outcomes(self, call: cst.Call) -> list[tuple[BackendFlag, ...]]: ...

    def truth(self, node: cst.BaseExpression | bool | None, path: Path) -> bool | None: ...


class FlagFlow(ForwardAnalysis[State]):
    """Propagates paths through one body, and through the functions it calls."""

    def __init__(
        self, flags: FlagWriteQueries, owner: cst.CSTNode, stack: tuple[cst.CSTNode, ...], watched: frozenset[str]
    ) -> None:
        super().__init__(flags.module.qualified)
        self._flags = flags
        self._watched = watched
        self._stack = (*stack, owner)
        self._scope = scope_name(len(stack), owner)

    def join(self, one: State, other: State) -> State:
        return self._limited(one | other)

    def _statement(self, node: cst.CSTNode, state: State) -> State | None:
        return super()._statement(node, state) if self._flags.matters(node) else state

    def transfer(self, statement: cst.CSTNode, state: State) -> State:
        for call in calls_in(statement):
            state = self._after_call(call, state)
        for setting in self._flags.set_by_assignment(statement):
            state = self._after_setting(state, setting)
        return state

    def _after_call(self, call: cst.Call, state: State) -> State:
        function = self._flags.called_writer(call)
        if function is not None:
            may_follow = function not in self._stack and len(self._stack) <= _MAX_CALLS
            return self._after_function(function, state) if may_follow else state
        for setting in self._flags.set_by_call(call):
            state = self._after_setting(state, setting)
        if exits := self._flags.helper_outcomes(call):
            state = self._limited(frozenset(self._with_writes(path, writes) for path in state for writes in exits))
        return state

    def _with_writes(self, path: Path, writes: tuple[BackendFlag, ...]) -> Path:
        for write in writes:
            path = path.with_write(write, self._watched)
        return path

    def _after_setting(self, state: State, setting: Setting) -> State:
        truth = self._flags.truth
        return frozenset(
            path.with_write(
                BackendFlag(setting.flag, truth(setting.value, path), setting.node, setting.warn_only), self._watched
            )
            for path in state
        )

    def _after_function(self, function: cst.FunctionDef, state: State) -> State:
        inner = FlagFlow(self._flags, function, self._stack, self._watched)
        inner.run(function.body, state)
        return self._limited(frozenset().union(*inner.exits)) or state

    def _limited(self, state: State) -> State:
        """If there are too many paths, drop the conditions, which merges most paths, and keep the first few."""
        if len(state) <= _MAX_PATHS:
            return state
        order = self._flags.module.order
        merged = frozenset(path._replace(conditions=frozenset()) for path in state)
        first = sorted(merged, key=lambda p: sorted((w.name, str(w.value), order(w.node)) for w in p.writes))
        return frozenset(first[:_MAX_PATHS])

    def assume(self, test: cst.BaseExpression, holds: bool, state: State) -> State | None:
        left = frozenset(p for path in state if (p := self._assumed(test, holds, path)) is not None)
        return left or None

    def _assumed(self, test: cst.BaseExpression, holds: bool, path: Path) -> Path | None:
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self._assumed(test.expression, not holds, path)
        if isinstance(test, cst.BooleanOperation):
            if isinstance(test.operator, cst.And) is not holds:
                return path
            first = self._assumed(test.left, holds, path)
            return self._assumed(test.right, holds, first) if first is not None else None
        value = self._flags.truth(test, path)
        if value is not None:
            return path if value is holds else None
        text, positive = self._normalized(test)
        outcome = holds is positive
        if (text, not outcome) in path.conditions:
            return None
        return path._replace(conditions=path.conditions | {(text, outcome)})

    def _normalized(self, test: cst.BaseExpression) -> tuple[str, bool]:
        """A condition as text, with the name of its function, and whether it is positive."""
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            for operators, sign in (((cst.Is, cst.Equal), True), ((cst.IsNot, cst.NotEqual), False)):
                if isinstance(target.operator, operators):
                    return f"{self._scope}:{_compared_text(test.left)} == {wording(target.comparator)}", sign
        return f"{self._scope}:{wording(test)}", True


def scope_name(depth: int, owner: cst.CSTNode) -> str:
    """The prefix of the conditions of one function."""
    return str(depth) + getattr(getattr(owner, "name", None), "value", "")


def _compared_text(node: cst.BaseExpression) -> str:
    """The text of an expression; for an assignment expression, the name it assigns."""
    return wording(node.target if isinstance(node, cst.NamedExpr) else node)


def calls_in(statement: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that a statement, or the header of a compound statement, makes itself."""
    for child in children(statement):
        if not isinstance(child, (cst.BaseSuite, cst.BaseStatement, cst.Lambda)):
            if isinstance(child, cst.Call):
                yield child
            yield from calls_in(child)

"""Paths: the ways through the code, with the backend flags that are written on each.

The state is a small set of paths. Each knows the flags written on it, with the writes, and how the
conditions on the way came out, so that two tests of one condition exclude each other. Calls of functions
of the file are followed where those write flags; of functions in other files, the project knows the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import libcst as cst

from torchlint.analysis.scopes.flow import ForwardAnalysis
from torchlint.analysis.syntax.walk import children, wording

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_PATHS = 64
_CALLS = 5
_DEFINITIONS = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


class BackendFlag(NamedTuple):
    """One write of a backend flag, and the value it gave: True, False, or None when it is not known.

    ``soft`` marks determinism that only warns, ``elsewhere`` the file and line of a write in another file, of
    which ``node`` is the call that leads there.
    """

    name: str
    value: bool | None
    node: cst.CSTNode
    soft: bool = False
    elsewhere: tuple[str, int] | None = None


class Setting(NamedTuple):
    """A flag that is set to an expression, before it is known what that gives on a path."""

    flag: str
    value: cst.BaseExpression | bool | None
    node: cst.CSTNode
    soft: bool = False


class Path(NamedTuple):
    """One way through the code. ``completed`` is the write after which all watched flags were True."""

    writes: frozenset[BackendFlag] = frozenset()
    conditions: frozenset[tuple[str, bool]] = frozenset()
    completed: BackendFlag | None = None

    def of(self, flag: str) -> BackendFlag | None:
        """The last write of a flag."""
        return next((w for w in self.writes if w.name == flag), None)

    def wrote(self, write: BackendFlag, watched: frozenset[str]) -> Path:
        """The path after one more write."""
        writes = frozenset(w for w in self.writes if w.name != write.name) | {write}
        on = {w.name for w in writes if w.value is True}
        if not watched or not watched <= on:
            return Path(writes, self.conditions, None)
        return Path(writes, self.conditions, self.completed or write)


State = frozenset[Path]


class Writers(Protocol):
    """What is asked about the writes of flags in a file."""

    module: SourceModule

    def writer_called(self, call: cst.Call) -> cst.FunctionDef | None: ...

    def assigned(self, statement: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression, cst.CSTNode]]: ...

    def set_by_call(self, call: cst.Call) -> Iterator[Setting]: ...

    def elsewhere(self, call: cst.Call) -> Iterator[list[tuple[BackendFlag, ...]]]: ...

    def truth(self, node: cst.BaseExpression | bool | None, path: Path) -> bool | None: ...


class FlagFlow(ForwardAnalysis[State]):
    """Carries paths through one body, and through the functions it calls."""

    def __init__(
        self, flags: Writers, owner: cst.CSTNode, stack: tuple[cst.CSTNode, ...], watched: frozenset[str]
    ) -> None:
        super().__init__(flags.module.qualified)
        self._flags = flags
        self._watched = watched
        self._stack = (*stack, owner)
        self._scope = scope_name(len(stack), owner)

    def join(self, one: State, other: State) -> State:
        return self._bounded(one | other)

    def transfer(self, statement: cst.CSTNode, state: State) -> State:
        for call in calls_in(statement):
            state = self._called(call, state)
        for flag, value, node in self._flags.assigned(statement):
            state = self._written(state, Setting(flag, value, node))
        return state

    def _called(self, call: cst.Call, state: State) -> State:
        function = self._flags.writer_called(call)
        if function is not None:
            fits = function not in self._stack and len(self._stack) <= _CALLS
            return self._followed(function, state) if fits else state
        for setting in self._flags.set_by_call(call):
            state = self._written(state, setting)
        for exits in self._flags.elsewhere(call):
            state = self._bounded(frozenset(self._through(path, writes) for path in state for writes in exits))
        return state

    def _through(self, path: Path, writes: tuple[BackendFlag, ...]) -> Path:
        for write in writes:
            path = path.wrote(write, self._watched)
        return path

    def _written(self, state: State, setting: Setting) -> State:
        truth = self._flags.truth
        return frozenset(
            path.wrote(BackendFlag(setting.flag, truth(setting.value, path), setting.node, setting.soft), self._watched)
            for path in state
        )

    def _followed(self, function: cst.FunctionDef, state: State) -> State:
        inner = FlagFlow(self._flags, function, self._stack, self._watched)
        inner.run(function.body, state)
        left: State = frozenset().union(*inner.exits) if inner.exits else frozenset()
        return self._bounded(left) if left else state

    def _bounded(self, state: State) -> State:
        """Too many paths: forget the conditions, which merges most of them, and keep the first few."""
        if len(state) <= _PATHS:
            return state
        order = self._flags.module.order
        merged = frozenset(path._replace(conditions=frozenset()) for path in state)
        first = sorted(merged, key=lambda p: sorted((w.name, str(w.value), order(w.node)) for w in p.writes))
        return frozenset(first[:_PATHS])

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
        known_value = self._flags.truth(test, path)
        if known_value is not None:
            return path if known_value is holds else None
        text, positive = self._normal(test)
        outcome = holds is positive
        if (text, not outcome) in path.conditions:
            return None
        return path._replace(conditions=path.conditions | {(text, outcome)})

    def _normal(self, test: cst.BaseExpression) -> tuple[str, bool]:
        """A condition and its negation as one text with a sign; names of different functions differ."""
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            for operators, sign in (((cst.Is, cst.Equal), True), ((cst.IsNot, cst.NotEqual), False)):
                if isinstance(target.operator, operators):
                    return f"{self._scope}:{_plain(test.left)} == {wording(target.comparator)}", sign
        return f"{self._scope}:{wording(test)}", True


def scope_name(depth: int, owner: cst.CSTNode) -> str:
    """What the conditions of one function are marked with."""
    return str(depth) + getattr(getattr(owner, "name", None), "value", "")


def _plain(node: cst.BaseExpression) -> str:
    """A walrus counts as the name it sets."""
    return wording(node.target if isinstance(node, cst.NamedExpr) else node)


def calls_in(statement: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that a statement, or the header of a compound one, makes itself."""
    if isinstance(statement, _DEFINITIONS):
        return
    stack = [child for child in children(statement) if not isinstance(child, (cst.BaseSuite, cst.BaseStatement))]
    while stack:
        node = stack.pop(0)
        if isinstance(node, (cst.Lambda, cst.BaseSuite)):
            continue
        stack = children(node) + stack
        if isinstance(node, cst.Call):
            yield node

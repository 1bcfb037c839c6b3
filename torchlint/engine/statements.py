"""Statements, followed in order; alternatives start from the same state, and their states are joined."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.engine.conditions import (
    catches,
    ends_program,
    equality,
    fills,
    fills_after,
    leaves,
    off,
    passive,
    sounds_rare,
    tested_fields,
    truth,
    usually,
)
from torchlint.engine.frames import NO_GRADIENTS, Class, Function, Object, Scope
from torchlint.engine.imports import Imports
from torchlint.engine.loops import Loops, merge
from torchlint.engine.moves import moves_once
from torchlint.engine.narrowed import Held, by_class
from torchlint.engine.operations import operate
from torchlint.engine.state import Left, Raised, Returned
from torchlint.engine.union import join_all
from torchlint.engine.values import COUNTER, NONE, TEXT, UNKNOWN, Counted, Kind, Value
from torchlint.knowledge import forms
from torchlint.program.modules import Module, is_main_guard

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine


class Branch(NamedTuple):
    """An alternative: its statements, whether it is taken seldom, its option, what it compares, and what it tells."""

    body: Sequence[ast.stmt]
    rare: bool = False
    option: str | None = None
    equals: tuple[str, object] | None = None
    held: Held | None = None


class Statements:
    """Follows statements."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self._imports = Imports(engine)
        self._loops = Loops(engine, self.block)

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Statements in order; what follows ``if test: continue`` is guarded by ``not test``."""
        saved = self._state.region
        try:
            for number, statement in enumerate(body, 1):
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    self._state.spend()  # as a docstring does not
                self._state.ran[statement][self._state.region] = self._state.frame
                follow = _FOLLOW.get(type(statement))
                rest = follow(self, statement, scope) if follow is not None else None
                if rest is not None:
                    below = isinstance(statement, ast.If) and self._fills_below(statement, body[number:], scope)
                    rare = rest.rare or below
                    after = self._state.enter("guard", statement, "after", rare=rare, option=rest.option)
                    after.equals = rest.equals
        finally:
            self._state.region = saved

    def _fills_below(self, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> bool:
        return fills_after(node, rest, self._loop, _own(scope))

    @property
    def _loop(self) -> ast.AST | None:
        loop = self._state.region.loop()
        return loop.node if loop is not None else None

    def load(self, module: Module) -> None:
        """Follow the body of a module, without the part that only runs if it is the program."""
        if module.loaded:
            return
        module.loaded = True
        module.names["__name__"] = TEXT
        body = [statement for statement in module.tree.body if not is_main_guard(statement)]
        with self._state.at(self._engine.frame_of(module)):
            saved, self._state.worker = self._state.worker, False
            try:
                self.block(body, Scope(module.names, module))
            except (Returned, Left):
                pass
            finally:
                self._state.worker = saved

    # -- simple statements -------------------------------------------------------------------------

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        self._state.discarded = node.value
        self._engine.evaluate(node.value, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        if moves_once(self._engine, node, scope):
            with self._state.inside("guard", node, "once", rare=True):
                self._engine.assign(node.targets[0], self._engine.evaluate(node.value, scope), scope)
            return
        value = self._engine.evaluate(node.value, scope)
        if isinstance(node.targets[0], ast.Tuple) and _is_method(node.value, "step"):
            self._state.mark("act")  # obs, reward, done, info = env.step(action)
        for target in node.targets:
            self._engine.assign(target, self._engine.containers.spread(target, node.value, value), scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._engine.assign(node.target, self._engine.evaluate(node.value, scope), scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        left = self._engine.evaluate(node.target, scope)
        right = self._engine.evaluate(node.value, scope)
        self._state.uses(right, node)
        self._state.uses(left, node, writes=True)
        self._state.alter(left)
        value = operate(left, right, node.op)
        if {value.kind, right.kind} <= {Kind.NUMBER, Kind.CONSTANT} and isinstance(node.op, (ast.Add, ast.Sub)):
            value = COUNTER
        self._engine.assign(node.target, value, scope)

    def _return_(self, node: ast.Return, scope: Scope) -> None:
        raise Returned(self._engine.evaluate(node.value, scope) if node.value is not None else NONE)

    def _global_(self, node: ast.Global, scope: Scope) -> None:
        scope.of_module.update(node.names)

    def _leave(self, node: ast.stmt, scope: Scope) -> None:
        raise Left

    def _raise_(self, node: ast.Raise, scope: Scope) -> None:
        raise Raised

    def _assert_(self, node: ast.Assert, scope: Scope) -> None:
        self._state.waits(self._engine.evaluate(node.test, scope), node.test, scope, forms.ASSERTED)

    # -- definitions -------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        value = Value(Kind.FUNCTION, node.name, target=Function(node, scope, self._state.frame))
        scope.set(node.name, value)
        scope.set(node.name, self._engine.classes.decorated(node, value, scope))

    def _class_(self, node: ast.ClassDef, scope: Scope) -> None:
        class_ = Class(node, scope)
        self._engine.classes.all.append(class_)
        value = Value(Kind.CLASS, node.name, target=class_)
        if any(isinstance(base, ast.Name) and base.id == node.name for base in node.bases):
            self._engine.classes.lineage(class_)  # while the name still is that of its base
        scope.set(node.name, value)
        inner = Scope(class_.fields, scope.module, scope)
        inner.of_class = True
        with suppress(Returned, Left):
            self.block(node.body, inner)
        for member in class_.fields.values():
            if member.kind is Kind.FUNCTION and member.target.class_ is None:
                member.target.class_ = class_
        scope.set(node.name, self._engine.classes.decorated(node, value, scope))

    def _import(self, node: ast.Import, scope: Scope) -> None:
        self._imports.plain(node, scope)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        self._imports.names(node, scope)

    # -- branches ----------------------------------------------------------------------------------

    def _if_(self, node: ast.If, scope: Scope) -> Branch | None:
        test = self._engine.evaluate(node.test, scope)
        self._state.waits(test, node.test, scope, forms.CONDITION)
        outcome, filling = truth(test), fills(node, self._loop, _own(scope))
        if outcome is not None:
            self._decided(node, scope, holds=outcome, rare=outcome and filling)
            return Branch(()) if not outcome and leaves(node.body) else None
        rare = filling or ends_program(node.body)
        rarely = test.rarely or int(rare) or (0 if test.option else sounds_rare(node.test, test))
        rarely = rarely or -int(test.detail is Counted.REMAINDER)  # if step % n:
        holds, fails = by_class(node.test, scope, self._engine)
        branches = [
            Branch(node.body, rarely > 0, off(test, True), equality(node.test, True), holds),
            Branch(node.orelse, rarely < 0, off(test, False), equality(node.test, False), fails),
        ]
        self._alternatives(node, branches, scope)
        ends = [leaves(node.body), leaves(node.orelse)]
        if ends[0] == ends[1]:
            return None
        return branches[1] if ends[0] else branches[0]

    def _decided(self, node: ast.If, scope: Scope, *, holds: bool, rare: bool) -> None:
        """Follow the branch that is taken; one that an earlier round of a loop took instead is taken once."""
        regions = self._state.frame.regions
        taken, other = (regions.get((self._state.region, node, "guard", tag)) for tag in (int(not holds), int(holds)))
        if other is not None and taken is None and self._state.frame.loops:
            other.rare = True
        fields = tested_fields(node.test) if holds else set()
        stored = len(self._state.stores)
        with self._state.inside("guard", node, int(not holds), rare=rare) as region:
            try:
                self.block(node.body if holds else node.orelse, scope)
            finally:
                region.rare = region.rare or not fields.isdisjoint(self._state.stores[stored:])

    def _alternatives(self, node: ast.AST, branches: Sequence[Branch], scope: Scope) -> None:
        """Follow each from the same state, and join the states of those that go on."""
        before, since = dict(scope.names), self._state.changes
        fields = tested_fields(node.test) if isinstance(node, ast.If) else set()
        outcomes: list[dict[str, Value]] = []
        going: list[Branch] = []
        writes: list[dict[tuple[Object, str], Value]] = []
        returned: list[Value] = []
        for number, branch in enumerate(branches):
            scope.names.clear()
            scope.names.update(before)
            goes_on, stored = True, len(self._state.stores)
            with self._state.inside("guard", node, number, rare=branch.rare, option=branch.option) as region:
                region.equals = branch.equals
                if branch.held is not None:
                    self._engine.assign(*branch.held, scope)
                try:
                    self.block(branch.body, scope)
                    outcomes.append(dict(scope.names))
                    going.append(branch)
                except Returned as end:
                    returned.append(end.value)
                    goes_on = False
                except Left:
                    goes_on = False
            region.rare = region.rare or (number == 0 and not fields.isdisjoint(self._state.stores[stored:]))
            changed = self._state.undo(since)
            if goes_on:
                writes.append(changed)
        scope.returned += [join_all(returned)] if returned else []
        if not outcomes:
            if returned:
                raise Returned(scope.returned.pop())
            raise Left
        self._merge(going, outcomes, scope)
        for place in dict.fromkeys(place for changed in writes for place in changed):
            held = place[0].fields.get(place[1])
            values = [changed.get(place, held) for changed in writes]
            known = _usually(going, values) or join_all(value for value in values if value is not None)
            self._state.set_field(*place, known)

    def _merge(self, branches: Sequence[Branch], outcomes: Sequence[dict[str, Value]], scope: Scope) -> None:
        """Join the names that branches end with."""
        scope.names.clear()
        scope.names.update(outcomes[0])
        for outcome in outcomes[1:]:
            merge(scope, outcome)
        if len(outcomes) > 1:
            for name in [*scope.names]:
                known = _usually(branches, [outcome.get(name) for outcome in outcomes])
                scope.names[name] = known or scope.names[name]

    def _match_(self, node: ast.Match, scope: Scope) -> None:
        self._engine.evaluate(node.subject, scope)
        self._alternatives(node, [*(Branch(case.body) for case in node.cases), Branch([])], scope)

    # -- loops -------------------------------------------------------------------------------------

    def _for_(self, node: ast.For, scope: Scope) -> None:
        self._loops.through(node, scope)

    def _while_(self, node: ast.While, scope: Scope) -> None:
        self._loops.until(node, scope)

    # -- other compound statements -----------------------------------------------------------------

    def _with_(self, node: ast.With, scope: Scope) -> None:
        suppresses = quiet = False
        outside = self._state.default_device
        for item in node.items:
            quiet = quiet or self._engine.gradients.may_be_off(item.context_expr, scope)
            value = self._engine.evaluate(item.context_expr, scope)
            self._state.default_device = value.device if value.kind is Kind.DEVICE else self._state.default_device
            suppresses = suppresses or catches(item.context_expr)
            if value.kind is Kind.GENERATOR:
                value = value.element or UNKNOWN
            elif value.kind is Kind.INSTANCE:
                enter = self._engine.classes.method(value, "__enter__")
                if enter is not None:
                    value = self._engine.call(enter, [], {}, item.context_expr, scope)
            if item.optional_vars is not None:
                self._engine.assign(item.optional_vars, value, scope)
        try:
            with self._state.inside(NO_GRADIENTS, node) if quiet else nullcontext():
                self.block(node.body, scope)
        except Raised:
            if not suppresses:
                raise
        finally:
            self._state.default_device = outside
            if not all(map(passive, node.items)):
                self._state.queued.wait()

    def _try_(self, node: ast.Try, scope: Scope) -> None:
        """The body as usual; exceptions are seldom, except for what the body itself raises in any case."""
        end = self._end(lambda: self.block(node.body, scope))
        if isinstance(end, Raised) and node.handlers:
            branches = [Branch(handler.body) for handler in node.handlers]
            end = self._end(lambda: self._alternatives(node, branches, scope))
        else:
            if scope.function is not None:
                self._handlers(node, scope)
            if end is None:
                self.block(node.orelse, scope)
        self.block(node.finalbody, scope)
        if end is not None:
            raise end

    def _end(self, follow: Callable[[], None]) -> Exception | None:
        """Follow statements; how they leave the block, if they do."""
        try:
            follow()
        except (Returned, Left) as left:
            return left
        return None

    def _handlers(self, node: ast.Try, scope: Scope) -> None:
        before, since = dict(scope.names), self._state.changes
        for number, handler in enumerate(node.handlers):
            if all(isinstance(statement, (ast.Raise, ast.Pass)) for statement in handler.body):
                continue
            with self._state.inside("guard", handler, number, rare=True):
                try:
                    self.block(handler.body, scope)
                except Returned as end:
                    scope.returned += [end.value] if end.value.kind is not Kind.CONSTANT else []
                except Left:
                    pass
        self._state.undo(since)
        scope.names.clear()
        scope.names.update(before)


def _usually(branches: Sequence[Branch], values: Sequence[Value | None]) -> Value | None:
    """What a normal run has after two branches, if it seldom or never takes one of them."""
    unusual = [branch.rare or branch.option is not None for branch in branches]
    if sorted(unusual) != [False, True]:
        return None
    branch, other, usual = branches[unusual.index(True)], *(values[unusual.index(odd)] for odd in (True, False))
    return usually(usual, other, rare=branch.rare, option=branch.option) if other not in (None, usual) else None


def _own(scope: Scope) -> Collection[str]:
    """The variables of a function that it does not share with the file."""
    return scope.names.keys() - scope.of_module if scope.function is not None else ()


def _is_method(node: ast.expr, name: str) -> bool:
    """Whether a node is a call of a method with arguments."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and bool(node.args)
    )


_FOLLOW: dict[type, Callable[[Statements, Any, Scope], Branch | None]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Return: Statements._return_,
    ast.Global: Statements._global_,
    ast.Continue: Statements._leave,
    ast.Raise: Statements._raise_,
    ast.Assert: Statements._assert_,
    ast.FunctionDef: Statements._function,
    ast.ClassDef: Statements._class_,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.If: Statements._if_,
    ast.Match: Statements._match_,
    ast.For: Statements._for_,
    ast.While: Statements._while_,
    ast.With: Statements._with_,
    ast.Try: Statements._try_,
    ast.Break: Statements._leave,
    ast.AsyncFunctionDef: Statements._function,
    ast.AsyncFor: Statements._for_,
    ast.AsyncWith: Statements._with_,
}

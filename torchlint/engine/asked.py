"""What is followed only as far as something asks for it: names of modules, and fields of objects.

What hot functions need of a large project is a small part of its modules and constructors.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from torchlint.engine.frames import Class, Function, Object, Scope
from torchlint.engine.parameters import Parameters
from torchlint.engine.state import Left, Returned
from torchlint.engine.union import join_all
from torchlint.engine.values import UNKNOWN, Kind, Value
from torchlint.program.modules import Module, is_main_guard

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "handlers", "finalbody")
_REGISTERING = ("register_buffer", "register_parameter")
_Binding = dict[str, list[ast.stmt]]


class Asked(dict[str, Value]):
    """Names, each of which is bound by the statements that ``binding`` gives for it when something asks for it."""

    def __init__(
        self, names: dict[str, Value], binding: Callable[[], _Binding], run: Callable[[ast.stmt], None]
    ) -> None:
        super().__init__(names)
        self._find, self._run = binding, run
        self._binding: _Binding | None = None
        self._done: set[ast.stmt] = set()

    def get(self, name: str, default: Value | None = None) -> Value | None:  # type: ignore[override]
        """The value of a name."""
        found = super().get(name)
        if found is None and name != "*":
            if self._binding is None:
                self._binding = self._find()
            for key in (name, "*"):
                for statement in self._binding.pop(key, ()):
                    if statement not in self._done:
                        self._done.add(statement)
                        self._run(statement)
                found = super().get(name)
                if found is not None:
                    break
        return found if found is not None else default

    def ask_all(self) -> None:
        """Bind every name."""
        self.get("")
        for name in list(self._binding or ()):
            self.get(name)


class Asking:
    """Follows what is asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self._parameters = Parameters(engine)
        self._asked: set[tuple[Object, str]] = set()
        self._fields: dict[Class, dict[str, list[tuple[Function, ast.stmt]]]] = {}
        self._scopes: dict[tuple[Object, Function], Scope] = {}

    def names(self, module: Module) -> Asked:
        """The names of a module."""

        def run(statement: ast.stmt) -> None:
            self._engine.statements.load_part(module, [statement])

        return Asked(module.names, lambda: _bindings(s for s in module.tree.body if not is_main_guard(s)), run)

    def field(self, owner: Value, name: str) -> None:
        """Give an object a field as the constructor of its class makes it, or else as other methods do."""
        if name in owner.target.fields or (owner.target, name) in self._asked:
            return
        self._asked.add((owner.target, name))
        order = self._engine.classes.lineage(owner.target.class_)[0]
        every = [each for class_ in order for each in self._assigned(class_).get(name, ())]
        made = [each for each in every if each[0].name == "__init__"]
        found = self._values(owner, name, made)
        if not found or all(value.is_none for value in found):
            found += self._values(owner, name, [each for each in every if each not in made])
        known = [value for value in found if value.kind is not Kind.UNKNOWN and not value.is_none]
        if found and name not in owner.target.fields:
            owner.target.fields[name] = join_all(known) if known else found[0]

    def _assigned(self, class_: Class) -> dict[str, list[tuple[Function, ast.stmt]]]:
        """The statements of the methods of a class that give its objects each field."""
        if class_ not in self._fields:
            found = self._fields[class_] = defaultdict(list)
            for value in list(class_.fields.values()):
                if value.kind is Kind.FUNCTION and value.target.class_ is class_ and value.target.kind != "static":
                    for statement in _simple(value.target.node.body) if value.target.kind != "class" else ():
                        for name in _fields_of(statement):
                            found[name].append((value.target, statement))
        return self._fields[class_]

    def _values(self, owner: Value, name: str, assigned: list[tuple[Function, ast.stmt]]) -> list[Value]:
        if not assigned:
            return []
        frame = self._state.new_frame(assigned[0][0].scope.module, "<made>")
        frame.assumed = True
        with self._state.at(frame):
            return [self._value(owner, name, *each) for each in assigned]

    def _value(self, owner: Value, name: str, function: Function, statement: ast.stmt) -> Value:
        """What one statement gives a field; nothing else that it changes lasts."""
        since = self._state.changes
        with suppress(Returned, Left):
            self._engine.statements.block([statement], self._scope(owner, function))
        return self._state.undo(since).get((owner.target, name), UNKNOWN)

    def _scope(self, owner: Value, function: Function) -> Scope:
        """The scope of a method: its parameters, and its variables as they are asked for."""
        place = owner.target, function
        if place not in self._scopes:
            scope = Scope({}, function.scope.module, function.scope)
            scope.function = function
            args, named = owner.target.given if function.name == "__init__" else ((), {})
            given = self._parameters.bind(function, [owner, *args], named)

            def run(statement: ast.stmt) -> None:
                self._engine.statements.block([statement], scope)

            body = function.node.body if not isinstance(function.node, ast.Lambda) else []
            scope.names = Asked(given, lambda: _bindings(_simple(body)), run)
            self._scopes[place] = scope
        return self._scopes[place]


def _simple(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements and definitions in a block, also below conditions and loops."""
    for statement in body:
        if isinstance(statement, (*_DEFINITIONS, ast.Assign, ast.AnnAssign, ast.Expr, ast.Import, ast.ImportFrom)):
            yield statement
        for block in _BLOCKS if not isinstance(statement, _DEFINITIONS) else ():
            yield from _simple(getattr(statement, block, []))


def _bindings(statements: Iterator[ast.stmt]) -> _Binding:
    """The statements that bind each name, or change what it names."""
    found: _Binding = defaultdict(list)
    for statement in statements:
        for name in dict.fromkeys(_bound(statement)):
            found[name].append(statement)
    return found


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _DEFINITIONS):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (each.asname or each.name.partition(".")[0] for each in node.names)
    yield from (root.id for root in map(_root, _targets(node)) if isinstance(root, ast.Name))
    for block in _BLOCKS if not isinstance(node, _DEFINITIONS) else ():
        for inner in getattr(node, block, ()):
            yield from _bound(inner)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement assigns to."""
    every = getattr(node, "targets", None) or [getattr(node, "target", None)]
    every += [each.optional_vars for each in getattr(node, "items", ())]
    for target in every:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target] if target is not None else []


def _root(target: ast.expr) -> ast.expr:
    while isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        target = target.value
    return target


def _fields_of(statement: ast.stmt) -> Iterator[str]:
    """The fields of ``self`` that a statement assigns or registers."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTERING:
        if len(call.args) > 1 and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value)
        return
    for target in _targets(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else ():
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            yield target.attr

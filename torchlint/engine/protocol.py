"""What the parts of the engine, and what follows libraries, ask of one another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol

from torchlint.engine.arguments import Arguments
from torchlint.engine.frames import Class, Frame, Function, Object, Scope
from torchlint.engine.memory import Memory
from torchlint.engine.state import State
from torchlint.engine.values import Device, Value
from torchlint.program.modules import Module
from torchlint.program.project import Program


class Expressions(Protocol):
    """See :mod:`torchlint.engine.expressions`."""

    def safely(self, node: ast.expr, scope: Scope) -> Value: ...


class Statements(Protocol):
    """See :mod:`torchlint.engine.statements`."""

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> None: ...

    def load(self, module: Module) -> None: ...


class Containers(Protocol):
    """See :mod:`torchlint.engine.containers`."""

    def iterate(self, iterable: Value, node: ast.AST) -> None: ...

    def consume(self, iterable: Value, node: ast.AST) -> None: ...

    def holds_loader(self, iterable: Value) -> bool: ...

    def element(self, iterable: Value, node: ast.AST, scope: Scope) -> Value: ...

    def spread(self, target: ast.expr, node: ast.expr, value: Value) -> Value: ...

    def each(self, union: Value, act: Callable[[Value], Value]) -> Value: ...

    def item(self, owner: Value, indices: list[Value | None], node: ast.AST, scope: Scope) -> Value: ...


class Attributes(Protocol):
    """See :mod:`torchlint.engine.attributes`."""

    def of(self, owner: Value, name: str, node: ast.AST, scope: Scope) -> Value: ...

    def computed(self, owner: Value, args: list[Value], node: ast.AST, scope: Scope) -> Value: ...


class Classes(Protocol):
    """See :mod:`torchlint.engine.classes`."""

    all: list[Class]

    def lineage(self, class_: Class) -> tuple[tuple[Class, ...], frozenset[str]]: ...

    def libraries_of(self, value: Value) -> frozenset[str]: ...

    def method(self, owner: Value, name: str) -> Value | None: ...

    def is_module(self, value: Value) -> bool: ...

    def makes_modules(self, class_: Class) -> bool: ...

    def instantiate(
        self, class_: Class, args: list[Value], kwargs: dict[str, Value], node: ast.AST, scope: Scope
    ) -> Value: ...

    def assumed(self, class_: Class) -> Value: ...

    def objects_of(self, class_: Class) -> Value | None: ...

    def namespace(self, key: object) -> Object: ...

    def decorated(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, value: Value, scope: Scope
    ) -> Value: ...


class Calls(Protocol):
    """See :mod:`torchlint.engine.calls`."""

    reached: set[ast.AST]
    closures: set[Scope]
    passed: dict[tuple[Module, str], Value]

    def evaluate(self, node: ast.Call, scope: Scope) -> Value: ...

    def call(
        self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope
    ) -> Value: ...

    def of_unknown(self, args: list[Value], named: dict[str, Value], node: ast.AST) -> Value: ...

    def invoke(self, function: Function, args: list[Value], named: dict[str, Value], node: ast.AST) -> Value: ...


class Gradients(Protocol):
    """See :mod:`torchlint.engine.gradients`."""

    def called(self, function: Value, node: ast.Call, scope: Scope) -> None: ...

    def may_be_off(self, context: ast.expr, scope: Scope) -> bool: ...

    def is_quiet(self, function: Function) -> bool: ...


class Libraries(Protocol):
    """What the engine asks about libraries."""

    def named(self, dotted: str) -> Value:
        """What a dotted name of a library stands for: a class or function of its stub, or only the name."""

    def call(self, function: Value, given: Arguments) -> Value:
        """What a function of a library, or a method of something that is no object of the project, gives."""

    def module_result(self, module: Value, device: Device | None) -> Value:
        """What a module of a library gives for arguments on a device."""

    def scattered(
        self, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope
    ) -> tuple[list[Value], dict[str, Value]]:
        """What a module gets from its wrapper that moves its arguments to the device."""

    def parameter(self, name: str, default: Value) -> Value:
        """A parameter with a default of a function that nothing is known to call."""

    def given(self, name: str) -> Value | None:
        """The value of a parameter that a command line fills, if the configuration says it."""

    def filled(self, arg: ast.arg, function: Function) -> Value:
        """The value of a parameter without a default that no call passes: a command line fills it."""

    def run(self, command: Value) -> Value:
        """What a function gives that a command line calls."""

    def configured(self, found: Value, function: Value, given: Arguments) -> Value:
        """What a function gives that makes objects from names in its arguments or in configuration files."""


class Loaders(Protocol):
    """What the engine asks about data loaders."""

    def batch(self, dataset: Value, named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        """The batch that a loader makes of a dataset."""


class Engine(Protocol):
    """See :mod:`torchlint.engine.engine`."""

    program: Program
    state: State
    memory: Memory

    @property
    def expressions(self) -> Expressions: ...

    @property
    def statements(self) -> Statements: ...

    @property
    def containers(self) -> Containers: ...

    @property
    def attributes(self) -> Attributes: ...

    @property
    def classes(self) -> Classes: ...

    @property
    def calls(self) -> Calls: ...

    @property
    def gradients(self) -> Gradients: ...

    @property
    def libraries(self) -> Libraries: ...

    @property
    def loaders(self) -> Loaders: ...

    def evaluate(self, node: ast.expr, scope: Scope) -> Value: ...

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None: ...

    def call(
        self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope
    ) -> Value: ...

    def module(self, module: Module) -> Value: ...

    def loaded(self, dotted: str) -> Value | None: ...

    def named(self, dotted: str, asking: Module) -> Value | None: ...

    def frame_of(self, module: Module) -> Frame: ...

"""The engine: its parts, and what they ask of one another."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchlint.engine.attributes import Attributes
from torchlint.engine.calls import Calls
from torchlint.engine.classes import Classes
from torchlint.engine.containers import Containers
from torchlint.engine.expressions import Expressions
from torchlint.engine.frames import Frame, Scope
from torchlint.engine.gradients import Gradients
from torchlint.engine.memory import Memory
from torchlint.engine.protocol import Libraries, Loaders
from torchlint.engine.state import State
from torchlint.engine.statements import Statements
from torchlint.engine.values import Kind, Value
from torchlint.program.modules import Module
from torchlint.program.project import Program


class Engine:
    """Follows the code of a program."""

    def __init__(self, program: Program, work: int, libraries: Callable[[Engine], tuple[Libraries, Loaders]]) -> None:
        self.program = program
        self.state = State(work)
        self.memory = Memory(self.state)
        self.expressions = Expressions(self)
        self.containers = Containers(self)
        self.attributes = Attributes(self)
        self.classes = Classes(self)
        self.calls = Calls(self)
        self.gradients = Gradients(self)
        self.statements = Statements(self)
        self.libraries, self.loaders = libraries(self)

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """The value of an expression."""
        return self.expressions.evaluate(node, scope)

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind a target to a value."""
        self.containers.assign(target, value, scope)

    def call(self, function: Value, args: list[Value], named: dict[str, Value], node: ast.AST, scope: Scope) -> Value:
        """What calling a value gives."""
        return self.calls.call(function, args, named, node, scope)

    # -- modules -----------------------------------------------------------------------------------

    def module(self, module: Module) -> Value:
        """A module as a value."""
        return Value(Kind.MODULE, module.name, target=module)

    def loaded(self, dotted: str) -> Value | None:
        """The module of the project with this full name, followed; None if there is none."""
        found = self.program.named(dotted)
        if found is None:
            return None
        self.statements.load(found)
        return self.module(found)

    def named(self, dotted: str, asking: Module) -> Value | None:
        """What a dotted name means at the top of a module of the project, as seen from another one."""
        path, _, name = dotted.rpartition(".")
        module = self.program.find(path, asking)
        if module is None:
            return None
        self.statements.load(module)
        return module.names.get(name)

    def frame_of(self, module: Module) -> Frame:
        """The frame of the body of a module."""
        found = self.state.frames.get(module)
        if found is None:
            found = self.state.frames[module] = Frame(None, module, "<module>")
        return found

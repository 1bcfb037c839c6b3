"""Functions that the configuration calls hot: they are steps, whatever calls them.

What calls them may be another process, a registry or a name, so calls in them whose receiver is not known go to every
method of that name in the project, and those of a known class also to the overrides of its subclasses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchlint.catalogue.functions import METHODS
from torchlint.engine.frames import Class, Frame, Function, Region, callees
from torchlint.engine.values import Kind, Value
from torchlint.program.world import matches
from torchlint.project.followed import HOT

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_ROUNDS = 6  # of calls of what unresolved calls have led to
# Methods of Python and of tensors, which are no reason to look for one of the project.
_COMMON = frozenset({*METHODS, *(name for kind in (dict, list, str, set, bytes) for name in dir(kind))})


class _Unresolved(NamedTuple):
    """A call of a method of an unknown object, or of a class that has subclasses."""

    name: str
    base: Class | None
    frame: Frame
    region: Region
    args: list[Value]
    named: dict[str, Value]
    node: ast.Call


class Hot:
    """Finds the functions that the configuration names, and those that unresolved calls in them may mean."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self.patterns = engine.program.world.hot
        self._unresolved: dict[tuple[str, Class | None, Frame], _Unresolved] = {}
        self._done: set[tuple[str, Class | None]] = set()
        if self.patterns:
            self._state.unresolved = self._meet

    def words(self) -> set[bytes]:
        """A word of each pattern that a file with such a function has."""
        parts = (max(pattern.rpartition(".")[2].lstrip("@").split("*"), key=len) for pattern in self.patterns)
        return {part.encode() for part in parts}

    def functions(self) -> Iterator[tuple[Function, Class | None]]:
        """The functions that are configured as hot, with the class of each method."""
        for class_ in list(self._engine.classes.all):
            bases = [] if _is_left_out(class_) else self._engine.classes.lineage(class_)[0]
            for function in _methods(class_) if bases else ():
                names = [f"{each.scope.module.name}.{each.node.name}.{function.name}" for each in bases]
                if matches(names, function.node, self.patterns):
                    yield function, class_
        for module in self._engine.program.modules.values():
            for value in list(module.names.values()) if module.loaded and not module.is_test else ():
                function = value.target
                own = value.kind is Kind.FUNCTION and function.class_ is None and function.scope.module is module
                if own and matches([f"{module.name}.{function.name}"], function.node, self.patterns):
                    yield function, None

    def frame(self, function: Function, class_: Class | None) -> Frame:
        """What stands for the caller of a hot function."""
        owner = f"{class_.node.name}." if class_ is not None else ""
        frame = self._state.new_frame(function.scope.module, f"<hot {function.name}>")
        frame.hot = f"{HOT}{owner}{function.name}"
        return frame

    # -- calls that are not resolved ---------------------------------------------------------------

    def _meet(self, function: Value, args: list[Value], named: dict[str, Value], node: ast.Call) -> None:
        """Remember a call, if it is one of a method that is not known, or that subclasses may override."""
        receiver = function.receiver
        if receiver is None or not isinstance(node.func, ast.Attribute) or node.func.attr in _COMMON:
            return
        base = receiver.target.class_ if receiver.kind is Kind.INSTANCE else None
        if (function.kind is Kind.METHOD and receiver.kind is Kind.UNKNOWN) or base is not None:
            frame, name = self._state.frame, node.func.attr
            found = _Unresolved(name, base, frame, self._state.region, args, named, node)
            self._unresolved.setdefault((name, base, frame), found)

    def rounds(self) -> Iterator[list[_Unresolved]]:
        """The unresolved calls that hot functions get to, each name once, until following them leads to no others."""
        for _ in range(_ROUNDS):
            reached = callees(frame for frame in self._state.frames.values() if frame.hot)
            found: dict[tuple[str, Class | None], _Unresolved] = {}
            for name, base, frame in self._unresolved:
                if frame in reached and not self._done & {(name, base), (name, None)}:
                    found.setdefault((name, base), self._unresolved[name, base, frame])
            if not found:
                return
            self._done |= found.keys()
            yield list(found.values())

    def candidates(self, call: _Unresolved) -> Iterator[tuple[Function, Class]]:
        """The methods that a call may mean."""
        for class_ in list(self._engine.classes.all):
            value = class_.fields.get(call.name) if not _is_left_out(class_) else None
            if value is None or value.kind is not Kind.FUNCTION or value.target.class_ is None:
                continue
            if call.base is None or (class_ is not call.base and call.base in self._engine.classes.lineage(class_)[0]):
                yield value.target, class_


def _methods(class_: Class) -> Iterator[Function]:
    for value in list(class_.fields.values()):
        if value.kind is Kind.FUNCTION and isinstance(value.target.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield value.target


def _is_left_out(class_: Class) -> bool:
    return class_.scope.module.is_test or bool(class_.scope.module.library)

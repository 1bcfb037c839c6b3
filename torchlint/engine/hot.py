"""Functions that the configuration calls hot: they are steps, whatever calls them.

What calls them may be another process, a registry or a name, so calls in them whose receiver is not known go to every
method of that name in the project, and those of a known class also to the overrides of its subclasses.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from torchlint.catalogue.functions import METHODS
from torchlint.engine.arguments import OTHERS
from torchlint.engine.frames import Class, Frame, Function, Region, callees
from torchlint.engine.values import UNKNOWN, Kind, Value
from torchlint.program.world import matches
from torchlint.project.followed import HOT

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine
    from torchlint.program.modules import Module

_NOT_KNOWN = (Kind.UNKNOWN, Kind.METHOD)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINED = re.compile(rb"\bdef (\w+)\(")
_WAYS = 3  # of different arguments for which a call is followed
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
    is_operator: bool  # of ``torch.ops``, by the name of its function


class Hot:
    """Finds the functions that the configuration names, and those that unresolved calls in them may mean."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self.patterns = engine.program.world.hot
        self._unresolved: dict[tuple[str, Class | None, Frame], _Unresolved] = {}
        self._done: set[tuple[str, Class | None]] = set()
        self._methods: dict[str, list[Class]] = defaultdict(list)  # the classes that have a name
        self._indexed = 0  # classes
        if self.patterns:
            self._state.unresolved = self._meet

    def modules(self) -> list[Module]:
        """The files that have a word of a pattern."""
        parts = {max(pattern.rpartition(".")[2].lstrip("@").split("*"), key=len) for pattern in self.patterns}
        every = (module for part in sorted(parts) for module in self._engine.program.containing(part.encode()))
        return list(dict.fromkeys(every))

    def functions(self) -> Iterator[tuple[Function, Class | None]]:
        """The functions that are configured as hot, with the class of each method."""
        for class_ in list(self._engine.classes.all):
            bases = [] if _is_left_out(class_) else self._engine.classes.lineage(class_)[0]
            for function in _methods(class_) if bases else ():
                names = [f"{each.scope.module.name}.{each.node.name}.{function.name}" for each in bases]
                if matches(names, function.node, self.patterns):
                    yield function, class_
        for module in self.modules():
            for value in list(module.names.values()):
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
        is_operator = function.kind is Kind.LIBRARY and function.detail.startswith("torch.ops.")
        receiver = function if is_operator else function.receiver
        if receiver is None or not isinstance(node.func, ast.Attribute) or node.func.attr in _COMMON:
            return
        base = receiver.target.class_ if receiver.kind is Kind.INSTANCE else None
        if is_operator or (function.kind is Kind.METHOD and receiver.kind in _NOT_KNOWN) or base is not None:
            frame, name = self._state.frame, node.func.attr
            found = _Unresolved(name, base, frame, self._state.region, args, named, node, is_operator)
            self._unresolved.setdefault((name, base, frame), found)

    def rounds(self) -> Iterator[list[_Unresolved]]:
        """The unresolved calls that hot functions get to, each name in one round, until they lead to no others."""
        for _ in range(_ROUNDS):
            reached = callees(frame for frame in self._state.frames.values() if frame.hot)
            found: dict[tuple[str, Class | None], dict[Hashable, _Unresolved]] = defaultdict(dict)
            for (name, base, frame), call in self._unresolved.items():
                if frame in reached and not self._done & {(name, base), (name, None)}:
                    given = [*enumerate(call.args), *call.named.items()]
                    kinds = tuple((place, value.kind, value.device) for place, value in given)
                    found[name, base].setdefault(kinds, call)
            if not found:
                return
            self._done |= found.keys()
            yield [call for calls in found.values() for call in islice(calls.values(), _WAYS)]

    @cached_property
    def _defining(self) -> dict[bytes, list[Module]]:
        """The files that use torch, by the names of the functions that they define."""
        found: dict[bytes, list[Module]] = defaultdict(list)
        for module in self._engine.program.containing(b"torch"):
            for name in set(_DEFINED.findall(module.content)):
                found[name].append(module)
        return found

    def asked(self, calls: Iterable[_Unresolved]) -> Iterator[tuple[Module, str]]:
        """The classes and functions that calls may mean, or lead to."""
        for call in calls:
            for module in self._defining.get(call.name.encode(), ()):
                if call.base is None or call.base.node.name.encode() in module.content:
                    yield from ((module, name) for name in _having(module, call.name))

    def candidates(self, call: _Unresolved) -> Iterator[tuple[Function, Class | None]]:
        """The methods, or functions, that a call may mean."""
        if call.is_operator:
            modules = self._defining.get(call.name.encode(), [])
            found = [module.names.get(call.name, UNKNOWN) for module in modules]
            yield from ((value.target, None) for value in found if value.kind is Kind.FUNCTION)
            return
        every = self._engine.classes.all
        for class_ in every[self._indexed :]:
            for name in class_.fields if not _is_left_out(class_) else ():
                self._methods[name].append(class_)
        self._indexed = len(every)
        for class_ in list(self._methods[call.name]):
            value = class_.fields.get(call.name, UNKNOWN)
            if value.kind is Kind.FUNCTION and value.target.class_ is not None and _takes(value.target, call):
                bases = self._engine.classes.lineage(class_)[0][1:]
                if call.base is None or call.base in bases:
                    yield value.target, class_


def _having(module: Module, name: str) -> Iterator[str]:
    """The classes of a file that have a method of a name, or the function of that name."""
    for node in module.tree.body:
        own = node.body if isinstance(node, ast.ClassDef) else [node]
        if any(isinstance(each, _FUNCTIONS) and each.name == name for each in own):
            yield getattr(node, "name", name)


def _methods(class_: Class) -> Iterator[Function]:
    for value in list(class_.fields.values()):
        if value.kind is Kind.FUNCTION and isinstance(value.target.node, _FUNCTIONS):
            yield value.target


def _is_left_out(class_: Class) -> bool:
    module = class_.scope.module
    return module.is_test or bool(module.library) or b"torch" not in module.content


def _takes(function: Function, call: _Unresolved) -> bool:
    """Whether a method has parameters for the arguments of a call, and gets what it needs."""
    given, bound = function.node.args, int(function.kind != "static")
    names = [each.arg for each in (*given.posonlyargs, *given.args)][bound:]
    keywords = {*names, *(each.arg for each in given.kwonlyargs)}
    needed = names[len(call.args) : len(names) - len(given.defaults)]
    return (
        (len(call.args) <= len(names) or given.vararg is not None)
        and (given.kwarg is not None or call.named.keys() - {OTHERS} <= keywords)
        and (OTHERS in call.named or call.named.keys() >= set(needed))
    )

"""Copies between pinned memory and the device that the host has not waited for, and what uses the memory too early."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.engine.frames import Event, Place
from torchlint.engine.values import Kind, Origin, Value, leaves
from torchlint.knowledge import forms
from torchlint.knowledge import transfers as known
from torchlint.knowledge.tensors import gives_tensor

if TYPE_CHECKING:
    from torchlint.engine.frames import Frame, Region

_DATA = (Kind.TENSOR, Kind.ARRAY)
_MOVES = frozenset("to cuda cpu copy_ type type_as".split())  # which say whether they wait
_FOLLOWED = frozenset({Kind.FUNCTION, Kind.CLASS, Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES})
_PRINTING = frozenset({"builtins.print", "builtins.str", "builtins.repr"})
_SHOWN = 60  # characters of an expression in a message


class Copy(NamedTuple):
    """A queued copy: where it is, and whether it arrives on the host."""

    frame: Frame
    region: Region
    node: ast.AST
    arrives: bool


class Queued:
    """The copies that are under way, by what made the memory of the host."""

    def __init__(self) -> None:
        self._copies: dict[ast.AST, Copy] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._copies)

    def wait(self) -> None:
        """The host has waited for the device, or may have."""
        self._copies.clear()

    def add(self, memory: Origin, copy: Origin, *, arrives: bool) -> None:
        """A copy to or from memory of the host."""
        self._copies[memory.node] = Copy(copy.frame, copy.region, copy.node, arrives)

    def use(self, value: Value, node: ast.AST, here: Origin, *, writes: bool = False) -> None:
        """The host reads or writes the memory of a tensor or array."""
        copy = self._copies.get(value.memory.node) if value.memory is not None else None
        if copy is None or copy.frame.module.library or not (copy.arrives or writes):
            return
        form = forms.READ_EARLY if copy.arrives else forms.WRITTEN_EARLY
        place = Place(getattr(copy.node, "lineno", 0), getattr(copy.node, "col_offset", 0), copy.region)
        event = Event(copy.frame.module.path, copy.node, form, form.named(_in_words(node, copy.node)), here)
        copy.frame.events.setdefault((form.kind, place), event)

    def call(self, function: Value, args: Sequence[Value], named: dict[str, Value], here: Origin) -> None:
        """A call: what it reads, and whether the host may wait in it; what is followed shows that itself."""
        name, owner = str(function.detail), function.receiver
        if function.kind is Kind.METHOD and owner is not None and name in known.ELEMENT_READERS:
            self.use(owner, here.node, here)
        elif function.kind is Kind.LIBRARY:
            inside = name in _PRINTING or _reads_arguments(name)
            for value in (*args, *named.values()) if inside or name in known.READING_BUILTINS else ():
                for leaf in leaves(value) if inside else (value,):
                    self.use(leaf, here.node, here)
        if _may_wait(function, name, named):
            self.wait()


def _in_words(node: ast.AST, copy: ast.AST) -> str:
    """An expression or a statement; of what is around the copy only what is called."""
    text, line = ast.unparse(node), getattr(node, "lineno", 0)
    function = node.func if isinstance(node, ast.Call) else None
    if function is not None and any(part is copy for part in ast.walk(node)):
        name = f".{function.attr}" if isinstance(function, ast.Attribute) else ast.unparse(function)
        return f"`{name}(..)`"
    where = f" on line {line}" if line != getattr(copy, "lineno", 0) else ""
    return f"{f'`{text}`' if len(text) < _SHOWN else 'the expression'}{where}"


def _may_wait(function: Value, name: str, named: dict[str, Value]) -> bool:
    if function.kind in _FOLLOWED:
        return False
    if function.kind is Kind.METHOD and function.receiver is not None:
        if name in _MOVES:
            flag = named.get("non_blocking")
            return function.receiver.kind is not Kind.TENSOR and (flag is None or flag.detail is not True)
        return name not in known.PASSIVE_METHODS
    passive = name in known.PASSIVE_CALLS or name.startswith(known.PASSIVE_MODULES)
    return function.kind is not Kind.LIBRARY or not passive


def _reads_arguments(name: str) -> bool:
    """Whether a library function reads the elements of tensors or arrays that it is handed."""
    if name in known.VIEW_FUNCTIONS or name.endswith("_like"):
        return False
    if name.startswith(("numpy.", "torch.nn.functional.")) or name == "torch.save":
        return True
    module, _, function = name.rpartition(".")
    return module == "torch" and gives_tensor(function)

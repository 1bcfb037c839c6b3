"""Entries of dictionaries that are passed as ``**kwargs``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import bind, literal, method

if TYPE_CHECKING:
    from torchlint.analysis.code import Code

Entries = dict[str, list[cst.BaseExpression]]
_DEPTH = 8
_READING = frozenset(f"builtins.{name}" for name in "dict print len str repr sorted list".split())


class Mappings:
    """Evaluates dictionaries of one module: all values that each key may have."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def arguments(self, call: cst.Call, parameters: Sequence[str]) -> tuple[Entries, bool]:
        """All values that each parameter of a call may get, and whether some arguments are out of sight."""
        found = {name: [value] for name, value in bind(call, parameters).given.items()}
        opaque = False
        for arg in call.args:
            entries = self.entries(arg.value) if arg.star == "**" else None
            opaque |= bool(arg.star) and entries is None
            for name, values in (entries or {}).items():
                found.setdefault(name, []).extend(values)
        return found, opaque

    def entries(self, node: cst.BaseExpression, depth: int = _DEPTH) -> Entries | None:
        """The keys that a mapping may contain, with their possible values; None if some are not visible."""
        if depth == 0:
            return None
        if isinstance(node, cst.Dict):
            return self._display(node, depth)
        if isinstance(node, cst.Call) and self._code.qualified(node.func) == "builtins.dict":
            return self._dict_call(node, depth)
        if isinstance(node, cst.IfExp):
            return _merged([self.entries(node.body, depth - 1), self.entries(node.orelse, depth - 1)])
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
            return _merged([self.entries(node.left, depth - 1), self.entries(node.right, depth - 1)])
        if isinstance(node, cst.Call) and method(node) == "copy" and isinstance(node.func, cst.Attribute):
            return self.entries(node.func.value, depth - 1)
        if isinstance(node, cst.Name):
            return _merged([self._bound(b, depth - 1) for b in self._code.definitions(node)])
        return None

    def _display(self, node: cst.Dict, depth: int) -> Entries | None:
        parts: list[Entries | None] = []
        for element in node.elements:
            if isinstance(element, cst.StarredDictElement):
                parts.append(self.entries(element.value, depth - 1))
            elif isinstance(element, cst.DictElement):
                key = literal(element.key)
                parts.append({key: [element.value]} if isinstance(key, str) else None)
        return _merged([{}, *parts])

    def _dict_call(self, node: cst.Call, depth: int) -> Entries | None:
        parts: list[Entries | None] = []
        for arg in node.args:
            if arg.keyword is not None:
                parts.append({arg.keyword.value: [arg.value]})
            else:
                parts.append(self.entries(arg.value, depth - 1))
        return _merged([{}, *parts])

    def _bound(self, binding: Binding, depth: int) -> Entries | None:
        """A variable: the dictionary assigned to it, and everything stored in it."""
        if binding.kind not in ("assign", "walrus") or binding.path or binding.value is None:
            return None
        parts = [self.entries(binding.value, depth)]
        parts += [self._put_in(use, depth) for use in self._code.uses(binding)]
        return _merged(parts)

    def _put_in(self, use: cst.Name, depth: int) -> Entries | None:
        parent = self._code.parent(use)
        if isinstance(parent, cst.Arg):
            return {} if parent.star or self._only_reads(self._code.parent(parent)) else None
        if isinstance(parent, cst.Subscript):
            return self._stored(parent)
        if isinstance(parent, cst.Attribute):
            call = self._code.parent(parent)
            if isinstance(call, cst.Call):
                return self._by_method(call, depth)
        return {}

    def _only_reads(self, call: cst.CSTNode | None) -> bool:
        """Whether a call adds no entries to a mapping that it gets, as an unknown function may."""
        if not isinstance(call, cst.Call):
            return False
        return method(call) == "update" or self._code.qualified(call.func) in _READING

    def _by_method(self, call: cst.Call, depth: int) -> Entries | None:
        """The entries that ``update`` and ``setdefault`` add."""
        if method(call) == "update":
            return _merged([{}, *(self._argument(arg, depth) for arg in call.args)])
        if method(call) == "setdefault" and len(call.args) == 2:
            key = literal(call.args[0].value)
            return {key: [call.args[1].value]} if isinstance(key, str) else None
        return {}

    def _argument(self, arg: cst.Arg, depth: int) -> Entries | None:
        if arg.keyword is not None:
            return {arg.keyword.value: [arg.value]}
        return self.entries(arg.value, depth - 1)

    def _stored(self, subscript: cst.Subscript) -> Entries | None:
        target = self._code.parent(subscript)
        assign = self._code.parent(target) if isinstance(target, cst.AssignTarget) else None
        if not isinstance(assign, cst.Assign):
            return {}
        index = subscript.slice[0].slice
        key = literal(index.value) if isinstance(index, cst.Index) else ...
        return {key: [assign.value]} if isinstance(key, str) else None


def _merged(parts: Iterable[Entries | None]) -> Entries | None:
    merged: Entries = {}
    count = 0
    for part in parts:
        count += 1
        if part is None:
            return None
        for key, values in part.items():
            merged.setdefault(key, []).extend(values)
    return merged if count else None

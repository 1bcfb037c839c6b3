"""The form of an expression at which a run has shown a wait or a copy."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchlint.catalogue.functions import function_named
from torchlint.knowledge import forms
from torchlint.knowledge.forms import Form
from torchlint.project.followed import Range, range_of

_MOVES = frozenset("to cuda type type_as float half double bfloat16 int long".split())
_OF_DATA = frozenset("tensor as_tensor asarray new_tensor FloatTensor LongTensor Tensor".split())
_CONVERSIONS = frozenset("float int bool complex str repr format print".split())
_COMPARING = frozenset("max min any all sum sorted".split())


class Named(NamedTuple):
    """A form with the name of its function or method."""

    form: Form
    name: str = ""


class Tree:
    """The expressions of a file by their range, with what is around them."""

    def __init__(self, content: bytes) -> None:
        """Raises ``SyntaxError`` or ``ValueError`` for what is not Python."""
        self._parents: dict[ast.AST, ast.AST] = {}
        self._at: dict[Range, ast.expr] = {}
        todo: list[ast.AST] = [ast.parse(content)]
        for node in todo:
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
                todo.append(child)
            if isinstance(node, ast.expr):
                self._at.setdefault(range_of(node), node)
            elif isinstance(node, (ast.If, ast.While, ast.Assert)):  # Python gives a jump the range of the statement
                self._at.setdefault(range_of(node), node.test)

    def at(self, place: Range) -> ast.expr | None:
        """The outermost expression that has exactly this range, or the condition of a statement that has it."""
        return self._at.get(place)

    def around(self, node: ast.AST) -> list[ast.AST]:
        """What is around a node, from the inside to the outside."""
        found = []
        while (parent := self._parents.get(node)) is not None:
            found.append(parent)
            node = parent
        return found

    def form(self, node: ast.expr, kind: str, how: str) -> Named | None:
        """The form of an expression where a ``sync``, ``upload`` or ``download`` was seen; None if no rule is about it.

        ``how`` is what the run says of the event.
        """
        if isinstance(node, ast.Call):
            found = Named(forms.LEGACY_DATA) if how == "legacy" else _call(node, kind)
            return found or (self._condition(node) if kind == "sync" else None)
        if isinstance(node, ast.Subscript):
            return _subscript(node, kind, how) or (self._condition(node) if kind == "sync" else None)
        if kind != "sync":
            return None
        if isinstance(node, (ast.JoinedStr, ast.FormattedValue)) or _is_percent(node):
            return Named(forms.FORMATTED)
        return self._condition(node)

    def _condition(self, node: ast.expr) -> Named | None:
        """An expression whose truth Python asks for."""
        inner, parent = node, self._parents.get(node)
        while isinstance(parent, (ast.BoolOp, ast.UnaryOp)) and (
            isinstance(parent, ast.BoolOp) or isinstance(parent.op, ast.Not)
        ):
            inner, parent = parent, self._parents.get(parent)
        if isinstance(parent, ast.Assert):
            return Named(forms.ASSERTED)
        tested = isinstance(parent, (ast.If, ast.While, ast.IfExp)) and parent.test is inner
        if tested or inner is not node or isinstance(parent, ast.comprehension):
            return Named(forms.CONDITION)
        return None


def _call(node: ast.Call, kind: str) -> Named | None:
    function = node.func
    if isinstance(function, ast.Name):
        return _builtin(function.id) if kind != "upload" else None
    if not isinstance(function, ast.Attribute):
        return None
    name = function.attr
    if kind == "upload":
        if name in _OF_DATA:
            return Named(forms.HOST_DATA, name)
        return Named(forms.BLOCKING) if name in _MOVES else None
    if name == "format" and _is_text(function.value):
        return Named(forms.FORMATTED)
    known = function_named(name)
    if known.place == "host" and known.waits is not None:
        return Named(forms.READ_METHOD, name)
    if known.waits is not None or name == "where":
        module = isinstance(function.value, ast.Name) and function.value.id == "torch"
        counts = known.counts is not None
        return Named(forms.waiting(method=not module, counts=counts), f"torch.{name}" if module else name)
    return Named(forms.MOVED_TO_HOST) if name in _MOVES and kind == "download" else None


def _is_percent(node: ast.expr) -> bool:
    """Whether text is formatted with ``%``."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _builtin(name: str) -> Named | None:
    if name in _CONVERSIONS:
        return Named(forms.READ_FUNCTION, name)
    if name in _COMPARING:
        return Named(forms.COMPARED, name)
    return Named(forms.RANGE) if name == "range" else None


def _subscript(node: ast.Subscript, kind: str, how: str) -> Named | None:
    stored = isinstance(node.ctx, ast.Store)
    if kind == "upload":
        return Named(forms.STORED_ON_DEVICE if stored and how != "index" else forms.DEVICE_INDEX)
    if kind == "download":
        return Named(forms.STORED_ON_HOST if stored and how != "index" else forms.HOST_INDEX)
    if how in ("mask", "nonzero"):
        return Named(forms.MASK_ASSIGNED if stored else forms.MASK_INDEX)
    if how == "read":
        return Named(forms.BOUND if isinstance(node.slice, ast.Slice) else forms.LIST_INDEX)
    return None

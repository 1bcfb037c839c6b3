"""What autograd records of an evaluation: models, not in training mode, that are called while it is on."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from torchlint.engine.frames import callees
from torchlint.engine.values import Kind, Value
from torchlint.knowledge import following as known
from torchlint.knowledge import forms

if TYPE_CHECKING:
    from torchlint.engine.frames import Frame, Function, Scope
    from torchlint.engine.protocol import Engine

_DEEP = 3  # modules in modules
_UNCLEAR = frozenset({Kind.UNKNOWN, Kind.TENSOR, Kind.METHOD, Kind.LIBRARY})  # what may be a module


class Gradients:
    """Records where a model is called that is not in training mode."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def called(self, function: Value, node: ast.Call, scope: Scope) -> None:
        """A call: of a model, or of a method that changes its mode or that of autograd."""
        name, mode = node.func.attr if isinstance(node.func, ast.Attribute) else "", self._state.evaluated
        if name in ("eval", "train"):
            self._switch(node, ast.unparse(node.func.value), evaluates=name == "eval")  # type: ignore[attr-defined]
        elif name == "set_grad_enabled":
            self._state.frame.quiet = True
        elif not self._state.in_model and (mode or (mode is None and not self._state.assuming)):
            written = ast.unparse(node.func)
            unknown = function.kind in _UNCLEAR and written in (mode or ())
            called = function.receiver if name == "forward" and function.receiver is not None else function
            own = mode is not None or called.kind is not Kind.LIBRARY_MODULE
            if unknown or (own and self._has_parameters(called, _DEEP)):
                unset = self._state.origin("unset", node)
                self._state.happen(node, scope, forms.RECORDED, unset if mode is None else None, name=written)

    def _switch(self, node: ast.Call, model: str, *, evaluates: bool) -> None:
        off = any(isinstance(given, ast.Constant) and given.value is False for given in node.args)
        if evaluates and not node.args:
            self._state.evaluated = (self._state.evaluated or frozenset()) | {model}
        elif not evaluates and not off:
            self._state.evaluated = frozenset()

    def _has_parameters(self, value: Value, deep: int) -> bool:
        """Whether a value is a module with parameters, as far as its fields show."""
        if value.kind is Kind.LIBRARY_MODULE:
            package, _, name = value.detail.rpartition(".")
            if package.partition(".")[0] in known.TENSOR_LIBRARIES:
                return False
            return not package.startswith("torch.nn") or known.PARAMETERS.match(name) is not None
        if value.kind is Kind.MODULES:
            return True
        is_module = value.kind is Kind.INSTANCE and self._engine.classes.is_module(value)
        return is_module and deep > 0 and any(self._has_parameters(v, deep - 1) for v in value.target.fields.values())

    def may_be_off(self, context: ast.expr, scope: Scope) -> bool:
        """Whether a context or a decorator may switch autograd off; one that nothing is known of may."""
        if not isinstance(context, (ast.Call, ast.Attribute, ast.Name)):
            return True
        function = self._engine.expressions.safely(context.func if isinstance(context, ast.Call) else context, scope)
        return any(_switches_off(member, context) for member in function.members)

    def is_quiet(self, function: Function) -> bool:
        """Whether a decorator of a function may switch autograd off."""
        return any(self.may_be_off(each, function.scope) for each in getattr(function.node, "decorator_list", ()))


def _switches_off(function: Value, context: ast.expr) -> bool:
    if function.kind is Kind.LIBRARY:
        top = function.detail.partition(".")[0]
        return known.NO_GRADIENTS.search(function.detail) is not None or (
            top not in ("torch", "builtins") and known.EVALUATES.search(function.detail) is not None
        )
    if function.kind in (Kind.FUNCTION, Kind.CLASS, Kind.INSTANCE):
        definition = function.target.class_ if function.kind is Kind.INSTANCE else function.target
        return definition is None or _names_it(definition.node)
    written = ast.unparse(context)
    return not isinstance(context, ast.Call) or known.EVALUATES.search(written) is not None


@lru_cache(maxsize=1 << 10)
def _names_it(node: ast.AST) -> bool:
    """Whether a function or class mentions what switches autograd off."""
    names = (getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node))
    return any(known.NO_GRADIENTS.search(name) for name in names if isinstance(name, str))


def quiet_frames(frames: Iterable[Frame]) -> set[Frame]:
    """Frames that autograd may be off in, by themselves or by one of their callers."""
    every = list(frames)
    todo = [frame for frame in every if frame.quiet]
    todo += [call.callee for frame in every for call in frame.calls if call.kind == "generator" or call.region.is_quiet]
    return callees(todo)

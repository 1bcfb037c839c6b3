"""Parameters: what a call gives to each of them, and what they are where it gives nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS
from torchlint.engine.frames import Function
from torchlint.engine.state import number
from torchlint.engine.values import ELEMENT, NUMBER, TEXT, UNKNOWN, Device, Kind, Value, sequence, tensor
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine


class Parameters:
    """Binds arguments to the parameters of functions."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state

    def takes(self, function: Function, args: list[Value]) -> bool:
        """Whether a function has parameters for so many arguments; if not, it is not what the program calls."""
        given = function.node.args
        return given.vararg is not None or len(args) <= len(given.posonlyargs) + len(given.args)

    def bind(self, function: Function, args: list[Value], named: dict[str, Value]) -> dict[str, Value]:
        """The parameters of a function by name, for a call with these arguments."""
        given = function.node.args
        ordered = [*given.posonlyargs, *given.args]
        names = [each.arg for each in ordered]
        found = dict(zip(names, args, strict=False))
        # Where calls are assumed, the one object of a class may also have what its users leave out.
        assumed = self._state.frame.assumed or (self._state.assuming and function.name == "__init__")
        assumed = assumed and not function.scope.module.library
        if given.vararg is not None:
            found[given.vararg.arg] = sequence(args[len(names) :])
        keywords = {*names, *(each.arg for each in given.kwonlyargs)}
        found.update({name: value for name, value in named.items() if name in keywords})
        if given.kwarg is not None:
            others = {name: value for name, value in named.items() if name not in keywords and name != OTHERS}
            more = OTHERS in named or assumed
            found[given.kwarg.arg] = Value(Kind.DICT, OTHERS if more else None, fields=others)
        declared = self._engine.program.declared
        configured = OTHERS in named and any(declared(name) for name in keywords)  # by option files
        defaults = [*zip(reversed(names), reversed(given.defaults), strict=False)]
        defaults += [(k.arg, d) for k, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None]
        for name, default in defaults:
            if name not in found:
                value = self._engine.expressions.safely(default, function.scope)
                open_ = OTHERS in named and not (configured and not declared(name))
                found[name] = self._unless_given(name, value, open_=open_, assumed=assumed)
        for each in (*ordered, *given.kwonlyargs):
            if each.arg not in found:  # of a command line, as of click
                found[each.arg] = self._engine.libraries.filled(each, function)
            value = found[each.arg]
            if value.kind is Kind.UNKNOWN and value.detail is None and each.annotation is not None:
                found[each.arg] = self._annotated(each.annotation, function)
        return {name: number(value) for name, value in found.items()}

    def _unless_given(self, name: str, default: Value, *, open_: bool, assumed: bool) -> Value:
        """A parameter that a call does not pass, unless it is ``open_``; of an assumed call it is an option."""
        if default.kind is not Kind.CONSTANT:
            return default
        if open_ or (assumed and default.is_none):
            return UNKNOWN
        return self._engine.libraries.parameter(name, default) if assumed else default

    def _annotated(self, annotation: ast.expr, function: Function) -> Value:
        text = ast.unparse(annotation)
        if text in ("int", "float"):
            return NUMBER
        if text == "str":
            return TEXT
        if known.TENSOR_ANNOTATION.fullmatch(text):
            return tensor()
        if known.LOADER.search(text.partition("[")[0]):
            batch = tensor(Device.HOST, detail=ELEMENT.detail, origin=self._state.origin("batch", function.node))
            return Value(Kind.LOADER, element=batch)
        return UNKNOWN

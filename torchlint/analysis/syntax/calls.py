"""Arguments of calls, literals, and other small queries on expressions."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

_CONSTANTS = {"True": True, "False": False, "None": None}
_LITERALS = frozenset({cst.Integer, cst.Float, cst.SimpleString, cst.ConcatenatedString})


class Arguments:
    """The arguments of a call by parameter name.

    ``opaque`` is true if a ``*args`` or ``**kwargs`` may pass any of them.
    """

    def __init__(self, given: dict[str, cst.BaseExpression], opaque: bool = False) -> None:
        self.given, self.opaque = given, opaque

    def get(self, name: str) -> cst.BaseExpression | None:
        """The expression passed for a parameter; None if none is visible."""
        return self.given.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.given


def bind(call: cst.Call, parameters: Sequence[str]) -> Arguments:
    """Bind arguments to parameters by position and keyword. Starred arguments make the result opaque."""
    given: dict[str, cst.BaseExpression] = {}
    opaque = False
    position = 0
    for arg in call.args:
        if arg.star:
            opaque = True
        elif arg.keyword is not None:
            given[arg.keyword.value] = arg.value
        elif not opaque:
            if position < len(parameters):
                given[parameters[position]] = arg.value
            position += 1
    return Arguments(given, opaque)


def keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """The value of a keyword argument of the call."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
    return None


def positional(call: cst.Call, position: int) -> cst.BaseExpression | None:
    """The positional argument at an index, unless a starred argument comes before it."""
    seen = 0
    for arg in call.args:
        if arg.star == "*":
            return None
        if arg.keyword is None and not arg.star:
            if seen == position:
                return arg.value
            seen += 1
    return None


def argument(call: cst.Call, name: str, position: int) -> cst.BaseExpression | None:
    """An argument passed by keyword or by position."""
    return keyword(call, name) or positional(call, position)


def is_opaque(call: cst.Call) -> bool:
    """Whether the call passes ``*args`` or ``**kwargs``."""
    return any(arg.star for arg in call.args)


def method(call: cst.CSTNode) -> str | None:
    """The name of the called method: ``to`` for ``x.to(device)``."""
    if call.__class__ is not cst.Call:
        return None
    func = call.func
    return func.attr.value if func.__class__ is cst.Attribute else None


def may_call(call: cst.Call, last: frozenset[str]) -> bool:
    """Whether the callee may be one of these functions: a plain name, or an attribute with one of these last names."""
    func = call.func
    return func.__class__ is not cst.Attribute or func.attr.value in last


def receiver(call: cst.Call) -> cst.BaseExpression | None:
    """The object on which a method is called."""
    return call.func.value if call.func.__class__ is cst.Attribute else None


def literal(node: cst.CSTNode | None) -> object:
    """The value of a literal ``True``, ``None``, number or plain string; ``...`` for any other expression."""
    kind = node.__class__
    if kind is cst.Name:
        return _CONSTANTS.get(node.value, ...)  # type: ignore[union-attr]
    if kind in _LITERALS:
        try:
            found = _evaluated(node)  # type: ignore[arg-type]
        except (SyntaxError, ValueError, AttributeError, cst.CSTLogicError):
            # A malformed escape, thousands of digits, or a template string: only compiling it would show what it is.
            return ...
        return found if isinstance(found, (str, int, float)) else ...
    if kind is cst.UnaryOperation and node.operator.__class__ is cst.Minus:  # type: ignore[union-attr]
        inner = literal(node.expression)  # type: ignore[union-attr]
        return -inner if isinstance(inner, (int, float)) else ...
    return ...


def _evaluated(node: cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString) -> object:
    """The value that LibCST evaluates by compiling the text; most literals are simple enough without it."""
    text = getattr(node, "value", "\\")
    if text.isdecimal():
        return int(text)
    plain = text[0] in "'\"" and "\\" not in text and not text.startswith(text[0] * 3)
    return text[1:-1] if plain else node.evaluated_value


def chain(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The links of a chain such as ``a.b().c``, innermost first, including subscripts and awaits."""
    links = [node]
    while True:
        current = links[-1]
        if isinstance(current, cst.Call):
            links.append(current.func)
        elif isinstance(current, (cst.Attribute, cst.Subscript)):
            links.append(current.value)
        elif isinstance(current, cst.Await):
            links.append(current.expression)
        else:
            return links[::-1]

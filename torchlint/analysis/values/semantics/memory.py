"""Memory of arrays: which calls of NumPy certainly allocate their result, so that nothing else refers to it."""

from __future__ import annotations

from functools import cache

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, positional
from torchlint.analysis.values.lattice import Kind, Value
from torchlint.knowledge import numpy_memory as known
from torchlint.knowledge.arrays import OUTPUTS

# Values of parameters that leave the result in memory of its own; for other parameters it is None.
_HARMLESS = {"copy": True}


def allocates(call: cst.Call, name: str) -> bool:
    """Whether a call of a function or method of NumPy, such as ``numpy.ndarray.take``, returns new memory."""
    parameters = _table().get(name)
    if parameters is None:
        return False
    if any(arg.star == "**" or (arg.star and position is not None) for arg in call.args for _, position in parameters):
        return False
    return all(_is_harmless(call, parameter, position) for parameter, position in parameters)


def _is_harmless(call: cst.Call, parameter: str, position: int | None) -> bool:
    """Whether a parameter that may give the result other memory is not passed, or switches that off."""
    given = _given(call, parameter, position)
    return given is None or literal(given) is _HARMLESS.get(parameter)


def output(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """The array that a call of a function or method of NumPy fills and returns, as far as it is passed visibly."""
    positions = dict(_table().get(name, (("out", None),)))
    return _given(call, "out", positions.get("out"))


def may_be_filled(call: cst.Call) -> bool:
    """Whether a function of another library may fill and return an array that is passed to it."""
    return any(arg.star or (arg.keyword is not None and arg.keyword.value in OUTPUTS) for arg in call.args)


def owned(made: Value, fresh: bool) -> Value:
    """A result, or the arrays in it, whose memory is or is not new."""
    if made.kind is Kind.NDARRAY:
        return made._replace(fresh=fresh)
    element = owned(made.element, fresh) if made.element is not None else None
    elements = tuple(owned(one, fresh) for one in made.elements) if made.elements is not None else None
    return made._replace(element=element, elements=elements)


def _given(call: cst.Call, parameter: str, position: int | None) -> cst.BaseExpression | None:
    return keyword(call, parameter) or (positional(call, position) if position is not None else None)


@cache
def _table() -> dict[str, tuple[tuple[str, int | None], ...]]:
    """The parameters that may give a result other memory, with their positions, by the name of the function."""
    found = {}
    for group, members in known.MEMORY.items():
        for written, names in members.items():
            pairs = (parameter.partition("=") for parameter in written.split())
            parameters = tuple((name, int(place) if place else None) for name, _, place in pairs)
            found.update(dict.fromkeys((f"{group}.{name}" for name in names.split()), parameters))
    return found

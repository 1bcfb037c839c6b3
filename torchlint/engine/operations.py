"""Operations and comparisons of values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection
from typing import Any

from torchlint.engine.chosen import tested
from torchlint.engine.device_names import is_named
from torchlint.engine.origins import of_operands, read_among
from torchlint.engine.paths import joined, path_of, text_of
from torchlint.engine.union import is_host, join, join_all
from torchlint.engine.values import (
    CALLABLE,
    COUNTER,
    FLAG,
    MASK,
    NUMBER,
    PLAIN,
    SEQUENCES,
    TYPES,
    UNKNOWN,
    Counted,
    Device,
    Kind,
    Option,
    Value,
    collection,
    constant,
    sequence,
    tensor,
)
from torchlint.project.followed import ONE_LENGTH

_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPUTE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
}


def folded(left: Value, right: Value, operation: ast.operator) -> Value | None:
    """The result of a binary operation on two constants; None for other values, and other operations."""
    compute = _COMPUTE.get(type(operation))
    if compute is None or not all(v.kind is Kind.CONSTANT and v.sure and not v.option for v in (left, right)):
        return None
    try:
        return constant(compute(left.detail, right.detail))
    except (TypeError, ArithmeticError):
        return UNKNOWN


def operate(left: Value, right: Value, operation: ast.operator | None) -> Value:
    """The result of a binary operation on two values."""
    kinds = {left.kind, right.kind}
    if Kind.TENSOR in kinds and not (isinstance(operation, ast.Mult) and left.kind in SEQUENCES):
        return _of_tensors(left, right, operation)
    if isinstance(operation, ast.Mod) and right.kind is Kind.CONSTANT and right.detail == 1:
        return Value(Kind.CONSTANT, 0, sure=right.sure, option=right.option)
    if isinstance(operation, ast.Mod) and left.kind in (Kind.NUMBER, Kind.UNKNOWN, Kind.FLAG):
        return Value(Kind.NUMBER if kinds != {Kind.UNKNOWN} else Kind.UNKNOWN, Counted.REMAINDER)
    if kinds <= SEQUENCES:
        return _concatenated(left, right)
    if isinstance(operation, ast.Mult) and kinds & SEQUENCES:
        repeated = left if left.kind in SEQUENCES else right
        return collection(repeated.element if repeated.kind is Kind.LIST else join_all(repeated.items))
    if Kind.ARRAY in kinds:
        return Value(Kind.ARRAY, origin=of_operands([left, right]))
    if left.is_text or (right.is_text and left.kind in (Kind.UNKNOWN, Kind.METHOD)):
        return path_of(left, right) if isinstance(operation, ast.Div) else joined([text_of(left), text_of(right)])
    if Counted.TIME in (left.detail, right.detail):
        return Value(Kind.NUMBER, Counted.TIME)
    if kinds <= {*PLAIN, Kind.SHAPE}:
        read = read_among([left, right])
        number = Value(Kind.NUMBER, origin=read) if read is not None else NUMBER
        return COUNTER if Counted.STEPS in (left.detail, right.detail) else number
    return NUMBER if Kind.NUMBER in kinds and isinstance(operation, (ast.FloorDiv, ast.Pow)) else UNKNOWN


def identical(left: Value, right: Value, expected: bool) -> Value:
    """``x is None``, ``type(x) is torch.Tensor`` and the like."""
    if left.kind is right.kind is Kind.LIBRARY and left.detail in _TYPES:
        return constant((left.detail == right.detail) == expected)
    if not right.is_none:
        return FLAG
    if left.option is not None and left.kind not in CALLABLE:
        absent = left.is_none if left.kind is Kind.CONSTANT else not left.option.on
        return Value(Kind.FLAG, option=left.option._replace(on=absent is expected))
    unclear = left.maybe_none or left.kind in (Kind.UNKNOWN, Kind.UNION, Kind.FLAG) or not left.sure
    return FLAG if unclear else constant(left.is_none == expected)


def is_foreign(value: Value) -> bool:
    """Whether a tensor compares with a value as different from it, without looking at any content."""
    return value.kind in SEQUENCES or value.kind is Kind.DICT or value.is_text or value.is_none


def compared(left: Value, right: Value, operation: ast.cmpop, others: int) -> Value:
    """A comparison of values of the host."""
    compare = _COMPARE.get(type(operation))
    if left.option is not None or right.option is not None:
        return _of_option(left, right, operation)
    details = (left.detail, right.detail)
    equal, unequal = isinstance(operation, ast.Eq), isinstance(operation, ast.NotEq)
    greater = isinstance(operation, (ast.Gt, ast.GtE))
    if Counted.ITEMS in details and (equal or unequal):
        return Value(Kind.FLAG, option=Option(ONE_LENGTH, on=None))
    if Counted.REMAINDER in details:
        return Value(Kind.FLAG, rarely=1 if equal else -1 if unequal else 0 if greater else 1)
    if Counted.TIME in details and not equal and not unequal:
        return Value(Kind.FLAG, rarely=1 if (left.detail is Counted.TIME) == greater else -1)
    if Counted.STEPS in details and (equal or unequal):
        return Value(Kind.FLAG, rarely=1 if equal else -1)
    if Counted.STEPS in details and Kind.CONSTANT in (left.kind, right.kind):  # the first steps, or those after them
        return Value(Kind.FLAG, rarely=1 if (left.detail is Counted.STEPS) != greater else -1)
    same = is_named(left, right) if equal or unequal else None
    if same is not None:
        return constant(same == equal)
    if (equal or unequal) and is_host(right) and left.kind is Kind.UNKNOWN and left.detail is None:
        return constant(unequal)  # a device of which nothing is known is the accelerator
    if (equal or unequal) and left.kind is right.kind is Kind.LIBRARY:
        return identical(left, right, equal)
    known = all(value.kind is Kind.CONSTANT and value.sure for value in (left, right)) and others == 1
    if known and compare is not None:
        try:
            return constant(bool(compare(left.detail, right.detail)))
        except TypeError:
            return UNKNOWN
    return FLAG


def contained(left: Value, right: Value, options: Collection[str | None], expected: bool) -> Value | None:
    """``left in right``, as far as it is known; ``options`` are those without which nothing is stored under a key."""
    known = left.kind is Kind.CONSTANT and left.sure and not left.option
    if known and None not in options and right.kind not in SEQUENCES:
        return Value(Kind.FLAG, option=Option(min(filter(None, options)), on=not expected))
    if known and right.kind is Kind.DICT and left.detail in right.fields and right.element is None:
        return constant(expected)
    if right.kind is Kind.TUPLE and all(item.kind is Kind.CONSTANT and item.sure for item in right.items):
        details = [item.detail for item in right.items]
        if known:
            return constant((left.detail in details) == expected)
        if left.option is not None:
            return tested(left, lambda value: (value in details) == expected)
    if right.option is not None and left.kind is Kind.CONSTANT:
        return tested(right, lambda value: (left.detail in value) == expected)
    held = [is_named(left, each) for each in (right.items if right.kind is Kind.TUPLE else [right])]
    return constant(any(held) == expected) if any(held) or (held and None not in held) else None


def _of_option(left: Value, right: Value, operation: ast.cmpop) -> Value:
    """A comparison with an option of the program."""
    compare = _COMPARE.get(type(operation))
    constant_, option = (right, left) if left.option is not None else (left, right)
    if compare is None or constant_.kind is not Kind.CONSTANT:
        return FLAG
    if option is right:
        return tested(option, lambda value: compare(constant_.detail, value))
    alone = isinstance(operation, (ast.Eq, ast.NotEq))
    return tested(option, lambda value: compare(value, constant_.detail), constant_.detail if alone else None)


def _of_tensors(left: Value, right: Value, operation: ast.operator | None) -> Value:
    tensors = [value for value in (left, right) if value.kind is Kind.TENSOR]
    on_device = any(value.device is Device.ACCELERATOR for value in tensors)
    known = all(value.kind in _OPERANDS for value in (left, right))
    masks = isinstance(operation, (ast.BitAnd, ast.BitOr, ast.BitXor)) and MASK in (left.detail, right.detail)
    return tensor(
        Device.ACCELERATOR if on_device else tensors[0].device or Device.UNKNOWN,
        sure=all(v.sure for v in tensors) if known else any(v.sure for v in tensors),
        detail=MASK if masks else None,
        origin=None if on_device else of_operands([left, right]),
        rank=_rank(left, right) if not isinstance(operation, ast.MatMult) else None,
    )


def _rank(left: Value, right: Value) -> int | None:
    """The number of dimensions of what is computed from two values, at least one of them a tensor."""
    ranks = {0 if value.kind in _NUMBERS else value.rank for value in (left, right)}
    return None if None in ranks else max(rank for rank in ranks if rank is not None)


def _concatenated(left: Value, right: Value) -> Value:
    if left.kind is right.kind is Kind.TUPLE:
        return sequence([*left.items, *right.items])
    elements = [v.element if v.kind is Kind.LIST else join_all(v.items) if v.items else None for v in (left, right)]
    return collection(join(*elements) if any(elements) else None)


_TYPES = frozenset(TYPES.values())
_NUMBERS = (Kind.NUMBER, Kind.CONSTANT)
_OPERANDS = frozenset({Kind.TENSOR, Kind.NUMBER, Kind.CONSTANT, Kind.ARRAY})

"""Tensors that grow: each round of a loop joins what an earlier one has joined there, and something new."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Rounds = tuple[tuple[ast.AST, int], ...]  # the loops around, outermost first, each with the number of its round
_FEW = 8  # rounds, in which copies do not matter


def carrying(before: Rounds, now: Rounds) -> tuple[ast.AST, ...]:
    """The loops, outermost first, from an earlier round of which something comes; nothing if not from one of a loop."""
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return tuple(loop for loop, _ in now[place:]) if one[0] is other[0] else ()
    return ()


def gathers(loop: ast.AST, function: ast.AST) -> bool:
    """Whether many rounds of a loop add to what a function that is called in it joins, and use it for nothing else."""
    if _is_short(loop):
        return False
    every = ((each.targets[0], each.value) for each in ast.walk(loop) if isinstance(each, ast.Assign))
    made = [(getattr(target, "id", ""), value) for target, value in every if isinstance(value, ast.Call)]
    name = next((name for name, call in made if call.func is function), "")
    joined = (given for target, call in made if target == name for given in call.args[:1])
    harmless = {*_looked_at(loop), *(part for given in joined for part in getattr(given, "elts", [given]))}
    uses = (each for each in ast.walk(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    return all(each.id != name or each in harmless for each in uses)


def counts_elements(loop: ast.AST) -> bool:
    """Whether a loop has a round for each element of a tensor, as opposed to a few layers or scales."""
    over = getattr(loop, "iter", None)
    parts = ast.walk(over) if over is not None else ()
    return any(isinstance(part, ast.Attribute) and part.attr in ("shape", "size") for part in parts)


def _is_short(loop: ast.AST) -> bool:
    over = getattr(loop, "iter", None)
    numbers = over.args if isinstance(over, ast.Call) and ast.unparse(over.func) == "range" else [loop]
    return all(isinstance(each, ast.Constant) and each.value in range(_FEW + 1) for each in numbers)


def _looked_at(loop: ast.AST) -> Iterator[ast.AST]:
    """What a loop compares with None, or asks for its length."""
    for each in ast.walk(loop):
        if isinstance(each, ast.Compare) and isinstance(each.ops[0], (ast.Is, ast.IsNot)):
            yield each.left
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "len":
            yield from each.args

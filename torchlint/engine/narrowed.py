"""What a variable or attribute is in the branches of ``if isinstance(..)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.union import join_all
from torchlint.engine.values import Kind, Value

if TYPE_CHECKING:
    from torchlint.engine.frames import Scope
    from torchlint.engine.protocol import Engine

Held = tuple[ast.expr, Value]


def by_class(test: ast.expr, scope: Scope, engine: Engine) -> tuple[Held | None, Held | None]:
    """What is known where a condition holds, and where not, if a class of the project tells objects apart.

    Where no known object is of the class, it is another one that is not known.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return by_class(test.operand, scope, engine)[::-1]
    if not isinstance(test, ast.Call) or getattr(test.func, "id", "") != "isinstance" or len(test.args) != _TWO:
        return None, None
    target, value = test.args[0], engine.expressions.safely(test.args[0], scope)
    classes = engine.expressions.safely(test.args[1], scope).members
    named = isinstance(target, (ast.Name, ast.Attribute))
    objects = all(each.kind is Kind.INSTANCE and each.target.class_ is not None for each in value.members)
    if not named or not objects or not all(each.kind is Kind.CLASS for each in classes):
        return None, None
    wanted = {each.target for each in classes}
    those = [each for each in value.members if wanted.intersection(engine.classes.lineage(each.target.class_)[0])]
    others = [each for each in value.members if each not in those]
    return (target, join_all(those)), (target, join_all(others)) if others else None


_TWO = 2  # arguments

"""Moves to the device that are made once, and not in every step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.values import Kind, Value
from torchlint.project.followed import OWN

if TYPE_CHECKING:
    from torchlint.engine.frames import Scope
    from torchlint.engine.protocol import Engine


def moves_once(engine: Engine, node: ast.Assign, scope: Scope) -> bool:
    """``self.mask = self.mask.to(x.device)``, which copies in the first call, or in the first round of a loop."""
    target = node.targets[0]
    if not _moves_itself(target, node.value):
        return False
    if isinstance(target, ast.Name):
        return _was_before(engine, scope.get(target.id))
    if not isinstance(target, ast.Attribute):
        return False
    owner = engine.evaluate(target.value, scope)
    held = owner.target.fields.get(target.attr) if owner.kind is Kind.INSTANCE else None
    origin = held.origin if held is not None else None
    return origin is not None and origin.kind != "batch" and origin.frame is not engine.state.frame


def _was_before(engine: Engine, value: Value | None) -> bool:
    """Whether the function has made what a variable holds itself, before the loop."""
    loop, origin = engine.state.region.loop(), value.origin if value is not None else None
    if loop is None or origin is None or origin.frame is not engine.state.frame:
        return False
    return (origin.kind in OWN or origin.kind == "array") and loop not in origin.region.around()


def _moves_itself(target: ast.expr, value: ast.expr) -> bool:
    """``self.mask = self.mask.to(x.device)``: whether a value is the target, moved."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    moves = value.func.attr in ("to", "cuda", "type_as", "type")
    return moves and ast.unparse(value.func.value) == ast.unparse(target)

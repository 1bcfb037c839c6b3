"""What functions go backward from."""

from __future__ import annotations

import ast

from torchlint.knowledge import following as known


def yields_and_losses(node: ast.AST) -> tuple[bool, frozenset[str]]:
    """Whether a function is a generator, and the names that it calls ``backward`` on."""
    generates, losses = False, set[str]()
    stack: list[ast.AST] = list(getattr(node, "body", ())) if not isinstance(node, ast.Lambda) else []
    while stack:
        part = stack.pop()
        generates = generates or isinstance(part, (ast.Yield, ast.YieldFrom))
        loss = _loss(part) if isinstance(part, ast.Call) else None
        while isinstance(loss, ast.BinOp):
            loss = loss.left
        if isinstance(loss, ast.Name):
            losses.add(loss.id)
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(part))
    return generates, frozenset(losses)


def _loss(node: ast.Call) -> ast.expr | None:
    """What a call goes backward from."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in known.BACKWARD:
        return node.args[0] if node.args else node.func.value
    return scaled_loss(node)


def scaled_loss(node: ast.Call) -> ast.expr | None:
    """The loss from which ``scaler(loss, optimizer)`` of a library goes backward."""
    names = [each.id if isinstance(each, ast.Name) else "" for each in node.args[:2]]
    return node.args[0] if len(names) > 1 and "loss" in names[0] and "optim" in names[1] else None

"""Merges two forms of a program into one that chooses between them while it runs.

Expressions that differ become ``NEW if choice() else OLD``, statements become ``if choice(): NEW else: OLD``. Imports
and definitions that exist only in the new form are always included.
"""

from __future__ import annotations

import ast
import difflib
from typing import Any

CHOICE = "_torchlint_choice"  # the function that merged code calls
# Both forms are timed in blocks of at least so many steps and nanoseconds.
LEAST_STEPS, LEAST_NS = 3, 50_000_000
_ALWAYS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Unswitchable(Exception):
    """The two forms cannot be merged into one program."""


def merged(old: bytes, new: str) -> ast.Module:
    """Merge the source of both forms into one tree. Raises :class:`Unswitchable`, and what parsing raises."""
    before, after = ast.parse(old), ast.parse(new)
    found = ast.Module(_statements(before.body, after.body), before.type_ignores)
    return ast.fix_missing_locations(found)


def _same(old: ast.AST, new: ast.AST) -> bool:
    return ast.dump(old) == ast.dump(new)


def _statements(old: list[Any], new: list[Any]) -> list[Any]:
    matcher = difflib.SequenceMatcher(None, [ast.dump(s) for s in old], [ast.dump(s) for s in new], autojunk=False)
    found: list[Any] = []
    for tag, start, end, begin, stop in matcher.get_opcodes():
        before, after = old[start:end], new[begin:stop]
        if tag == "equal":
            found += before
        elif len(before) == len(after):
            found += [_statement(one, other) for one, other in zip(before, after, strict=True)]
        else:
            found += _chosen(before, after)
    return found


def _chosen(before: list[Any], after: list[Any]) -> list[Any]:
    always = [statement for statement in after if isinstance(statement, _ALWAYS)]
    after = [statement for statement in after if not isinstance(statement, _ALWAYS)]
    if not before and not after:
        return always
    if any(isinstance(statement, _ALWAYS) for statement in before):
        raise Unswitchable("the fix takes a definition or an import away")
    return [*always, ast.If(_choice(), after or [ast.Pass()], before)]


def _statement(old: Any, new: Any) -> Any:
    if _same(old, new):
        return old
    if type(old) is type(new):
        try:
            return _fields(old, new)
        except Unswitchable:
            pass
    if isinstance(old, _ALWAYS) or isinstance(new, _ALWAYS):
        raise Unswitchable("the fix changes a definition or an import")
    return ast.If(_choice(), [new], [old])


def _expression(old: Any, new: Any) -> Any:
    """Turn the smallest expression that differs into a conditional expression."""
    if _same(old, new):
        return old
    if type(old) is type(new):
        try:
            return _fields(old, new)
        except Unswitchable:
            pass
    loads = isinstance(getattr(old, "ctx", ast.Load()), ast.Load)
    if not loads or isinstance(old, (ast.Starred, ast.JoinedStr, ast.FormattedValue)):
        raise Unswitchable("the fix changes what is assigned to")
    return ast.IfExp(_choice(), new, old)


def _fields(old: Any, new: Any) -> Any:
    """Merge the fields of two nodes of the same class, if they are statements or expressions."""
    values = {name: _field(getattr(old, name, None), getattr(new, name, None)) for name in old._fields}
    return ast.copy_location(type(old)(**values), old)


def _field(old: Any, new: Any) -> Any:
    if isinstance(old, list) and isinstance(new, list):
        return _list(old, new)
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return _node(old, new)
    if old != new:
        raise Unswitchable("a name or a constant differs")
    return old


def _list(old: list[Any], new: list[Any]) -> list[Any]:
    if any(isinstance(node, ast.stmt) for node in (*old, *new)):
        return _statements(old, new)
    if len(old) != len(new):
        raise Unswitchable("the number of arguments differs")
    return [_field(one, other) for one, other in zip(old, new, strict=True)]


def _node(old: ast.AST, new: ast.AST) -> Any:
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        return _expression(old, new)
    if isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
        return _statement(old, new)
    if _same(old, new):
        return old
    if type(old) is type(new) and isinstance(old, (ast.keyword, ast.withitem, ast.ExceptHandler, ast.match_case)):
        return _fields(old, new)
    raise Unswitchable("the two forms differ in something that cannot be chosen")


def _choice() -> ast.expr:
    return ast.Call(ast.Name(CHOICE, ast.Load()), [], [])

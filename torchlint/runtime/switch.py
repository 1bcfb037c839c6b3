"""Compares two forms of a program: compiles both into one, and switches between them in blocks of steps.

Expressions that differ become ``NEW if choice() else OLD``, statements become ``if choice(): NEW else: OLD``. Imports
and definitions that exist only in the new form are always included.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import os
import random
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from torchlint.runtime.blocks import Blocks
from torchlint.runtime.patches import Patches
from torchlint.runtime.steps import Enough

_CHOICE = "_torchlint_choice"
OLD, NEW = 0, 1
_WARM = 5
_ALWAYS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Unswitchable(Exception):
    """The two forms cannot be merged into one program."""


def merged(old: ast.Module, new: ast.Module) -> ast.Module:
    """Merge both forms into one tree. Raises :class:`Unswitchable`."""
    found = ast.Module(_statements(old.body, new.body), old.type_ignores)
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
    return ast.Call(ast.Name(_CHOICE, ast.Load()), [], [])


class Switch:
    """Selects a form, for the whole run or in blocks of random order, and records how long a step takes in each block.

    ``evaluations`` counts steps of evaluation, which are not measured.
    """

    def __init__(self, order: dict[str, Any], evaluations: Callable[[], int] = lambda: 0) -> None:
        wanted = order["switch"]
        self._path = os.path.realpath(wanted["path"])
        self._fixed: str = wanted["fixed"]
        self._form: int | None = {"old": OLD, "new": NEW, "blocks": None}[wanted["form"]]
        self._wanted: int = wanted["blocks"]
        self._blocks = Blocks(evaluations)
        self._random = random.Random(wanted.get("seed", 0))
        self._order = self._random.sample((OLD, NEW), 2)
        self._now = self._order[0] if self._form is None else self._form
        self._durations: list[float] = []
        self._spent: dict[int, float] = {}
        self._warm = 0
        self.evaluated = [0, 0]
        self.pairs: list[list[float]] = []
        self.losses: list[Any] = []

    def compile(self, source: bytes, path: str) -> CodeType | None:
        """Compile a file in the selected form, or with both; None for files that do not differ."""
        if os.path.realpath(path) != self._path:
            return None
        if self._form is not None:
            text: Any = source if self._form == OLD else self._fixed
            return compile(text, path, "exec", dont_inherit=True)
        tree = merged(ast.parse(source, path), ast.parse(self._fixed, path))
        return compile(tree, path, "exec", dont_inherit=True)

    def install(self, patches: Patches) -> None:
        """Make ``choice`` available to the program, and record losses."""

        def choice() -> bool:
            if not torch.compiler.is_compiling():
                self.evaluated[self._now] += 1
            return self._now == NEW

        setattr(builtins, _CHOICE, choice)
        patches.set(torch.Tensor, "backward", self._noting(torch.Tensor.backward))

    def _noting(self, real: Any) -> Any:
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if loss.numel() == 1 and len(self.losses) < 1000:
                self.losses.append(loss.detach().clone())
            return real(loss, *args, **kwargs)

        return backward

    def stepped(self, _count: int) -> None:
        """At the end of a step: perhaps a block is complete, and the other form begins."""
        if self._warm < _WARM:
            self._warm += 1
            return
        spent = self._blocks.stepped()
        if spent is None:
            return
        if self._form is not None:
            self._durations.append(spent)
            return
        self._spent[self._now] = spent
        if len(self._spent) == 2:
            self.pairs.append([self._spent[OLD], self._spent[NEW]])
            self._spent = {}
            if len(self.pairs) >= self._wanted:
                raise Enough
            self._order = self._random.sample((OLD, NEW), 2)
        self._now = self._order[len(self._spent)]

    def written(self) -> dict[str, Any]:
        """The measurements, as plain data."""
        return {
            "pairs": self.pairs,
            "blocks": self._durations,
            "evaluated": self.evaluated,
            "losses": [float(loss).hex() for loss in self.losses],
        }

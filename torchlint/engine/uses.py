"""What becomes of a value that the host reads, in the code of its function, also through local variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchlint.catalogue.views import CONSTRUCTORS, EVERYWHERE, METADATA, READING, SIZE_TAKERS
from torchlint.engine.names import Names
from torchlint.knowledge.pictures import DRAWING, WRITING_METHODS
from torchlint.knowledge.synchronization import (
    ACTION_FUNCTIONS,
    ACTIONS,
    LOG_LEVELS,
    LOG_METHODS,
    PRINTING_FUNCTIONS,
)
from torchlint.knowledge.transfers import ARRAY_METHODS

# What counts most if a value is used several times. What is not among them is used in ways that are not known.
_ORDER = ("check", "needed", "stop", "size", "backward", "test", "index", "selects", "kept", "text", "returned")
_ONLY = ("device", "picture", "nothing")  # what counts if a value is used for nothing else
_FINITE = frozenset("isnan isinf isfinite is_finite isneginf isposinf is_nan".split())
# Methods that keep values for later, and functions that show them.
_KEEPING = frozenset("append extend add update put".split())
_SHOWING = LOG_METHODS | LOG_LEVELS | {name.rpartition(".")[2] for name in PRINTING_FUNCTIONS} | {"write", "format"}
_MAKING = frozenset(name.rpartition(".")[2] for name in CONSTRUCTORS)
_PASSING = frozenset("float int bool str repr complex abs round list tuple sum max min any all enumerate zip".split())
# Methods that change nothing, so that a result that nothing uses is not needed.
_PURE = EVERYWHERE | ARRAY_METHODS | READING
_COMPUTING = ("math.", "numpy.", "torch.")
_TESTING = (ast.If, ast.While, ast.Assert, ast.IfExp)
_PARTS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.IfExp,
    ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.keyword, ast.FormattedValue, ast.Await,
)  # fmt: skip
_DOWNLOADS = frozenset("cpu numpy to".split())
_DEPTH = 12


class Uses:
    """Answers for one file."""

    def __init__(self, parents: Mapping[ast.AST, ast.AST], names: Names) -> None:
        self._parents, self._names = parents, names
        self._seen: set[ast.AST] = set()
        self._is_array = False

    def of(self, node: ast.AST) -> str:
        """What becomes of a value, as :class:`~torchlint.project.followed.FollowedEvent` names it."""
        if self._is_of_actor(node):
            return "needed"
        if isinstance(node, ast.Call) and self._names.dotted(node.func).rpartition(".")[2] in _SHOWING:
            return "text"
        self._seen.clear()
        self._is_array = getattr(getattr(node, "func", None), "attr", "") in _DOWNLOADS
        found = set(self._after(node, _DEPTH)) - {"shape"}
        use = next((use for use in _ORDER if use in found), "")
        return use or (next(iter(found)) if len(found) == 1 and found <= set(_ONLY) else "")

    def _is_of_actor(self, node: ast.AST) -> bool:
        """Whether a function returns actions, or is the closure of an optimizer, which returns the loss."""
        function = self._names.function(node)
        name = getattr(function, "name", "")
        return name in ACTION_FUNCTIONS or name == "closure"

    def _after(self, node: ast.AST, depth: int) -> Iterator[str]:
        outer = self._parents.get(node)
        if depth == 0 or outer is None or node in self._seen:
            return
        self._seen.add(node)
        if isinstance(outer, _TESTING) and node is outer.test:
            yield self._tested(node, outer)
        elif isinstance(outer, ast.Attribute):
            yield from self._of_attribute(outer, depth)
        elif isinstance(outer, ast.keyword) or (isinstance(outer, ast.Call) and node is not outer.func):
            yield from self._given(node, outer, depth)
        elif isinstance(outer, ast.JoinedStr):
            yield "text"
        elif isinstance(outer, ast.Slice):
            yield "size"
        elif isinstance(outer, ast.Subscript):
            yield from ["index"] if node is outer.slice else self._after(outer, depth - 1)
        elif isinstance(outer, ast.Compare):
            used = self._after(outer, depth - 1)
            yield from ("selects" if use == "index" and self._is_array else use for use in used)
        elif isinstance(outer, ast.BinOp) and (use := _of_operation(node, outer)):
            yield use
        elif isinstance(outer, _PARTS):
            yield from self._after(outer, depth - 1)
        else:
            yield from self._in_statement(node, outer, depth)

    def _in_statement(self, node: ast.AST, outer: ast.AST, depth: int) -> Iterator[str]:
        if isinstance(outer, ast.Expr):
            yield "nothing"
        elif isinstance(outer, ast.AugAssign):
            yield "kept"
        elif isinstance(outer, ast.Return):
            yield "returned"
        elif isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            for target in outer.targets if isinstance(outer, ast.Assign) else [outer.target]:
                yield from self._assigned(target, depth)
            if isinstance(outer, ast.NamedExpr):
                yield from self._after(outer, depth - 1)
        else:
            yield ""

    def _assigned(self, target: ast.expr, depth: int) -> Iterator[str]:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                yield from self._assigned(part, depth)
        elif getattr(target, "id", getattr(target, "attr", "")).lower() in ACTIONS:
            yield "needed"
        elif not isinstance(target, ast.Name):
            yield "kept"
        else:
            loads = self._names.loads(target)
            if loads is None:
                yield ""
            elif not loads:
                yield "nothing"
            for load in loads or ():
                yield from self._after(load, depth - 1)

    def _tested(self, node: ast.AST, outer: ast.If | ast.While | ast.Assert | ast.IfExp) -> str:
        names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
        if not _FINITE.isdisjoint(names) or any(map(_is_of_itself, ast.walk(node))):
            return "check"
        if isinstance(outer, ast.If) and any(map(_goes_back, outer.body)):
            return "backward"
        leaves = isinstance(outer, ast.If) and any(isinstance(part, ast.Break) for part in outer.body)
        return "stop" if isinstance(outer, ast.While) or (leaves and any(map(_is_equality, ast.walk(node)))) else "test"

    def _of_attribute(self, outer: ast.Attribute, depth: int) -> Iterator[str]:
        call, name = self._parents.get(outer), outer.attr
        called = isinstance(call, ast.Call) and call.func is outer
        if name in METADATA:
            yield "shape"
        elif isinstance(call, ast.Call) and called and (name == "cuda" or (name == "to" and names_device(call))):
            yield "device"
        elif isinstance(call, ast.Call) and called:
            found = self._after(call, depth - 1)
            yield from found if name in _PURE else (use if use in _ORDER else "" for use in found)
        else:
            yield from self._after(outer, depth - 1)

    def _given(self, node: ast.AST, outer: ast.AST, depth: int) -> Iterator[str]:
        """What becomes of an argument of a call."""
        call = self._parents[outer] if isinstance(outer, ast.keyword) else outer
        if not isinstance(call, ast.Call):
            yield ""
            return
        full = self._names.dotted(call.func)
        name = full.rpartition(".")[2]
        if name in _FINITE or name in ACTION_FUNCTIONS:
            yield "check" if name in _FINITE else "needed"
        elif name in WRITING_METHODS or self._draws(call.func):
            yield "picture"
        elif full == "range" or (name in SIZE_TAKERS and not self._names.is_foreign(full)):
            yield "size"
        elif name in _MAKING and any(given.arg == "device" for given in call.keywords):
            yield "device"
        elif name == "step" and isinstance(call.func, ast.Attribute):
            yield "needed"
        elif full.startswith(_COMPUTING):
            yield from (use if use != "nothing" else "" for use in self._after(call, depth - 1))
        elif name in _KEEPING or name in _SHOWING:
            yield "kept" if name in _KEEPING else "text"
        elif full in _PASSING or name in _MAKING:
            yield from self._after(call, depth - 1)
        else:
            yield "backward" if "backward" in self._after(call, depth - 1) else ""

    def _draws(self, function: ast.expr) -> bool:
        """Whether a function belongs to a library for pictures, or to something that such a library made."""
        for _ in range(_DEPTH):
            name = self._names.dotted(function)
            if name.startswith(DRAWING):
                return True
            made = self._names.made(function)
            if made is None:
                return False
            function = made
        return False


def _of_operation(node: ast.AST, outer: ast.BinOp) -> str:
    """What an operation makes of a number: a text, or the length of a list."""
    if isinstance(outer.op, ast.Mod) and node is outer.right and _is_text(outer.left):
        return "text"
    other = outer.right if node is outer.left else outer.left
    return "size" if isinstance(outer.op, ast.Mult) and (isinstance(other, ast.List) or _is_text(other)) else ""


def _goes_back(statement: ast.stmt) -> bool:
    """Whether a statement goes backward, or makes a step of an optimizer."""
    calls = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
    return any(isinstance(function, ast.Attribute) and function.attr in ("backward", "step") for function in calls)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_equality(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.In))


def _is_of_itself(node: ast.AST) -> bool:
    """``loss != loss``, which only what is not a number is."""
    return isinstance(node, ast.Compare) and ast.dump(node.left) == ast.dump(node.comparators[0])


def names_device(call: ast.Call) -> bool:
    """Whether an argument of ``to`` may name an accelerator, by its words."""
    words = ast.unparse(call).lower().rpartition(".to(")[2]
    return any(word in words for word in ("device", "cuda", "gpu", "rank")) and "cpu" not in words

"""The names of a file: what they are imported from, where local variables are used, and what made them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PEEKING = frozenset("locals vars eval exec".split())


class Names:
    """The names of one file."""

    def __init__(self, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._parents = parents
        self._of: dict[ast.AST, dict[str, list[ast.Name]]] = {}

    @cached_property
    def _imported(self) -> dict[str, str]:
        """The dotted names of what is imported anywhere in the file."""
        found: dict[str, str] = {}
        for node in self._parents:
            if isinstance(node, ast.Import):
                for one in node.names:
                    top = one.name.partition(".")[0]
                    found[one.asname or top] = one.name if one.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.update((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
        return found

    def function(self, node: ast.AST) -> ast.AST | None:
        """The function around a node."""
        while (outer := self._parents.get(node)) is not None:
            if isinstance(outer, _FUNCTIONS):
                return outer
            node = outer
        return None

    def is_foreign(self, name: str) -> bool:
        """Whether a dotted name belongs to another library than torch."""
        top = name.partition(".")[0]
        return top != "torch" and top in {each.partition(".")[0] for each in self._imported.values()}

    def dotted(self, node: ast.AST) -> str:
        """The dotted name of an expression, through imports; of anything else, its last part alone."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self._imported.get(node.id, node.id) if isinstance(node, ast.Name) else ""
        return ".".join([root, *parts[::-1]]) if root else f"?.{parts[0]}" if parts else ""

    def loads(self, target: ast.Name) -> list[ast.Name] | None:
        """The uses of a variable that may get what it is bound to here; None for one that others may see."""
        function = self.function(target)
        if function is None or isinstance(self._parents.get(self._parents[target]), ast.ClassDef):
            return None
        names = self._within(function)
        if _PEEKING & names.keys() or target in names.get("", ()):
            return None
        loads = [name for name in names[target.id] if isinstance(name.ctx, ast.Load)]
        first, last, loop = (target.lineno, target.col_offset), self._end(target), self._loop(target)
        reached = [
            name for name in loads if _is_between(name, first, last) or (loop is not None and _holds(loop, name))
        ]
        return reached if reached or not loads else None

    def _loop(self, node: ast.AST) -> ast.AST | None:
        """The innermost loop of the function around a node."""
        while (outer := self._parents.get(node)) is not None and not isinstance(outer, _FUNCTIONS):
            if isinstance(outer, (ast.For, ast.AsyncFor, ast.While)):
                return outer
            node = outer
        return None

    def _end(self, target: ast.Name) -> tuple[int, int] | None:
        """Where the next statement of the same block that binds the name anew ends."""
        statement: ast.AST = target
        while not isinstance(statement, ast.stmt):
            statement = self._parents[statement]
        outer = self._parents[statement]
        for field in ("body", "orelse", "finalbody"):
            block = getattr(outer, field, None)
            if isinstance(block, list) and statement in block:
                for later in block[block.index(statement) + 1 :]:
                    if isinstance(later, ast.Assign) and any(_binds(part, target.id) for part in later.targets):
                        return later.end_lineno or later.lineno, later.end_col_offset or 0
        return None

    def _within(self, function: ast.AST) -> dict[str, list[ast.Name]]:
        """The names in a function; under the empty name, those that are not its own."""
        if function not in self._of:
            found: dict[str, list[ast.Name]] = defaultdict(list)
            shared: set[str] = set()
            for node in ast.walk(function):
                if isinstance(node, ast.Name):
                    found[node.id].append(node)
                elif isinstance(node, (ast.Global, ast.Nonlocal)):
                    shared.update(node.names)
            found[""] = [name for one in shared for name in found.get(one, ())]
            self._of[function] = found
        return self._of[function]

    def made(self, node: ast.AST) -> ast.expr | None:
        """The function whose call made what an expression belongs to; None if that is not known."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                return self._made_of_field(node)
            node = node.value
        if isinstance(node, ast.Call):
            return node.func
        function = self.function(node)
        if not isinstance(node, ast.Name) or function is None:
            return None
        stores = [name for name in self._within(function)[node.id] if isinstance(name.ctx, ast.Store)]
        made = [self._made_here(name) for name in stores]
        return made[0] if made and None not in made else None

    def _made_of_field(self, field: ast.Attribute) -> ast.expr | None:
        """What makes the field of an object, if all of the class agrees."""
        owner: ast.AST | None = field
        while owner is not None and not isinstance(owner, ast.ClassDef):
            owner = self._parents.get(owner)
        stores = (node for node in ast.walk(owner) if isinstance(node, ast.Assign)) if owner is not None else ()
        made = [node.value for node in stores if any(_is_field(target, field.attr) for target in node.targets)]
        return made[0] if len(made) == 1 else None

    def _made_here(self, name: ast.Name) -> ast.expr | None:
        outer = self._parents[name]
        while isinstance(outer, (ast.Tuple, ast.List)):
            outer = self._parents[outer]
        value = getattr(outer, "value", getattr(outer, "iter", None))
        return value if isinstance(value, ast.expr) else None


def _is_field(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == name and ast.unparse(target.value) == "self"


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(target))


def _is_between(name: ast.Name, first: tuple[int, int], last: tuple[int, int] | None) -> bool:
    place = name.lineno, name.col_offset
    return first < place and (last is None or place <= last)


def _holds(loop: ast.AST, name: ast.Name) -> bool:
    first, last = getattr(loop, "lineno", 0), getattr(loop, "end_lineno", 0)
    return bool(first <= name.lineno <= last)

"""Functions of which it is not known whether the programs get to them, since not every call could be resolved.

It is known that they do not get to a function if they were followed to the end, and none of the names that it has is
one by which something unknown is called, in what they get to or in a function that may be reached in this way.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from torchlint.engine.state import ANYTHING

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

Lines = dict[str, tuple[int, ...] | None]
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What finds functions by names that are only known when the program runs.
_BY_NAME = frozenset("getattr globals locals vars eval exec import_module __import__ instantiate".split())
_MODULES = "torch.nn"  # torch calls no other methods of their subclasses than those that it defines


def unclear(engine: Engine) -> Lines:
    """The lines of these functions in each file; None for all that were not reached."""
    state, modules = engine.state, engine.program.modules
    names = _Names()
    for path, module in modules.items():
        if module.loaded and not state.cut:
            names.collect(module.tree, path, (), None)
    wanted = state.unresolved.union(*(names.used[node] for node in state.partial))
    if state.cut or (ANYTHING in wanted and names.looks_up):
        return dict.fromkeys(modules)
    for class_ in engine.classes.all:  # libraries call what overrides their methods
        if class_.created and not all(base.startswith(_MODULES) for base in engine.classes.lineage(class_)[1]):
            wanted.add(class_.node.name)
    todo = set(names.own) - engine.calls.reached
    found: dict[str, list[int]] = defaultdict(list)
    while more := {node for node in todo if names.may_mean(node, wanted)}:
        todo -= more
        for node in more:
            wanted |= names.used[node]
            found[names.paths[node]].append(node.lineno)
    imported = {path for path, module in modules.items() if module.name.rpartition(".")[2] in wanted}
    return {
        path: tuple(sorted(found[path])) if module.loaded or path not in imported else None
        for path, module in modules.items()
    }


class _Names:
    """The names of the functions of some files, and those that these use."""

    def __init__(self) -> None:
        self.own: dict[ast.FunctionDef | ast.AsyncFunctionDef, set[str]] = {}
        self.used: dict[ast.AST, set[str]] = defaultdict(set)  # of what a function calls and imports
        self.paths: dict[ast.AST, str] = {}
        self.looks_up = False
        self._values: set[str] = set()  # of what is mentioned but not called there, and of what is decorated

    def may_mean(self, node: ast.FunctionDef | ast.AsyncFunctionDef, wanted: set[str]) -> bool:
        """Whether calls by some names may call a function."""
        own = self.own[node]
        return not own.isdisjoint(wanted) or (ANYTHING in wanted and not own.isdisjoint(self._values))

    def collect(self, tree: ast.AST, path: str, inside: tuple[ast.AST, ...], class_: ast.ClassDef | None) -> None:
        """Collect the names below a node that is in some functions, and in a class."""
        callee = tree.func if isinstance(tree, ast.Call) else None
        for node in ast.iter_child_nodes(tree):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if node is callee and name is not None:
                self._use(name, inside)
                literal = len(tree.args) > 1 and isinstance(tree.args[1], ast.Constant)  # type: ignore[attr-defined]
                self.looks_up = self.looks_up or (name in _BY_NAME and not literal)
            elif name is not None:
                self._values.add(name)
            elif isinstance(node, ast.alias):
                self._use(node.name.rpartition(".")[2], inside)
            if isinstance(node, _DEFINITIONS):
                self._define(node, path, class_)
                self.collect(node, path, (*inside, node), None)
            else:
                self.collect(node, path, inside, node if isinstance(node, ast.ClassDef) else class_)

    def _use(self, name: str, inside: tuple[ast.AST, ...]) -> None:
        for function in inside:
            self.used[function].add(name)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, class_: ast.ClassDef | None) -> None:
        """A function; making an object of its class may call it, or hand it to a library that does."""
        self.own[node], self.paths[node] = {node.name}, path
        if class_ is not None and (class_.bases or node.name.startswith("__")):
            self.own[node].add(class_.name)
        if node.decorator_list:
            self._values.add(node.name)

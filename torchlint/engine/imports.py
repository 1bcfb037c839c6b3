"""Import statements: modules of the project are followed, others are libraries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.frames import Scope
from torchlint.engine.values import UNKNOWN, Kind, Value, library
from torchlint.program.modules import Module

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine


class Imports:
    """Follows imports."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plain(self, node: ast.Import, scope: Scope) -> None:
        """``import a.b``, ``import a.b as c``"""
        for alias in node.names:
            scope.set(alias.asname or alias.name.partition(".")[0], self._imported(alias, scope))

    def _imported(self, alias: ast.alias, scope: Scope) -> Value:
        """What ``import a.b`` or ``import a.b as c`` binds."""
        top = alias.name.partition(".")[0]
        module = self._engine.program.find(alias.name, scope.module)
        if module is None:
            return self._engine.libraries.named(alias.name if alias.asname else top)
        self._engine.statements.load(module)
        if alias.asname or top == alias.name:
            return self._engine.module(module)
        above = self._engine.program.find(top, scope.module)
        if above is not None:
            return self._engine.module(above)
        return Value(Kind.PACKAGE, module.name[: len(module.name) - len(alias.name)] + top)

    def names(self, node: ast.ImportFrom, scope: Scope) -> None:
        """``from a import b``"""
        name = "." * node.level + (node.module or "")
        module = self._engine.program.find(name, scope.module)
        if module is not None:
            self._engine.statements.load(module)
        elif node.level and node.module and scope.function is None and self._engine.state.region.up is None:
            own = scope.module
            if not any(self._engine.program.find(f"{name}.{alias.name}", own) for alias in node.names):
                own.missing.add(name)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(name, module, scope)
            else:
                scope.set(alias.asname or alias.name, self._imported_from(name, module, alias.name, scope))

    def _import_all(self, name: str, module: Module | None, scope: Scope) -> None:
        if module is None:
            if name.startswith("torch"):
                scope.set("*", library(name))
            return
        for bound, value in list(module.names.items()):
            if not bound.startswith("__"):
                scope.set(bound, value)

    def _imported_from(self, name: str, module: Module | None, wanted: str, scope: Scope) -> Value:
        if module is not None:
            found = module.names.get(wanted)
            if found is None and "*" in module.names:
                found = library(f"{module.names['*'].detail}.{wanted}")
            if found is not None:
                return found  # type: ignore[no-any-return]
        separator = "" if name.endswith(".") else "."
        inner = self._engine.program.find(f"{name}{separator}{wanted}", scope.module)
        if inner is not None:
            self._engine.statements.load(inner)
            return self._engine.module(inner)
        if module is not None or name.startswith("."):
            return UNKNOWN
        return self._engine.libraries.named(f"{name}.{wanted}")

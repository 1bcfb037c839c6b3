"""Names in fixed code: how to refer to a library function at a place, and missing imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import Binding
from torchlint.edit.editor import Editor, Unfixable
from torchlint.model import Edit

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Spelling(NamedTuple):
    """The text that refers to a function at a place, and the edits it needs, such as an import."""

    text: str
    edits: tuple[Edit, ...] = ()


class Speller:
    """Finds names for library functions in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def spell(self, name: str, place: cst.CSTNode, *, importing: bool = False) -> Spelling:
        """Refer to ``torch.as_tensor`` through the imports that reach ``place``: ``th.as_tensor``, ``as_tensor``.

        With ``importing``, adds an import if none reaches the place. Raises :class:`Unfixable` if there is no way to
        refer to the function.
        """
        found = self._imported(name, place)
        if found is not None:
            return Spelling(found)
        if not importing:
            raise Unfixable
        root = name.partition(".")[0]
        return Spelling(name, (self._import(root, place),))

    def sibling(self, call: cst.Call, name: str) -> Spelling:
        """Another function of the same library module, referred to as the callee of a call is."""
        owner, _, last = name.rpartition(".")
        if isinstance(call.func, cst.Attribute) and self._module.qualified(call.func.value) == owner:
            return Spelling(f"{Editor(self._module).source(call.func.value)}.{last}")
        return self.spell(name, call)

    def _imported(self, name: str, place: cst.CSTNode) -> str | None:
        """The shortest name through imports that dominate the place."""
        spellings = []
        for known, bindings in visible_names(self._module, place, _are_imports):
            text = _spelled(name, known, bindings)
            if text is not None and any(dominates(self._module, b.statement, place) for b in bindings):
                spellings.append(text)
        return min(spellings, key=lambda text: (text.count("."), len(text), text), default=None)

    def _import(self, root: str, place: cst.CSTNode) -> Edit:
        if self.is_bound(root) or self._module.names.star_imports():
            raise Unfixable
        statement = self.last_import()
        if not self._module.comes_before(statement, place):
            raise Unfixable
        return Editor(self._module).insert_after(statement, f"import {root}")

    def is_bound(self, name: str) -> bool:
        """Whether a name is bound or read anywhere in the file; parts of dotted names do not count."""
        return name in self._module.shared(_bound)

    def last_import(self) -> cst.SimpleStatementLine:
        """The last import at the head of the module; raises :class:`Unfixable` if there is none."""
        found: cst.SimpleStatementLine | None = None
        for statement in self._module.tree.body:
            importing = isinstance(statement, cst.SimpleStatementLine) and all(
                isinstance(small, (cst.Import, cst.ImportFrom)) for small in statement.body
            )
            if importing:
                assert isinstance(statement, cst.SimpleStatementLine)
                found = statement
            elif found is not None:
                break
        if found is None:
            raise Unfixable
        return found


def _are_imports(_: str, bindings: list[Binding]) -> bool:
    return all(binding.kind == "import" for binding in bindings)


def _spelled(name: str, known: str, bindings: list[Binding]) -> str | None:
    """The name through an import: with ``import torch.nn as nn``, ``torch.nn.Linear`` is ``nn.Linear``."""
    stands_for = {binding.qualified for binding in bindings}
    if len(stands_for) != 1 or None in stands_for:
        return None
    qualified = str(stands_for.pop())
    if qualified == name:
        return known
    return f"{known}{name[len(qualified) :]}" if name.startswith(f"{qualified}.") else None


def _bound(module: SourceModule) -> frozenset[str]:
    """Every name in the file that is not merely a part of a dotted name or a keyword."""
    return frozenset(node.value for node in module.nodes_of(cst.Name) if not _is_part(module, node))


def _is_part(module: SourceModule, node: cst.Name) -> bool:
    parent = module.parent(node)
    if isinstance(parent, cst.Arg):
        return parent.keyword is node
    if isinstance(parent, cst.Attribute) and parent.attr is node:
        return True
    return isinstance(module.statement_of(node), cst.ImportFrom)

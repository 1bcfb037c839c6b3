"""Compiled code: functions and modules that a compiler of torch traces, which folds constants and fuses operations."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.knowledge.heat import COMPILERS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_NAMES = frozenset(name.rpartition(".")[2] for name in COMPILERS)


class Compiled:
    """Decides which code of a module is compiled."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def covers(self, node: cst.CSTNode) -> bool:
        """Whether a node may belong to a function or module that the file compiles."""
        return any(
            isinstance(around, (cst.FunctionDef, cst.ClassDef)) and self._is_compiled(around)
            for around in self._module.ancestors(node)
        )

    def _is_compiled(self, definition: cst.FunctionDef | cst.ClassDef) -> bool:
        if any(self._names_compiler(decorator) for decorator in definition.decorators):
            return True
        if definition in self._compiled:
            return True
        module = isinstance(definition, cst.ClassDef) and self._module.classes.is_module(definition)
        return module and None in self._compiled

    def _names_compiler(self, decorator: cst.Decorator) -> bool:
        parts = descendants(decorator.decorator)
        return any(
            isinstance(part, (cst.Name, cst.Attribute)) and self._module.qualified(part) in COMPILERS for part in parts
        )

    @cached_property
    def _compiled(self) -> frozenset[cst.CSTNode | None]:
        """The functions and classes whose objects the file compiles in a normal run; None for one of unknown class."""
        calls = [n for n in self._module.nodes_of(cst.Call, _NAMES) if self._module.followed.unusual(n) is None]
        given = [positional(call, 0) for call in calls if self._module.qualified(call.func) in COMPILERS]
        return frozenset(self._module.value(node).node for node in given if node is not None)

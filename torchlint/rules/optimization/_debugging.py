"""Decides whether a mode that is meant for debugging is on in every run of a program."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, literal
from torchlint.knowledge.heat import STEP_METHODS
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Beginnings of words, and words, in names of files, classes and functions that use such modes on purpose.
_PURPOSES = ("debug", "determin", "anomal", "reprod", "profil", "bench", "sanity", "diagnos")
_PURPOSE_WORDS = frozenset("test tests testing repro trace traces tracing".split())
# Words in names of functions that programs call to train.
_TRAINING = frozenset("main train training trainer pretrain finetune fit run worker".split())
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_DEPTH = 4
_WRITERS = frozenset({"os.environ.setdefault", "os.putenv", "os.environ.__setitem__"})


class Setting(NamedTuple):
    """A write of an environment variable: the statement or call that makes it, and the literal value as text."""

    node: cst.CSTNode
    value: str


class Debugging:
    """The debugging modes of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis

    def is_always_on(self, node: cst.CSTNode) -> bool:
        """Whether a mode is switched on under no condition, and for more than a few lines."""
        if self._module.in_test(node) or self._is_on_purpose(node) or self._is_switched_off(node):
            return False
        if not self._runs_anyway(node, _DEPTH):
            return False
        item = self._module.parent(node)
        if isinstance(item, cst.WithItem):
            return self._surrounds_training(self._module.parent(item))
        return isinstance(item, (cst.Expr, cst.Arg)) or not isinstance(node, cst.Call)

    def _runs_anyway(self, node: cst.CSTNode, depth: int) -> bool:
        """Whether a node runs under no condition, in a function that trains or is called so, or in none."""
        if not all(self._is_no_condition(g.kind, g.condition, g.node) for g in self._module.guards(node)):
            return False
        function = self._module.function_of(node)
        if function is None or self._is_of_training(function):
            return True
        sites = self._module.functions.callers(function).sites if depth else ()
        return any(self._runs_anyway(site.call, depth - 1) for site in sites)

    def _is_of_training(self, function: cst.FunctionDef) -> bool:
        """Whether a function trains, by its name or its loops, or is a method of a class that does."""
        owner = self._module.class_of(function)
        methods = self._module.within(owner, cst.FunctionDef) if owner is not None else ()
        names = [function.name.value] if owner is None else [function.name.value, owner.name.value]
        named = not _TRAINING.isdisjoint(word for name in names for word in _words(name))
        return named or any(m.name.value in STEP_METHODS for m in methods) or self._has_training_loop(owner or function)

    def _has_training_loop(self, body: cst.CSTNode) -> bool:
        loops = (loop for kind in (cst.For, cst.While) for loop in self._module.within(body, kind))
        return any(self._heat.loop_kind(loop) is not None and self._heat.trains(loop) for loop in loops)

    def _is_no_condition(self, kind: str, condition: cst.BaseExpression | None, node: cst.CSTNode) -> bool:
        """Whether a guard holds in every run: a main guard, an assertion, the body of ``try``, a decorator."""
        if kind in ("try", "decorator") or isinstance(node, cst.Assert):
            return True
        left = condition.left if isinstance(condition, cst.Comparison) else None
        return kind == "test" and isinstance(left, cst.Name) and left.value == "__name__"

    def _is_on_purpose(self, node: cst.CSTNode) -> bool:
        around = (a for a in self._module.ancestors(node) if isinstance(a, (cst.FunctionDef, cst.ClassDef)))
        names = [PurePath(self._module.path).stem, *(a.name.value for a in around)]
        words = [word for name in names for word in _words(name)]
        return not _PURPOSE_WORDS.isdisjoint(words) or any(word.startswith(_PURPOSES) for word in words)

    def _is_switched_off(self, node: cst.CSTNode) -> bool:
        """Whether the file also switches the mode off, or gives the variable another value."""
        if isinstance(node, cst.Call):
            calls = (c for c in self._module.nodes_of(cst.Call) if self._names_same(c, node))
            return any(literal(argument(call, "mode", 0)) is False for call in calls)
        same = (s for s in self._module.nodes_of(cst.SimpleString) if literal(s) == literal(node))
        settings = [self.environment(string) for string in same]
        return len({setting.value for setting in settings if setting is not None}) > 1

    def _names_same(self, one: cst.Call, other: cst.Call) -> bool:
        name = self._module.qualified(one.func)
        return name is not None and name == self._module.qualified(other.func) and name.endswith("set_detect_anomaly")

    def _surrounds_training(self, with_: cst.CSTNode | None) -> bool:
        """Whether a context is a part of a training step, or contains a loop of training steps."""
        if not isinstance(with_, cst.With):
            return False
        if self._module.heat(with_).rank >= Heat.STEP.rank:
            return self._module.followed.often(with_.body).phase == "training"
        return self._has_training_loop(with_.body)

    def environment(self, name: cst.SimpleString) -> Setting | None:
        """The write of the environment variable with this name; None if the string is something else."""
        above = self._module.parent(name)
        if isinstance(above, cst.Index):
            return self._stored(self._module.parent(self._module.parent(above) or above))
        call = self._module.call_with_argument(name)
        if call is not None and self._module.qualified(call.func) in _WRITERS and len(call.args) == 2:
            value = literal(call.args[1].value)
            return Setting(call, str(value)) if call.args[0].value is name and isinstance(value, str) else None
        return None

    def _stored(self, subscript: cst.CSTNode | None) -> Setting | None:
        if not isinstance(subscript, cst.Subscript) or self._module.qualified(subscript.value) != "os.environ":
            return None
        target = self._module.parent(subscript)
        assign = self._module.parent(target) if isinstance(target, cst.AssignTarget) else None
        value = literal(assign.value) if isinstance(assign, cst.Assign) else None
        return Setting(assign, value) if assign is not None and isinstance(value, str) else None


def _words(name: str) -> list[str]:
    """``DebugRun`` and ``debug_run`` as ``debug`` and ``run``."""
    return [word.lower() for word in _WORD.findall(name)]

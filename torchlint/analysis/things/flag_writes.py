"""Writes of backend flags: the statements and calls that write them, and summaries of functions for other files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, literal, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.flag_paths import BackendFlag, FlagFlow, Path, Setting, scope_name
from torchlint.analysis.values.fixpoint import FixpointMemo
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.facts import FlagExit, FlagHelper

_SETTER_NAMES = frozenset(
    "benchmark deterministic enabled use_deterministic_algorithms set_deterministic set_deterministic_debug_mode "
    "autotune Trainer Fabric flags".split()
)


_DEBUG_MODES = {"0": False, "default": False, "1": True, "warn": True, "2": True, "error": True}


class FlagWrites:
    """The writes of backend flags in one module."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._mappings = Mappings(module)
        self._writers = FixpointMemo()

    def final_paths(self, root: cst.FunctionDef | cst.Module, watched: frozenset[str] = frozenset()) -> list[Path]:
        """The paths that reach the end of a body, in no particular order."""
        flow = FlagFlow(self, root, (), watched)
        flow.run(root.body if isinstance(root, cst.FunctionDef) else root, frozenset({Path()}))
        return [path for state in flow.exits for path in state]

    def roots(self) -> Iterator[cst.FunctionDef | cst.Module]:
        """The module, and the functions that write flags and have no callers in the file."""
        yield self.module.tree
        for function in self.module.nodes_of(cst.FunctionDef, frozenset(("def",)), self._flag_names):
            if self.writes(function):
                sites = self.module.functions.callers(function).sites
                if not any(self.called_writer(site.call) is function for site in sites):
                    yield function

    # -- functions that write flags ----------------------------------------------------------------

    def called_writer(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function or constructor of the file that a call runs, if it writes a flag, or None."""
        function = self.module.functions.callee(call)
        if function is None:
            owner = self.module.value(call.func)
            if owner.kind is Kind.CLASS and isinstance(owner.node, cst.ClassDef):
                function = self.module.classes.method(owner.node, "__init__")
        return function if function is not None and self.writes(function) else None

    def writes(self, function: cst.FunctionDef) -> bool:
        """Whether a function, or one that it calls, writes a flag."""
        return self._writers.get_or_compute(function, lambda: self._writes(function), False)

    def _writes(self, function: cst.FunctionDef) -> bool:
        held = self.module.may_contain(function, self._flag_names)
        return held and any(self._node_writes(node) for node in descendants(function.body))

    @cached_property
    def any_writes(self) -> bool:
        """Whether the file writes a flag, or calls a function of another file that does."""
        names = self.module.aliases(_SETTER_NAMES)
        named = self.module.iter_nodes(cst.Attribute, names)
        calls = self.module.iter_nodes(cst.Call, names)
        project_calls = self.module.iter_nodes(cst.Call, self.module.project_symbol_names)
        return (
            any(self._is_flag(node) for node in named)
            or any(True for call in calls for _ in self.set_by_call(call))
            or any(self._project_helper(call) is not None for call in project_calls)
        )

    def _is_flag(self, node: cst.Attribute) -> bool:
        return node.attr.value in known.FLAG_WORDS and self.module.qualified(node) in known.ATTRIBUTES

    def _project_helper(self, call: cst.Call) -> tuple[str, FlagHelper] | None:
        """The file and the summary of the function of another file that a call runs, if it writes flags."""
        name = self.module.project_symbol(call.func)
        return self.module.project.flag_helper(name) if name is not None else None

    @cached_property
    def _flag_names(self) -> frozenset[str]:
        """Names of which every function that writes a flag, directly or by a call, contains at least one."""
        names = self.module.aliases(_SETTER_NAMES) | self.module.project_symbol_names
        while not (found := self.module.aliases(frozenset(self._functions_containing(names)))) <= names:
            names |= found
        return names

    def _functions_containing(self, names: frozenset[str]) -> Iterator[str]:
        """The names of the functions that contain one of these names; the name of the class for a constructor."""
        for function in self.module.nodes_outside_functions(cst.FunctionDef):
            if self.module.may_contain(function, names):
                owner = self.module.class_of(function)
                made = owner is not None and function.name.value == "__init__"
                yield owner.name.value if made and owner is not None else function.name.value

    def _node_writes(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Attribute):
            return self._is_flag(node)
        if node.__class__ is not cst.Call:
            return False
        assert isinstance(node, cst.Call)
        if any(True for _ in self.set_by_call(node)) or self.called_writer(node) is not None:
            return True
        return any(True for _ in self.helper_outcomes(node))

    # -- writes ------------------------------------------------------------------------------------

    def flag_assignments(self, statement: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression, cst.CSTNode]]:
        """The flags that an assignment writes, with the assigned expressions, in order."""
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                yield from self._target_assignments(target.target, statement.value)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            yield from self._target_assignments(statement.target, statement.value)

    def _target_assignments(
        self, target: cst.CSTNode, value: cst.BaseExpression
    ) -> Iterator[tuple[str, cst.BaseExpression, cst.CSTNode]]:
        if isinstance(target, (cst.Tuple, cst.List)):
            members = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
            for i, element in enumerate(target.elements):
                same = len(members) == len(target.elements)
                yield from self._target_assignments(element.value, members[i].value if same else value)
        elif isinstance(target, cst.Attribute):
            flag = self.module.qualified(target)
            if flag in known.ATTRIBUTES:
                yield str(flag), value, target

    def set_by_call(self, call: cst.Call) -> Iterator[Setting]:
        """The flags that a call of a library function sets."""
        name = self.module.qualified(call.func)
        if name in known.DETERMINISM:
            warn_only = keyword(call, "warn_only")
            warns = warn_only is not None and literal(warn_only) is not False
            yield Setting(known.ALGORITHMS, argument(call, "mode", 0), call, warns)
        elif name in known.DEBUG_MODE:
            mode = literal(argument(call, "debug_mode", 0))
            yield Setting(known.ALGORITHMS, _DEBUG_MODES.get(str(mode)), call, str(mode) in ("1", "warn"))
        elif name == known.COMPILE:
            if str(literal(keyword(call, "mode"))).startswith("max-autotune"):
                yield Setting(known.AUTOTUNE, True, call)
        elif name == "builtins.setattr" and len(call.args) == 3:
            flag = f"{self.module.qualified(call.args[0].value)}.{literal(call.args[1].value)}"
            if flag in known.ATTRIBUTES:
                yield Setting(flag, call.args[2].value, call)
        elif name in known.TRAINERS:
            yield from self._trainer(call)

    def _trainer(self, call: cst.Call) -> Iterator[Setting]:
        """Lightning disables the benchmark if determinism is on, unless ``benchmark`` is given as well."""
        deterministic, benchmark = keyword(call, "deterministic"), keyword(call, "benchmark")
        if deterministic is not None and literal(deterministic) not in (None, False):
            warns = literal(deterministic) == "warn"
            yield Setting(known.ALGORITHMS, True if warns else deterministic, call, warns)
            if benchmark is None:
                yield Setting(known.BENCHMARK, False, call)
        if benchmark is not None and literal(benchmark) is not None:
            yield Setting(known.BENCHMARK, benchmark, call)

    def truth(self, node: cst.BaseExpression | bool | None, path: Path) -> bool | None:
        """The value of an expression on a path, if it is certainly True or False; a flag has the value last written."""
        if node is None or isinstance(node, bool):
            return node
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            inner = self.truth(node.expression, path)
            return None if inner is None else not inner
        if isinstance(node, cst.Attribute):
            write = path.last_write(self.module.qualified(node) or "")
            return write.value if write is not None else None
        if isinstance(node, cst.Integer):
            return node.value != "0"
        return {"True": True, "False": False}.get(self.module.value(node).literal or "")

    # -- other files -------------------------------------------------------------------------------

    def helper_outcomes(self, call: cst.Call) -> Iterator[list[tuple[BackendFlag, ...]]]:
        """The outcomes of a function in another file: the flags that it writes on each of its paths."""
        found = self._project_helper(call)
        if found is None:
            return
        path, helper = found
        given = self._known_arguments(call, helper)
        exits = [
            tuple(
                BackendFlag(w["flag"], w["value"], call, w["soft"], (path, w["line"]))
                for w in sorted(outcome["writes"], key=lambda w: (w["line"], w["flag"]))
            )
            for outcome in helper["exits"]
            if all(given.get(parameter, holds) is holds for parameter, holds in outcome["conditions"].items())
        ]
        if exits:
            yield exits

    def _known_arguments(self, call: cst.Call, helper: FlagHelper) -> dict[str, bool]:
        """The parameters that are certainly True or False in a call."""
        given: dict[str, bool] = {}
        for i, name in enumerate(helper["parameters"]):
            passed = keyword(call, name) or positional(call, i)
            value = self.truth(passed, Path()) if passed is not None else helper["defaults"].get(name)
            if value is not None and not any(arg.star for arg in call.args):
                given[name] = value
        return given

    def helper_summary(self, function: cst.FunctionDef) -> FlagHelper | None:
        """The summary of a function for other files; None if it writes no flag."""
        if not self.writes(function):
            return None
        params = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
        names = [p.name.value for p in params]
        prefix = scope_name(0, function) + ":"
        exits: list[FlagExit] = []
        for path in self.final_paths(function):
            conditions = {
                text.removeprefix(prefix): holds
                for text, holds in sorted(path.conditions)
                if text.startswith(prefix) and text.removeprefix(prefix) in names
            }
            outcome: FlagExit = {
                "writes": [
                    {"flag": w.name, "value": w.value, "soft": w.warn_only, "line": self.module.line(w.node)}
                    for w in sorted(path.writes, key=lambda w: (w.name, str(w.value)))
                ],
                "conditions": conditions,
            }
            if outcome not in exits:
                exits.append(outcome)
        if not any(outcome["writes"] for outcome in exits):
            return None
        defaults = {p.name.value: literal(p.default) for p in params}
        return {
            "parameters": names,
            "defaults": {name: value for name, value in defaults.items() if isinstance(value, bool)},
            "exits": sorted(exits, key=repr),
        }

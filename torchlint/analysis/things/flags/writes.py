"""Writes of backend flags: the statements and calls that write them, and summaries of functions for other files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.flow import never_continues
from torchlint.analysis.syntax.calls import argument, keyword, literal, positional
from torchlint.analysis.syntax.walk import children, descendants
from torchlint.analysis.things.flags.paths import BackendFlag, FlagFlow, Path, Setting, scope_name
from torchlint.analysis.values.fixpoint import FixpointMemo
from torchlint.analysis.values.lattice import Kind
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
        self._written_by = FixpointMemo()
        self._mattering: dict[cst.CSTNode, bool] = {}

    def final_paths(self, root: cst.FunctionDef | cst.Module, watched: frozenset[str] = frozenset()) -> list[Path]:
        """The paths that reach the end of a body, in no particular order."""
        flow = FlagFlow(self, root, (), watched)
        flow.run(root.body if isinstance(root, cst.FunctionDef) else root, frozenset({Path()}))
        return [path for state in flow.exits for path in state]

    def roots(self, flags: frozenset[str]) -> Iterator[cst.FunctionDef | cst.Module]:
        """The module, and the functions that write all these flags and have no callers in the file."""
        if not flags <= self.flags:
            return
        yield self.module.tree
        for function in self.module.nodes_of(cst.FunctionDef, frozenset(("def",)), self._flag_names):
            if flags <= self.written_by(function):
                sites = self.module.functions.callers(function).sites
                if not any(self.called_writer(site.call) is function for site in sites):
                    yield function

    @cached_property
    def flags(self) -> frozenset[str]:
        """The flags that the file names, or that functions of other files which it calls write."""
        names = self.module.aliases(_SETTER_NAMES)
        named = self.module.iter_nodes(cst.Attribute, names)
        calls = self.module.iter_nodes(cst.Call, names | self.module.project_symbol_names)
        return frozenset(flag for node in chain(named, calls) for flag in self._named(node))

    # -- functions that write flags ----------------------------------------------------------------

    def called_writer(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function or constructor of the file that a call runs, if it writes a flag, or None."""
        function = self.module.functions.callee(call)
        if function is None:
            owner = self.module.value(call.func)
            if owner.kind is Kind.CLASS and isinstance(owner.node, cst.ClassDef):
                function = self.module.classes.method(owner.node, "__init__")
        return function if function is not None and self.written_by(function) else None

    def written_by(self, function: cst.FunctionDef) -> frozenset[str]:
        """The flags that a function, or one that it calls, names or writes."""
        return self._written_by.get_or_compute(function, lambda: self._written(function), frozenset())

    def _written(self, function: cst.FunctionDef) -> frozenset[str]:
        nodes = descendants(function.body) if self.module.may_contain(function, self._flag_names) else ()
        return frozenset(flag for node in nodes for flag in self._reached(node))

    def matters(self, node: cst.CSTNode) -> bool:
        """Whether code writes a flag or may end a path; paths need not be told apart around other code."""
        if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            return False
        if node not in self._mattering:
            ends = isinstance(node, (cst.Assert, cst.While)) or never_continues(node, self.module.qualified)
            self._mattering[node] = ends or any(self._reached(node)) or any(map(self.matters, children(node)))
        return self._mattering[node]

    def _reached(self, node: cst.CSTNode) -> Iterator[str]:
        """The flags that an attribute names, or that a call writes in any file."""
        yield from self._named(node)
        if isinstance(node, cst.Call) and (function := self.called_writer(node)) is not None:
            yield from self.written_by(function)

    def _named(self, node: cst.CSTNode) -> Iterator[str]:
        """The flags that an attribute names, or that a call of a function outside the file writes."""
        if isinstance(node, cst.Attribute):
            if node.attr.value in known.FLAG_WORDS and (flag := self.module.qualified(node)) in known.ATTRIBUTES:
                yield str(flag)
        elif isinstance(node, cst.Call):
            yield from (setting.flag for setting in self.set_by_call(node))
            yield from (write.name for writes in self.helper_outcomes(node) for write in writes)

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
                owner = self.module.class_of(function) if function.name.value == "__init__" else None
                yield (owner or function).name.value

    # -- writes ------------------------------------------------------------------------------------

    def set_by_assignment(self, statement: cst.CSTNode) -> Iterator[Setting]:
        """The flags that an assignment sets, in order."""
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                yield from self._set_in(target.target, statement.value)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            yield from self._set_in(statement.target, statement.value)

    def _set_in(self, target: cst.CSTNode, value: cst.BaseExpression) -> Iterator[Setting]:
        if isinstance(target, (cst.Tuple, cst.List)):
            members = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
            same = len(members) == len(target.elements)
            for i, element in enumerate(target.elements):
                yield from self._set_in(element.value, members[i].value if same else value)
        elif isinstance(target, cst.Attribute):
            flag = self.module.qualified(target)
            if flag in known.ATTRIBUTES:
                yield Setting(str(flag), value, target)

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

    def helper_outcomes(self, call: cst.Call) -> list[tuple[BackendFlag, ...]]:
        """The outcomes of a function in another file: the flags that it writes on each of its paths."""
        name = self.module.project_symbol(call.func)
        found = self.module.project.flag_helper(name) if name is not None else None
        if found is None:
            return []
        path, helper = found
        given = self._known_arguments(call, helper)
        return [
            tuple(
                BackendFlag(w["flag"], w["value"], call, w["soft"], (path, w["line"]))
                for w in sorted(outcome["writes"], key=lambda w: (w["line"], w["flag"]))
            )
            for outcome in helper["exits"]
            if all(given.get(parameter, holds) is holds for parameter, holds in outcome["conditions"].items())
        ]

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
        if not self.written_by(function):
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

"""Backend flags: which values they have on which path, through the functions of one file.

The state is a small set of paths. Each knows the flags written on it, with the writes, and how the
conditions on the way came out, so that two tests of one condition exclude each other. Calls of
functions of the file are followed where those write flags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.flow import Forward
from torchlint.analysis.mappings import Mappings
from torchlint.analysis.values import Kind
from torchlint.analysis.walk import children, descendants
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_PATHS = 64
_CALLS = 5
_DEFINITIONS = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


@dataclass(frozen=True)
class Write:
    """A flag and the value it got: True, False, or None when it is not known."""

    flag: str
    value: bool | None
    node: cst.CSTNode


@dataclass(frozen=True)
class Path:
    """One way through the code. ``completed`` is the write after which all watched flags were True."""

    writes: frozenset[Write] = frozenset()
    conditions: frozenset[tuple[str, bool]] = frozenset()
    completed: cst.CSTNode | None = None

    def of(self, flag: str) -> Write | None:
        """The last write of a flag."""
        return next((w for w in self.writes if w.flag == flag), None)

    def wrote(self, write: Write, watched: frozenset[str]) -> Path:
        """The path after one more write."""
        writes = frozenset(w for w in self.writes if w.flag != write.flag) | {write}
        on = {w.flag for w in writes if w.value is True}
        if not watched <= on:
            return Path(writes, self.conditions, None)
        if self.completed is not None:
            return self
        return Path(writes, self.conditions, write.node)


@dataclass(frozen=True)
class Conflict:
    """Two writes that leave both flags True: ``later`` completes what ``earlier`` began."""

    later: cst.CSTNode
    earlier: cst.CSTNode
    flag: str


State = frozenset[Path]


class _FlagFlow(Forward[State]):
    """Carries paths through one body, and through the functions it calls."""

    def __init__(self, backends: Backends, owner: cst.CSTNode, stack: tuple[cst.CSTNode, ...]) -> None:
        super().__init__(backends.module.qualified)
        self._backends = backends
        self._stack = (*stack, owner)
        self._scope = str(len(stack)) + getattr(getattr(owner, "name", None), "value", "")

    def join(self, one: State, other: State) -> State:
        return self._bounded(one | other)

    def transfer(self, statement: cst.CSTNode, state: State) -> State:
        for call in _calls_in(statement):
            function = self._backends.writer_called(call)
            if function is not None and function not in self._stack and len(self._stack) <= _CALLS:
                state = self._followed(function, state)
        for flag, value, node in self._backends.writes_of(statement):
            state = frozenset(
                path.wrote(Write(flag, self._backends.truth(value, path), node), known.FLAGS) for path in state
            )
        return state

    def _followed(self, function: cst.FunctionDef, state: State) -> State:
        inner = _FlagFlow(self._backends, function, self._stack)
        inner.run(function.body, state)
        left: State = frozenset().union(*inner.exits) if inner.exits else frozenset()
        return self._bounded(left) if left else state

    def _bounded(self, state: State) -> State:
        """Too many paths: forget the conditions, which merges most of them, and keep the first few."""
        if len(state) <= _PATHS:
            return state
        order = self._backends.module.order
        merged = frozenset(replace(path, conditions=frozenset()) for path in state)
        first = sorted(merged, key=lambda p: sorted((w.flag, str(w.value), order(w.node)) for w in p.writes))
        return frozenset(first[:_PATHS])

    def assume(self, test: cst.BaseExpression, holds: bool, state: State) -> State | None:
        left = frozenset(p for path in state if (p := self._assumed(test, holds, path)) is not None)
        return left or None

    def _assumed(self, test: cst.BaseExpression, holds: bool, path: Path) -> Path | None:
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self._assumed(test.expression, not holds, path)
        if isinstance(test, cst.BooleanOperation):
            if isinstance(test.operator, cst.And) is not holds:
                return path
            first = self._assumed(test.left, holds, path)
            return self._assumed(test.right, holds, first) if first is not None else None
        known_value = self._backends.truth(test, path)
        if known_value is not None:
            return path if known_value is holds else None
        text, positive = self._normal(test)
        outcome = holds is positive
        if (text, not outcome) in path.conditions:
            return None
        return replace(path, conditions=path.conditions | {(text, outcome)})

    def _normal(self, test: cst.BaseExpression) -> tuple[str, bool]:
        """A condition and its negation as one text with a sign; names of different functions differ."""
        code = self._backends.module.code
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            for operators, sign in (((cst.Is, cst.Equal), True), ((cst.IsNot, cst.NotEqual), False)):
                if isinstance(target.operator, operators):
                    return f"{self._scope}:{_plain(test.left, code)} == {code(target.comparator)}", sign
        return f"{self._scope}:{code(test)}", True


def _plain(node: cst.BaseExpression, code: object) -> str:
    """A walrus counts as the name it sets."""
    inner = node.target if isinstance(node, cst.NamedExpr) else node
    return str(code(inner))  # type: ignore[operator]


def _calls_in(statement: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that a statement, or the header of a compound one, makes itself."""
    if isinstance(statement, _DEFINITIONS):
        return
    stack = [child for child in children(statement) if not isinstance(child, (cst.BaseSuite, cst.BaseStatement))]
    while stack:
        node = stack.pop(0)
        if isinstance(node, (cst.Lambda, cst.BaseSuite)):
            continue
        stack = children(node) + stack
        if isinstance(node, cst.Call):
            yield node


class Backends:
    """What one module does to the flags of cuDNN."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._mappings = Mappings(module)
        self._writers: dict[cst.CSTNode, bool] = {}

    def conflicts(self) -> list[Conflict]:
        """Every pair of writes that leaves both flags True at the end of some way through the code."""
        found: dict[cst.CSTNode, Conflict] = {}
        order = self.module.order
        for root in self._roots():
            flow = _FlagFlow(self, root, ())
            body = root.body if isinstance(root, cst.FunctionDef) else root
            flow.run(body, frozenset({Path()}))
            for path in (p for state in flow.exits for p in state if p.completed is not None):
                conflict = self._conflict(path)
                known_one = found.get(conflict.later)
                if known_one is None or order(conflict.earlier) < order(known_one.earlier):
                    found[conflict.later] = conflict
        ordered = sorted(found.values(), key=lambda c: order(c.later))
        return [c for c in ordered if not self._meant(c)]

    def sets_both(self, call: cst.Call) -> bool:
        """``cudnn.flags(..)`` or Lightning's ``Trainer(..)`` with both arguments True."""
        if self.module.qualified(call.func) not in known.SETTERS or self.is_test(call):
            return False
        given: dict[str, list[cst.BaseExpression]] = {}
        for arg in call.args:
            if arg.keyword is not None:
                given.setdefault(arg.keyword.value, []).append(arg.value)
            elif arg.star == "**":
                for name, values in (self._mappings.entries(arg.value) or {}).items():
                    given.setdefault(name, []).extend(values)
        both = [given.get(name, []) for name in ("benchmark", "deterministic")]
        return all(values and all(self.truth(v, Path()) is True for v in values) for values in both)

    # -- where to begin --------------------------------------------------------------------------

    def _roots(self) -> Iterator[cst.FunctionDef | cst.Module]:
        """The module, and the functions that write flags and that nothing in the file calls."""
        yield self.module.tree
        for function in self.module.nodes_of(cst.FunctionDef):
            if not self._writes(function) or self.is_test(function):
                continue
            sites = self.module.functions.callers(function).sites
            called = any(self.writer_called(site.call) is function for site in sites)
            if not called:
                yield function

    def writer_called(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function of the file that a call runs, if it writes a flag; a class stands for its constructor."""
        function = self.module.functions.called(call)
        if function is None:
            owner = self.module.value(call.func)
            if owner.kind is Kind.CLASS and isinstance(owner.node, cst.ClassDef):
                function = self.module.classes.method(owner.node, "__init__")
        return function if function is not None and self._writes(function) else None

    def _writes(self, function: cst.FunctionDef) -> bool:
        """The function, or one it calls, writes a flag."""
        if function not in self._writers:
            self._writers[function] = False
            self._writers[function] = any(self._writes_below(node) for node in descendants(function.body))
        return self._writers[function]

    def _writes_below(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Attribute):
            return node.attr.value in ("benchmark", "deterministic") and self.module.qualified(node) in known.FLAGS
        return isinstance(node, cst.Call) and self.writer_called(node) is not None

    # -- writes ----------------------------------------------------------------------------------

    def writes_of(self, statement: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression, cst.CSTNode]]:
        """The flags an assignment writes, with the expressions they get, in order."""
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                yield from self._written(target.target, statement.value)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            yield from self._written(statement.target, statement.value)

    def _written(
        self, target: cst.CSTNode, value: cst.BaseExpression
    ) -> Iterator[tuple[str, cst.BaseExpression, cst.CSTNode]]:
        if isinstance(target, (cst.Tuple, cst.List)):
            members = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
            for i, element in enumerate(target.elements):
                same = len(members) == len(target.elements)
                yield from self._written(element.value, members[i].value if same else value)
        elif isinstance(target, cst.Attribute):
            flag = self.module.qualified(target)
            if flag in known.FLAGS:
                yield str(flag), value, target

    def truth(self, node: cst.BaseExpression, path: Path) -> bool | None:
        """True or False where certain on a path; a flag that is read has the value it was given."""
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            inner = self.truth(node.expression, path)
            return None if inner is None else not inner
        if isinstance(node, cst.Attribute):
            write = path.of(self.module.qualified(node) or "")
            return write.value if write is not None else None
        return {"True": True, "False": False}.get(self.module.value(node).literal or "")

    # -- what is meant ---------------------------------------------------------------------------

    def _conflict(self, path: Path) -> Conflict:
        assert path.completed is not None
        later = next((w for w in path.writes if w.node is path.completed), None)
        flag = later.flag if later is not None else known.BENCHMARK
        other = next(w for w in path.writes if w.flag != flag)
        return Conflict(path.completed, other.node, flag)

    def _meant(self, conflict: Conflict) -> bool:
        """A comment, docstring or name says so; the code is for ROCm; it tests the flags."""
        nodes = (conflict.later, conflict.earlier)
        return any(self.is_test(n) or self._for_rocm(n) or self._says_so(n) for n in nodes)

    def is_test(self, node: cst.CSTNode) -> bool:
        """The code stands in a test, a test class or a fixture."""
        for around in (node, *self.module.ancestors(node)):
            if isinstance(around, cst.FunctionDef):
                decorators = {self._decorator(d) for d in around.decorators}
                if around.name.value.startswith("test_") or "pytest.fixture" in decorators:
                    return True
            if isinstance(around, cst.ClassDef) and self.module.classes.derives(around, {"unittest.TestCase"}):
                return True
        return False

    def _decorator(self, decorator: cst.Decorator) -> str | None:
        node = decorator.decorator
        return self.module.qualified(node.func if isinstance(node, cst.Call) else node)

    def _for_rocm(self, node: cst.CSTNode) -> bool:
        """A guard asks for ROCm, where determinism alone means one default algorithm."""
        for guard in self.module.guards(node):
            for part in descendants(guard.condition) if guard.condition is not None else ():
                if isinstance(part, cst.Attribute) and self.module.qualified(part) == "torch.version.hip":
                    return True
                if isinstance(part, cst.Name) and "rocm" in part.value.lower():
                    return True
        return False

    def _says_so(self, node: cst.CSTNode) -> bool:
        line = self.module.line(node)
        texts = [self.module.comments(line, line)]
        function = self.module.function_of(node)
        if function is not None:
            texts += [function.name.value.replace("_", " "), function.get_docstring() or ""]
        return any(word in text.lower() for text in texts for word in known.INTENT)

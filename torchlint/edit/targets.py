"""Replaces moves by arguments: removes ``.to(device)`` and passes ``device=`` to the call that creates the tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.dominance import dominates
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import VARIABLE_WRAPPERS, FirstMove, Moves
from torchlint.analysis.values.devices import device_of
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.edit.editor import Editor, Unfixable
from torchlint.knowledge.tensors import CASTS
from torchlint.model import Edit

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CONSTANTS = (cst.BaseNumber, cst.BaseString, cst.UnaryOperation, cst.BaseUnaryOp, cst.Tuple, cst.List, cst.Element)
_REBINDING = ("nonlocal", ":=")
_KEYWORDS = frozenset({"device", "dtype", "non_blocking"})
EXPANDED = "an expanded tensor stays expanded: its elements share memory, which the move had separated"
ON_META = "with `meta` as the default device the move fails, while `device=` succeeds"
OVERTAKES = "an error of the move, where the device does not exist, comes before what precedes it now"
REORDERED = "if the constructor raises an error, the device has been computed already"
# Calls of builtins that may read or change variables without naming them.
OUT_OF_SIGHT = re.compile(r"(?<![\w.])(?:locals|vars|exec|eval|globals)\(")


class Target(NamedTuple):
    """The target of a move: the text of a device, and of a dtype if the move also converts."""

    device: str
    dtype: str | None = None
    waits: bool = True

    @property
    def words(self) -> str:
        """``device=..`` as shown in the title of a fix."""
        short = len(self.device) <= 40 and "\n" not in self.device and "`" not in self.device
        return f"device={self.device}" if short else "device=.."


class Targets:
    """Reads and removes the moves of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._editor = module.shared(Editor)

    # -- targets of moves ------------------------------------------------------------------------

    def of(self, call: cst.Call) -> Target:
        """The target of ``.to(..)``, ``.cuda(..)`` or ``.type_as(..)``. Raises :class:`Unfixable`."""
        if is_opaque(call):
            raise Unfixable
        verb = method(call)
        if verb == "cuda":
            return self._cuda(call)
        if verb == "type_as":
            return self._like(argument(call, "other", 0))
        if verb != "to" or any(a.keyword is not None and a.keyword.value not in _KEYWORDS for a in call.args):
            raise Unfixable
        return self._to(call)

    def _cuda(self, call: cst.Call) -> Target:
        where = argument(call, "device", 0)
        index = literal(where) if where is not None else None
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise Unfixable  # it may be None, which is the current device here and the CPU for `device=`
        if index is not None and any(guard.kind == "try" for guard in self._module.guards(call)):
            raise Unfixable  # without CUDA, `.cuda(0)` raises another class of error than `device="cuda:0"`
        name = "cuda" if index is None else f"cuda:{index}"
        return Target(self.quoted(name, call), None, _waits(keyword(call, "non_blocking") or positional(call, 1)))

    def _to(self, call: cst.Call) -> Target:
        where = argument(call, "device", 0)
        if where is None:
            raise Unfixable  # the keyword `other`, which is documented but rejected
        value = self._module.value(where)
        if value.kind is Kind.TENSOR:
            if len(call.args) > 1:
                raise Unfixable
            return self._like(where)
        if value.kind is Kind.DTYPE or device_of(self._module.evaluator, where) is Device.UNKNOWN:
            raise Unfixable
        if isinstance(where, cst.Name) and not self._may_be_device(where):
            raise Unfixable
        dtype = argument(call, "dtype", 1)
        waits = _waits(keyword(call, "non_blocking") or positional(call, 2))
        if dtype is not None and self._module.value(dtype).kind is not Kind.DTYPE:
            raise Unfixable
        written = self._editor.argument(dtype) if dtype is not None else None
        return Target(self._editor.argument(where), written, waits)

    def _may_be_device(self, name: cst.Name) -> bool:
        """Whether no visible assignment or argument gives the variable a dtype or a tensor."""
        parameters = [b for b in self._module.definitions(name) if b.kind == "parameter"]
        passed = [
            expression for binding in parameters for expression in self._module.parameters.known_arguments(binding)
        ]
        return all(self._module.value(one).kind not in (Kind.DTYPE, Kind.TENSOR) for one in passed)

    def _like(self, other: cst.BaseExpression | None) -> Target:
        if other is None or dotted(other) is None or self._acts(other):
            raise Unfixable  # it would be evaluated twice
        name = self._editor.source(other)
        return Target(f"{name}.device", f"{name}.dtype")

    def quoted(self, text: str, place: cst.CSTNode) -> str:
        """A string literal in the quotes that the file prefers and that an enclosing f-string allows."""
        around = [a.start for a in self._module.ancestors(place) if isinstance(a, cst.FormattedString)]
        allowed = [q for q in "\"'" if not any(q in start for start in around)]
        if not allowed:
            raise Unfixable
        quote = "'" if self._prefers_single and "'" in allowed else allowed[0]
        return f"{quote}{text}{quote}"

    @cached_property
    def _prefers_single(self) -> bool:
        strings = [node.quote for node in self._module.nodes_of(cst.SimpleString) if len(node.quote) == 1]
        return strings.count("'") > strings.count('"')

    # -- taking a move off -----------------------------------------------------------------------

    def remove_move(self, made: cst.CSTNode, move: FirstMove) -> tuple[Edit, ...]:
        """Remove the move of a created tensor; through a variable, only if nothing in between is affected."""
        self._check_wrappers(made)
        self._check_order(made, move)
        if move.in_variable:
            self._check_way(made, move)
        if move.in_variable and not move.methods and self._is_rebound(move.call):
            return (self._editor.delete(self._module.statement_of(move.call)),)
        return (self._editor.remove_call(move.call),)

    def expands(self, move: FirstMove) -> bool:
        """Whether the tensor is expanded before the move, which then copies its elements."""
        return not {"expand", "expand_as"}.isdisjoint(move.methods)

    def casts(self, made: cst.Call, move: FirstMove) -> list[cst.Call]:
        """The casts between creation and move, if all of it is one method chain."""
        found: list[cst.Call] = []
        node: cst.CSTNode = made
        for link in () if move.in_variable else move.methods:
            attribute = self._module.parent(node)
            call = self._module.parent(attribute) if isinstance(attribute, cst.Attribute) else None
            if not isinstance(call, cst.Call) or (link in CASTS and call.args):
                return []
            if link in CASTS:
                found.append(call)
            node = call
        return found

    def follows_tensor(self, move: cst.Call) -> bool:
        """Whether the move is ``x.to(y)`` or ``x.type_as(y)`` with another tensor."""
        target = argument(move, "device", 0)
        return method(move) == "type_as" or self._module.value(target).kind is Kind.TENSOR

    def reorders(self, move: cst.Call) -> bool:
        """Whether the device is computed by calls, and an error of the constructor, which then comes later, caught."""
        computed = any(isinstance(part, (cst.Call, cst.Await)) for arg in move.args for part in descendants(arg.value))
        return computed and any(guard.kind == "try" for guard in self._module.guards(move))

    def overtakes(self, made: cst.CSTNode, move: FirstMove) -> bool:
        """Whether an error of the move, for a device that there is not, would come before calls that now precede it."""
        if not move.in_variable:
            return False
        first, second = self._module.statement_of(made), self._module.statement_of(move.call)
        block = self._module.parent(self._module.parent(first))  # type: ignore[arg-type]
        if not isinstance(block, (cst.IndentedBlock, cst.Module)):
            return False
        places = [block.body.index(self._module.parent(one)) for one in (first, second)]
        between = block.body[places[0] + 1 : places[1]]
        calls = (node for line in between for node in self._module.within(line, cst.Call))
        return any(not (self._module.qualified(call.func) or "").startswith("torch.") for call in calls)

    def to_cuda(self, call: cst.Call) -> bool:
        """Whether the move certainly goes to CUDA."""
        move = self._module.shared(Moves).at(call)
        return move is not None and move.to_cuda

    def _check_wrappers(self, made: cst.CSTNode) -> None:
        """Raise :class:`Unfixable` for ``Variable(t, requires_grad=True)``, which is more than a wrapper."""
        for around in self._module.ancestors(made):
            if isinstance(around, cst.BaseSmallStatement):
                return
            wraps = isinstance(around, cst.Call) and self._module.qualified(around.func) in VARIABLE_WRAPPERS
            if wraps and len(around.args) > 1:  # type: ignore[attr-defined]
                raise Unfixable

    def _check_order(self, made: cst.CSTNode, move: FirstMove) -> None:
        """Check that nothing is evaluated between creation and move that evaluating the device may change."""
        between = [arg.value for arg in self._arguments_between(made, move.call)]
        if (
            between
            and any(self._acts(arg.value) for arg in move.call.args)
            and not all(map(self._is_constant, between))
        ):
            raise Unfixable

    def _arguments_between(self, made: cst.CSTNode, last: cst.Call) -> Iterator[cst.Arg]:
        """The arguments of the methods that are called on a new tensor before it is moved, or gets its name."""
        below = made
        for around in self._module.ancestors(made):
            if around is last or isinstance(around, cst.BaseSmallStatement):
                return
            if isinstance(around, cst.Call):
                yield from (arg for arg in around.args if arg is not below)
            below = around

    def _is_constant(self, node: cst.BaseExpression) -> bool:
        """Whether an expression consists of literals and variables that only this function can assign."""
        return all(isinstance(part, _CONSTANTS) or self._is_local(part) for part in (node, *descendants(node)))

    def _is_local(self, node: cst.CSTNode) -> bool:
        function = self._module.function_of(node)
        if not isinstance(node, cst.Name) or function is None or any(word in self._module.text for word in _REBINDING):
            return False
        bindings = self._module.definitions(node)
        return bool(bindings) and all(self._module.function_of(binding.node) is function for binding in bindings)

    def _acts(self, node: cst.BaseExpression) -> bool:
        """Whether evaluating an expression may change what other expressions evaluate to."""
        return any(self._may_change(part) for part in (node, *descendants(node)))

    def _may_change(self, part: cst.CSTNode) -> bool:
        if isinstance(part, cst.Call):
            return self._module.qualified(part.func) != "torch.device"
        if isinstance(part, cst.Attribute):
            name = part.attr.value  # it may be a property, whose getter stores something
            getters = [f for f in self._module.nodes_of(cst.FunctionDef, frozenset((name,))) if f.name.value == name]
            return any(_stores(inner) for getter in getters for inner in descendants(getter.body))
        return isinstance(part, (cst.NamedExpr, cst.Await, cst.Yield))

    def _is_rebound(self, call: cst.Call) -> bool:
        """Whether the move is ``x = x.to(device)``."""
        statement = self._module.parent(call)
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            return False
        assert isinstance(call.func, cst.Attribute)
        name = dotted(call.func.value)
        return isinstance(call.func.value, cst.Name) and dotted(statement.targets[0].target) == name

    def _check_way(self, made: cst.CSTNode, move: FirstMove) -> None:
        """Check that the device is the same where the tensor is created, and that no code between uses the tensor."""
        first, second = self._module.statement_of(made), self._module.statement_of(move.call)
        lines = self._module.parent(first), self._module.parent(second)
        if not all(isinstance(line, cst.SimpleStatementLine) for line in lines):
            raise Unfixable
        block = self._module.parent(lines[0])  # type: ignore[arg-type]
        same = block is self._module.parent(lines[1])  # type: ignore[arg-type]
        if not same or not isinstance(block, (cst.IndentedBlock, cst.Module)):
            raise Unfixable
        if OUT_OF_SIGHT.search(self._module.text):
            raise Unfixable
        if isinstance(block, cst.Module) and not self._is_rebound(move.call):
            raise Unfixable  # other files may import the name
        places = [block.body.index(line) for line in lines]
        self._check_device(move.call, first, adjacent=places[1] - places[0] == 1)

    def _check_device(self, call: cst.Call, first: cst.CSTNode, *, adjacent: bool) -> None:
        for node in (part for arg in call.args for part in descendants(arg.value)):
            changing = isinstance(node, (cst.Attribute, cst.Call, cst.Subscript, cst.NamedExpr, cst.Await))
            if changing and not adjacent:
                raise Unfixable
            if isinstance(node, cst.NamedExpr):
                raise Unfixable
            if isinstance(node, cst.Name) and not self._known_at(node, first):
                raise Unfixable

    def _known_at(self, name: cst.Name, first: cst.CSTNode) -> bool:
        """Whether a name has the same value at an earlier statement."""
        parent = self._module.parent(name)
        if isinstance(parent, cst.Attribute) and parent.attr is name:
            return True
        bindings = self._module.definitions(name)
        if not bindings:
            return True  # a name of an outer scope, or a builtin
        return all(b.kind in ("parameter", "import") or dominates(self._module, b.statement, first) for b in bindings)


def _stores(node: cst.CSTNode) -> bool:
    """Whether a node stores something that outlives the function."""
    if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)):
        return not isinstance(node.target, cst.Name)
    return isinstance(node, (cst.Global, cst.Nonlocal, cst.Del))


def _waits(non_blocking: cst.BaseExpression | None) -> bool:
    """Whether the move blocks the host; raises :class:`Unfixable` if that is only known at run time."""
    if non_blocking is None:
        return True
    asked = literal(non_blocking)
    if not isinstance(asked, bool):
        raise Unfixable
    return not asked

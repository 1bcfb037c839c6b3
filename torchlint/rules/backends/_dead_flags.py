"""Statements meant to set a flag that have no effect: wrong names, missing calls, variables set too late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, literal, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import Moves
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.devices import device_of
from torchlint.knowledge import backends as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class DeadWrite(NamedTuple):
    """A statement without effect.

    ``kind`` is ``unknown`` (no such flag), ``obsolete`` (a flag that torch no longer reads), ``comparison`` (``==`` as
    a statement), ``function`` (a value assigned to a function), ``uncalled`` (a function that is not called),
    ``context`` (a context manager that is not entered) or ``late`` (an environment variable that CUDA has already
    read). ``name`` is the qualified name, ``instead`` the name that was probably meant.
    """

    node: cst.CSTNode
    kind: str
    name: str
    instead: str = ""
    since: cst.CSTNode | None = None


class DeadFlags:
    """Finds the dead writes of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def in_assignment(self, statement: cst.Assign) -> Iterator[DeadWrite]:
        """The dead writes of an assignment."""
        for target in statement.targets:
            if isinstance(target.target, cst.Attribute):
                found = self._target(target.target, statement.value)
                if found is not None:
                    yield found
            elif isinstance(target.target, cst.Subscript):
                late = self._late_variable(target.target, statement)
                if late is not None:
                    yield late

    def _target(self, target: cst.Attribute, value: cst.BaseExpression) -> DeadWrite | None:
        name = self._module.qualified(target)
        if name is None:
            return self._replaced_method(target, value)
        if name in known.FUNCTIONS or (name.endswith(f".{known.VALIDATE}") and name.startswith("torch.distributions.")):
            return DeadWrite(target, "function", name) if _is_literal(value) else None
        owner, _, attribute = name.rpartition(".")
        if name in known.MISPLACED_FLAGS:
            instead = known.MISPLACED_FLAGS[name]
            return DeadWrite(target, "unknown" if instead else "obsolete", name, instead)
        if owner not in known.SETTABLE_FLAGS or attribute in known.SETTABLE_FLAGS[owner] or not _is_literal(value):
            return None
        return DeadWrite(target, "unknown", name, self._nearest(owner, attribute))

    def _nearest(self, owner: str, attribute: str) -> str:
        """The most similar name of a flag that exists in the target version of torch, or an empty string."""
        from difflib import get_close_matches

        flags = [flag for flag, since in known.SETTABLE_FLAGS[owner].items() if self._module.has_torch(since)]
        close = get_close_matches(attribute.lower(), flags, 1, 0.7)
        return f"{owner}.{close[0]}" if close else ""

    def _replaced_method(self, target: cst.Attribute, value: cst.BaseExpression) -> DeadWrite | None:
        """The dead write of ``model.eval = True``, which replaces the method instead of calling it."""
        verb = target.attr.value
        methods = {Kind.MODULE: known.MODULE_METHODS, Kind.OPTIMIZER: known.OPTIMIZER_METHODS}
        named = verb in known.MODULE_METHODS | known.OPTIMIZER_METHODS and _is_literal(value)
        dead = named and verb in methods.get(self._module.value(target.value).kind, ())
        return DeadWrite(target, "function", f"{dotted(target.value)}.{verb}") if dead else None

    # -- expression statements ---------------------------------------------------------------------

    def in_expression(self, statement: cst.Expr) -> DeadWrite | None:
        """The dead write of an expression statement: a comparison, an attribute or a context manager."""
        value = statement.value
        if isinstance(value, cst.Comparison):
            return self._comparison(value)
        if isinstance(value, cst.Attribute):
            return self._uncalled_function(value)
        if isinstance(value, cst.Call):
            name = self._module.qualified(value.func)
            return DeadWrite(value, "context", name) if name in known.CONTEXTS else None
        return None

    def _comparison(self, node: cst.Comparison) -> DeadWrite | None:
        name = self._module.qualified(node.left) if isinstance(node.left, cst.Attribute) else None
        equals = len(node.comparisons) == 1 and isinstance(node.comparisons[0].operator, cst.Equal)
        flag = name is not None and name.startswith("torch.backends.")
        return DeadWrite(node, "comparison", str(name)) if equals and flag else None

    def _uncalled_function(self, node: cst.Attribute) -> DeadWrite | None:
        name = self._module.qualified(node)
        if name is not None:
            if name in known.CONTEXTS:
                return DeadWrite(node, "context", name)
            return DeadWrite(node, "uncalled", name) if name in known.FUNCTIONS else None
        methods = {
            Kind.MODULE: known.MODULE_METHODS,
            Kind.OPTIMIZER: known.OPTIMIZER_METHODS,
            Kind.TENSOR: known.TENSOR_METHODS,
        }
        verb = node.attr.value
        value = self._module.value(node.value)
        last = (dotted(node.value) or "").rpartition(".")[2].lower()
        dead = verb in methods.get(value.kind, ())
        if value.kind is Kind.UNKNOWN:
            dead = any(verb in methods[kind] and last.startswith(words) for kind, words in _NAME_PREFIXES.items())
        return DeadWrite(node, "uncalled", f"{dotted(node.value)}.{verb}") if dead else None

    # -- environment variables ---------------------------------------------------------------------

    def _late_variable(self, target: cst.Subscript, statement: cst.Assign) -> DeadWrite | None:
        if self._module.qualified(target.value) != "os.environ" or len(target.slice) != 1:
            return None
        index = target.slice[0].slice
        name = literal(index.value) if isinstance(index, cst.Index) else ...
        if name not in known.CUDA_VARIABLES:
            return None
        start = self._cuda_start_before(statement)
        return DeadWrite(target, "late", str(name), since=start) if start is not None else None

    def _cuda_start_before(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """A call that has initialized CUDA before a statement runs, in the enclosing blocks of its function."""
        below: cst.CSTNode = statement
        for around in self._module.ancestors(statement):
            if isinstance(around, (cst.IndentedBlock, cst.Module)):
                for earlier in around.body:
                    if earlier is below:
                        break
                    started = self._cuda_start_in(earlier)
                    if started is not None:
                        return started
            if isinstance(around, cst.FunctionDef):
                return None
            below = around
        return None

    def _cuda_start_in(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        if not isinstance(statement, cst.SimpleStatementLine):
            return None
        for node in descendants(statement):
            if isinstance(node, cst.Lambda):
                return None
            if isinstance(node, cst.Call) and self._starts_cuda(node):
                return node
        return None

    def _starts_cuda(self, call: cst.Call) -> bool:
        name = self._module.qualified(call.func)
        if name is not None:
            device = keyword(call, "device") if name.startswith("torch.") else None
            on_cuda = device is not None and device_of(self._module.evaluator, device) is Device.CUDA
            return name in known.CUDA_INITIALIZERS or on_cuda
        if self._module.value(receiver(call)).kind not in (Kind.TENSOR, Kind.MODULE):
            return False
        move = self._module.shared(Moves).at(call)
        return move is not None and move.to_cuda


_NAME_PREFIXES = {Kind.MODULE: ("model", "net", "self_model"), Kind.OPTIMIZER: ("optim",), Kind.TENSOR: ("loss",)}


def _is_literal(value: cst.BaseExpression) -> bool:
    """Whether a value is a literal: another function would replace a function intentionally."""
    return literal(value) is not ...

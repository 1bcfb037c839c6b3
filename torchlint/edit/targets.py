"""Replaces moves by arguments: removes ``.to(device)`` and passes ``device=`` to the call that creates the tensor."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, positional, receiver
from torchlint.analysis.things.defaults import Defaults
from torchlint.analysis.things.move import VARIABLE_WRAPPERS, FirstMove
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.devices import device_of
from torchlint.catalogue.views import CASTS
from torchlint.edit.editor import Editor, Unfixable
from torchlint.edit.proof import MERGED, ON_META, TARGET, Proof
from torchlint.model import Edit

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_KEYWORDS = frozenset({"device", "dtype", "non_blocking"})


class Target(NamedTuple):
    """The target of a move: the text of a device, and of a dtype if the move also converts.

    ``caveats`` say what may change if the device is passed to the constructor.
    """

    device: str
    dtype: str | None = None
    caveats: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """``device=..`` as shown in the title of a fix."""
        short = len(self.device) <= 40 and "\n" not in self.device and "`" not in self.device
        return f"device={self.device}" if short else "device=.."


class Targets:
    """Reads and removes the moves of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._editor, self._proof = module.shared(Editor), module.shared(Proof)

    # -- targets of moves ------------------------------------------------------------------------

    def of_first(self, move: FirstMove) -> Target:
        """The target of the first move of a tensor. Raises :class:`Unfixable`."""
        target = self.of(move.call)
        return target._replace(caveats=(*target.caveats, MERGED)) if move.in_variable else target

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
        name = "cuda" if index is None else f"cuda:{index}"
        _check_waits(keyword(call, "non_blocking") or positional(call, 1))
        return Target(self.quoted(name, call), None, self._around(call))

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
        dtype = argument(call, "dtype", 1)
        if dtype is not None and self._module.value(dtype).kind is not Kind.DTYPE:
            raise Unfixable
        _check_waits(keyword(call, "non_blocking") or positional(call, 2))
        proved = self._proof.is_device(where) and (dtype is None or self._proof.dtype(dtype) is not None)
        caveats = self._around(call) if proved else (*self._around(call), TARGET)
        written = self._editor.argument(dtype) if dtype is not None else None
        return Target(self._editor.argument(where), written, caveats)

    def _like(self, other: cst.BaseExpression | None) -> Target:
        if other is None or dotted(other) is None:
            raise Unfixable  # it would be evaluated twice
        name = self._editor.source(other)
        return Target(f"{name}.device", f"{name}.dtype", (TARGET,))

    def _around(self, call: cst.Call) -> tuple[str, ...]:
        on_meta = self._module.shared(Defaults).may_use_meta_device
        return (*self._proof.around(call), *([ON_META] if on_meta else []))

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

    def remove_move(self, made: cst.CSTNode, move: FirstMove) -> Edit:
        """Remove the move of a created tensor, or the line ``x = x.to(device)`` right after the one that creates it."""
        for around in self._module.ancestors(made):
            wraps = isinstance(around, cst.Call) and self._module.qualified(around.func) in VARIABLE_WRAPPERS
            if wraps and len(around.args) > 1:  # type: ignore[attr-defined]
                raise Unfixable  # `Variable(t, requires_grad=True)` is more than a wrapper
        if not move.in_variable:
            return self._editor.remove_call(move.call)
        if move.methods or not self._is_rebound_at_once(made, move.call):
            raise Unfixable
        return self._editor.delete(self._module.statement_of(move.call))

    def _is_rebound_at_once(self, made: cst.CSTNode, call: cst.Call) -> bool:
        """Whether the move, the only use of ``x``, is ``x = x.to(device)`` in the line after its creation."""
        first, second = self._module.statement_of(made), self._module.statement_of(call)
        if not isinstance(second, cst.Assign) or len(second.targets) != 1 or second.value is not call:
            return False
        line, after = self._module.parent(first), self._module.parent(second)
        block = self._module.parent(line) if line is not None else None
        lines = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
        adjacent = any(one is line and other is after for one, other in pairwise(lines))
        name = second.targets[0].target
        return adjacent and isinstance(name, cst.Name) and dotted(receiver(call)) == name.value

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


def _check_waits(non_blocking: cst.BaseExpression | None) -> None:
    """Raise :class:`Unfixable` if only a run shows whether the move blocks the host."""
    if non_blocking is not None and not isinstance(literal(non_blocking), bool):
        raise Unfixable

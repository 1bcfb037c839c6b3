"""Fixes of TL701: requests for CUDA become a device with a fallback, in all of a function or not at all.

A file keeps to one idiom. Moves of tensors and modules use a variable, or the device of a related tensor. Only the
definition of such a variable, or a default, is written as ``"cuda" if torch.cuda.is_available() else "cpu"``.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, literal, method, positional, receiver
from torchlint.analysis.things.cuda_needs import CudaNeeds, calls_of, outermost_function
from torchlint.analysis.things.cuda_request import CudaRequest, CudaRequests
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.knowledge import portability as known
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.portability._cuda_devices import FORWARD_KINDS, CudaDevices, DeviceText
from torchlint.rules.portability._hardcoded import Hardcoded
from torchlint.rules.portability._torch_moves import TorchMoves

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CPU = "without CUDA the code runs on the CPU instead of raising an error"
_LOADED = "the loaded tensors are on the CPU, wherever else they are used"
_INDEX = "the device may have a different index"
_SCRIPT = "TorchScript cannot use a device that is a global variable"
_EARLY = "the check for CUDA may run before the visible GPUs are set, or before a fork"
_DEFINITIONS = (cst.Assign, cst.AnnAssign, cst.Param, cst.Return)


@or_none
def portable(module: SourceModule, use: CudaRequest, *, safe: bool) -> Fix | None:
    """Use a device that falls back to the CPU. ``safe``: the project wants to run without CUDA."""
    return module.shared(_Repairs).of(use, safe=safe)


class _Repair(NamedTuple):
    """The edits for one request. ``defines`` is true if they define a variable."""

    title: str
    edits: tuple[Edit, ...]
    caveats: tuple[str, ...] = ()
    defines: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether nothing changes on a machine with CUDA."""
        return not self.caveats and not self.defines

    def fix(self, *, safe: bool) -> Fix:
        safety = Safety.SAFE if safe else Safety.UNSAFE
        return Fix(self.title, safety, self.edits, None if safe else "; ".join((_CPU, *self.caveats)))


class _Repairs:
    """The repairs of one file, function by function."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._hardcoded = module.shared(Hardcoded)
        self._devices = module.shared(CudaDevices)
        self._editor = module.shared(Editor)
        self._speller = module.shared(Speller)
        self._moves = module.shared(TorchMoves)
        self._by_function: dict[cst.FunctionDef | None, dict[cst.CSTNode, _Repair]] = {}

    def of(self, use: CudaRequest, *, safe: bool) -> Fix:
        """The fix of one request, if its whole function can be fixed. Raises :class:`Unfixable`."""
        if use.overridable:
            chosen = self._with_choice(use)
            return self._as_variable(use, chosen, safe=safe).fix(safe=safe and chosen.is_exact)
        function = outermost_function(self._module, use.node)
        repairs = self._repairs(function)
        if use.node not in repairs:
            raise Unfixable
        safe = safe and all(repair.is_exact for repair in repairs.values())
        return self._as_variable(use, repairs[use.node], safe=safe).fix(safe=safe)

    # -- functions ---------------------------------------------------------------------------------

    @cached_property
    def _uses(self) -> dict[cst.FunctionDef | None, list[CudaRequest]]:
        """The requests of each outermost function, and of the code outside of functions."""
        found: dict[cst.FunctionDef | None, list[CudaRequest]] = {}
        for use in self._hardcoded.requests.values():
            if not use.overridable:
                found.setdefault(outermost_function(self._module, use.node), []).append(use)
        return found

    def _repairs(self, function: cst.FunctionDef | None) -> dict[cst.CSTNode, _Repair]:
        """The repairs of all requests of a function; none if one of them cannot be fixed."""
        if function not in self._by_function:
            self._by_function[function] = {}
            uses = self._uses.get(function, [])
            if uses and not self._is_left_with_cuda(function, uses):
                with suppress(Unfixable):
                    self._by_function[function] = self._repair_all(uses)
        return self._by_function[function]

    def _repair_all(self, uses: list[CudaRequest]) -> dict[cst.CSTNode, _Repair]:
        placing = [use for use in uses if not self._is_definition(use)]
        of_related = self._devices.of_related_tensor
        related = {use.node: found for use in placing if (found := of_related(use.node)) is not None}
        if any(self._forward_kind(use) not in FORWARD_KINDS and use.node not in related for use in placing):
            related = {}  # a variable is needed anyway
        made = {use.node: self._replace_device(use, related.get(use.node)) for use in placing}
        return {**made, **{use.node: self._with_choice(use) for use in uses if use.node not in made}}

    def _is_left_with_cuda(self, function: cst.FunctionDef | None, uses: list[CudaRequest]) -> bool:
        """Whether a function needs CUDA, moves something there or compares with it, after all requests are fixed."""
        if self._module.shared(CudaNeeds).needed_around(uses[0].node):
            return True
        repaired = {use.node for use in uses}
        return any(self._names_cuda(call) for call in calls_of(self._module, function) if call not in repaired)

    def _names_cuda(self, call: cst.Call) -> bool:
        name = self._module.qualified(call.func)
        if name == "torch.device":
            compared = isinstance(self._module.parent(call), (cst.Comparison, cst.ComparisonTarget))
            return compared and str(literal(positional(call, 0))).startswith("cuda")
        is_move = name is None and method(call) == "cuda"
        return is_move and not self._module.shared(CudaRequests).is_not_torch(receiver(call))

    def _forward_kind(self, use: CudaRequest) -> str | None:
        return self._hardcoded.in_forward(use.node)

    # -- moves and device arguments ----------------------------------------------------------------

    def _replace_device(self, use: CudaRequest, related: DeviceText | None) -> _Repair:
        node = use.node
        written = self._replacement(use, related)
        caveats = (*self._caveats(use), *written.caveats)
        if use.kind == "method":
            assert isinstance(node, cst.Call)
            title, edits = self._replace_cuda_call(node, written)
        else:
            named = self._replaced_node(use, written)
            title, edits = f"use `{written.text}`", (self._editor.replace(named, written.text),)
        return _Repair(title, (*written.definition, *edits), caveats, bool(written.definition))

    def _replaced_node(self, use: CudaRequest, written: DeviceText) -> cst.BaseExpression:
        """The node to replace: the string, or all of ``torch.device("cuda")`` by another device object."""
        node = use.node
        if use.kind != "device" or not isinstance(node, (cst.SimpleString, cst.Call)):
            raise Unfixable  # the device of a tensor type cannot be replaced
        is_object = self._devices.is_object(node)
        if isinstance(node, cst.SimpleString) or (is_object and written.is_object):
            return node
        named = argument(node, "device", 0) or argument(node, "type", 0)
        if not isinstance(named, cst.SimpleString) or (is_object and len(node.args) > 1):
            raise Unfixable
        return named

    def _caveats(self, use: CudaRequest) -> tuple[str, ...]:
        found = [_INDEX] if use.indexed else []
        if use.kind == "method":
            assert isinstance(use.node, cst.Call)
            found += self._moves.caveats(use.node)
        if self._moves.are_scripted:
            found.append(_SCRIPT)
        return tuple(found)

    def _replacement(self, use: CudaRequest, related: DeviceText | None) -> DeviceText:
        place = self._forward_kind(use)
        if place in FORWARD_KINDS:
            return self._devices.of_input(use.node, str(place))
        known = self._variable_in_scope(use)
        if related is not None and (known is None or not known.is_local):
            return related
        return known or self._devices.of_attribute(use.node) or self._devices.define(use.node)

    def _variable_in_scope(self, use: CudaRequest) -> DeviceText | None:
        """A variable in scope that falls back, or will do so once its own function is fixed, or None."""
        found = self._devices.in_scope(use.node)
        if found is not None:
            return found
        converted = self._devices.converted_in_scope(use.node)
        if converted is None:
            return None
        written, other = converted
        elsewhere = outermost_function(self._module, other.node)
        here = outermost_function(self._module, use.node)
        if elsewhere is not here and other.node not in self._repairs(elsewhere):
            return None
        return written

    def _replace_cuda_call(self, call: cst.Call, written: DeviceText) -> tuple[str, tuple[Edit, ...]]:
        placed = [arg for arg in call.args if arg.keyword is None]
        if is_opaque(call) or len(placed) > 1 or not isinstance(call.func, cst.Attribute):
            raise Unfixable
        module = self._module.value(receiver(call)).kind is Kind.MODULE
        if module and any(arg.keyword is not None and arg.keyword.value != "device" for arg in call.args):
            raise Unfixable  # `cuda` of a module rejects this argument, `to` accepts it
        if f"{dotted(receiver(call))}.device" == written.text:
            raise Unfixable  # the tensor would be moved to its own device
        where = argument(call, "device", 0)
        new = written.text
        given = (self._editor.replace(where, new),) if where else self._editor.add_first_argument(call, new)
        return f"use `.to({new})`", (self._editor.replace_inside(call.func.attr, "to"), *given)

    # -- definitions and defaults ------------------------------------------------------------------

    def _is_definition(self, use: CudaRequest) -> bool:
        """Whether a request defines a variable or a result: ``DEVICE = "cuda"``, ``return torch.device("cuda")``."""
        named = isinstance(use.node, cst.SimpleString) or self._devices.is_object(use.node)
        return named and isinstance(self._module.parent(use.node), _DEFINITIONS)

    def _with_choice(self, use: CudaRequest) -> _Repair:
        """Replace ``"cuda"`` by ``"cuda" if torch.cuda.is_available() else "cpu"``."""
        node = use.node
        if use.kind == "autocast":
            raise Unfixable
        named = (argument(node, "device", 0) or argument(node, "type", 0)) if isinstance(node, cst.Call) else node
        if not isinstance(named, cst.SimpleString) or named.prefix or len(named.quote) != 1:
            raise Unfixable
        if not isinstance(self._module.parent(named), (cst.Arg, *_DEFINITIONS)):
            raise Unfixable
        available = self._speller.spell("torch.cuda.is_available", named)
        text = f"{named.value} if {available.text}() else {named.quote}cpu{named.quote}"
        early = (_EARLY,) if any(word in self._module.text for word in known.EARLY_CHECK_WORDS) else ()
        return _Repair("fall back to the CPU", (self._editor.replace_inside(named, text),), early)

    def _as_variable(self, use: CudaRequest, repair: _Repair, *, safe: bool) -> _Repair:
        """Replace ``where = torch.device("cuda")`` by a variable, if the file has or gets one."""
        if use.indexed or not self._devices.is_object(use.node) or not self._is_definition(use):
            return repair
        text, edits = self._devices.object_in_scope(use.node), tuple[Edit, ...]()
        if text is None:
            if safe or not self._file_defines:
                return repair
            written = self._devices.define(use.node)
            text, edits = written.text, written.definition
        return _Repair(f"use `{text}`", (*edits, self._editor.replace(use.node, text)), repair.caveats)

    @cached_property
    def _file_defines(self) -> bool:
        """Whether the fix of some function defines a variable."""
        return any(repair.defines for function in self._uses for repair in self._repairs(function).values())


@or_none
def to_host(module: SourceModule, load: cst.Call) -> Fix:
    """Load a checkpoint to the CPU."""
    edits = module.shared(Editor).add_argument(load, 'map_location="cpu"')
    return Fix('pass `map_location="cpu"`', Safety.UNSAFE, edits, _LOADED)

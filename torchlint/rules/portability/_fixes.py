"""TL701: CUDA by name becomes a device that falls back, in all of a function or not at all.

A file keeps to one idiom. What places tensors and modules names a variable, or the device of a tensor at hand;
only where such a variable is defined, or a default is given, stands the choice itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, literal, method, positional
from torchlint.analysis.syntax.calls import receiver as receiver_of
from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.analysis.things.cuda_request import CudaRequest, CudaRequests
from torchlint.analysis.values.lattice import Kind
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.knowledge.portability import CUDA_ONLY_FUNCTIONS
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.portability._cuda_devices import FORWARD, CudaDevices, Written
from torchlint.rules.portability._hardcoded import Hardcoded

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CPU = "without CUDA the code runs on the CPU instead of raising an error"
_INDEX = "the device may have a different index"
_OBJECT = "an object that is neither a tensor nor a module may have no `to` method"
_HOLDERS = (cst.Assign, cst.AnnAssign, cst.Param, cst.Return)


@or_none
def portable(module: SourceModule, use: CudaRequest, *, safe: bool) -> Fix | None:
    """Use a device that falls back to the CPU. ``safe``: the project wants to run without CUDA."""
    return module.shared(_Repairs).of(use, safe=safe)


class _Repair(NamedTuple):
    """What becomes of one place. ``defines``: a variable is defined for it."""

    title: str
    edits: tuple[Edit, ...]
    caveats: tuple[str, ...] = ()
    defines: bool = False

    @property
    def is_exact(self) -> bool:
        """Nothing changes on a machine with CUDA."""
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
        self._units: dict[cst.FunctionDef | None, dict[cst.CSTNode, _Repair]] = {}

    def of(self, use: CudaRequest, *, safe: bool) -> Fix:
        """The fix of one place, if the function around it can be repaired as a whole. Raises :class:`Unfixable`."""
        if use.overridable:
            return self._as_variable(use, self._choice(use), safe=safe).fix(safe=safe)
        function = self._function(use.node)
        repairs = self._repairs(function)
        if use.node not in repairs:
            raise Unfixable
        safe = safe and all(repair.is_exact for repair in repairs.values())
        return self._as_variable(use, repairs[use.node], safe=safe).fix(safe=safe)

    # -- functions -------------------------------------------------------------------------------

    @cached_property
    def _uses(self) -> dict[cst.FunctionDef | None, list[CudaRequest]]:
        """The places of each function of the module or of a class, and of what stands outside of functions."""
        found: dict[cst.FunctionDef | None, list[CudaRequest]] = {}
        for use in self._hardcoded.requests.values():
            if not use.overridable:
                found.setdefault(self._function(use.node), []).append(use)
        return found

    def _function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The outermost function in whose body a node stands."""
        below, found = node, None
        for around in self._module.ancestors(node):
            if isinstance(around, cst.FunctionDef) and around.body is below:
                found = around
            below = around
        return found

    def _repairs(self, function: cst.FunctionDef | None) -> dict[cst.CSTNode, _Repair]:
        """The repair of every place of a function; none where one of them cannot be repaired."""
        if function not in self._units:
            self._units[function] = {}
            uses = self._uses.get(function, [])
            if not self._needs_cuda_anyway(function, {use.node for use in uses}):
                with suppress(Unfixable):
                    self._units[function] = self._whole(uses)
        return self._units[function]

    def _whole(self, uses: list[CudaRequest]) -> dict[cst.CSTNode, _Repair]:
        placing = [use for use in uses if not self._is_definition(use)]
        at_hand = {use.node: found for use in placing if (found := self._devices.at_hand(use.node)) is not None}
        if any(self._place(use) not in FORWARD and use.node not in at_hand for use in placing):
            at_hand = {}  # a variable is needed in any case
        made = {use.node: self._placed(use, at_hand.get(use.node)) for use in placing}
        return {**made, **{use.node: self._choice(use) for use in uses if use.node not in made}}

    def _needs_cuda_anyway(self, function: cst.FunctionDef | None, repaired: set[cst.CSTNode]) -> bool:
        """Other calls of the function still ask for CUDA when all that TL701 reports is repaired."""
        return any(self._asks_for_cuda(call) for call in self._calls(function) if call not in repaired)

    def _calls(self, function: cst.FunctionDef | None) -> Iterator[cst.Call]:
        if function is not None:
            return self._module.within(function.body, cst.Call)
        return (call for call in self._module.nodes_outside_functions(cst.Call) if self._function(call) is None)

    def _asks_for_cuda(self, call: cst.Call) -> bool:
        name = self._module.qualified(call.func)
        if name == "torch.device":
            compared = isinstance(self._module.parent(call), (cst.Comparison, cst.ComparisonTarget))
            return compared and str(literal(positional(call, 0))).startswith("cuda")
        if name is not None:
            return name in CUDA_ONLY_FUNCTIONS and not self._module.shared(CudaGuards).is_guarded(call)
        return method(call) == "cuda" and not self._module.shared(CudaRequests).is_not_torch(receiver_of(call))

    def _place(self, use: CudaRequest) -> str | None:
        return self._hardcoded.in_forward(use.node)

    # -- what places -----------------------------------------------------------------------------

    def _placed(self, use: CudaRequest, at_hand: Written | None) -> _Repair:
        node = use.node
        written = self._written(use, at_hand)
        caveats = (*self._caveats(use), *written.caveats)
        if use.kind == "method":
            assert isinstance(node, cst.Call)
            title, edits = self._method(node, written)
        else:
            named = self._named(use, written)
            title, edits = f"use `{written.text}`", (self._editor.replace(named, written.text),)
        return _Repair(title, (*written.definition, *edits), caveats, bool(written.definition))

    def _named(self, use: CudaRequest, written: Written) -> cst.BaseExpression:
        """What is replaced: the string, or all of ``torch.device("cuda")`` by another device object."""
        node = use.node
        if use.kind != "device" or not isinstance(node, (cst.SimpleString, cst.Call)):
            raise Unfixable  # a type, or a default type, has no device to choose
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
            if self._module.value(receiver_of(use.node)).kind not in (Kind.TENSOR, Kind.MODULE):
                found.insert(0, _OBJECT)
        return tuple(found)

    def _written(self, use: CudaRequest, at_hand: Written | None) -> Written:
        place = self._place(use)
        if place in FORWARD:
            return self._devices.of_input(use.node, str(place))
        known = self._known(use)
        if at_hand is not None and (known is None or not known.is_local):
            return at_hand
        return known or self._devices.defined(use.node)

    def _known(self, use: CudaRequest) -> Written | None:
        """A variable in scope that falls back, or will when the function around it is repaired."""
        found = self._devices.in_scope(use.node)
        if found is not None:
            return found
        converted = self._devices.converted_in_scope(use.node)
        if converted is None:
            return None
        written, other = converted
        elsewhere = self._function(other.node)
        if elsewhere is not self._function(use.node) and other.node not in self._repairs(elsewhere):
            return None
        return written

    def _method(self, call: cst.Call, written: Written) -> tuple[str, tuple[Edit, ...]]:
        placed = [arg for arg in call.args if arg.keyword is None]
        if is_opaque(call) or len(placed) > 1 or not isinstance(call.func, cst.Attribute):
            raise Unfixable
        module = self._module.value(receiver_of(call)).kind is Kind.MODULE
        if module and any(arg.keyword is not None and arg.keyword.value != "device" for arg in call.args):
            raise Unfixable  # `cuda` of a module raises an error, where `to` takes it
        if f"{dotted(receiver_of(call))}.device" == written.text:
            raise Unfixable  # it would be moved to where it is
        where = argument(call, "device", 0)
        new = written.text
        given = (self._editor.replace(where, new),) if where else self._editor.add_first_argument(call, new)
        return f"use `.to({new})`", (self._editor.replace_inside(call.func.attr, "to"), *given)

    # -- what is a choice itself -----------------------------------------------------------------

    def _is_definition(self, use: CudaRequest) -> bool:
        """``DEVICE = "cuda"``, ``self.device = torch.device("cuda")``, ``return torch.device("cuda")``."""
        named = isinstance(use.node, cst.SimpleString) or self._devices.is_object(use.node)
        return named and isinstance(self._module.parent(use.node), _HOLDERS)

    def _choice(self, use: CudaRequest) -> _Repair:
        """``"cuda"`` becomes ``"cuda" if torch.cuda.is_available() else "cpu"``."""
        node = use.node
        if use.kind == "autocast":
            raise Unfixable
        named = (argument(node, "device", 0) or argument(node, "type", 0)) if isinstance(node, cst.Call) else node
        if not isinstance(named, cst.SimpleString) or named.prefix or len(named.quote) != 1:
            raise Unfixable
        if not isinstance(self._module.parent(named), (cst.Arg, *_HOLDERS)):
            raise Unfixable
        available = self._speller.spell("torch.cuda.is_available", named)
        text = f"{named.value} if {available.text}() else {named.quote}cpu{named.quote}"
        return _Repair("fall back to the CPU", (self._editor.replace_inside(named, text),))

    def _as_variable(self, use: CudaRequest, repair: _Repair, *, safe: bool) -> _Repair:
        """``where = torch.device("cuda")`` in a file that has such a device, or gets one."""
        if use.indexed or not self._devices.is_object(use.node) or not self._is_definition(use):
            return repair
        text, edits = self._devices.object_in_scope(use.node), tuple[Edit, ...]()
        if text is None:
            if safe or not self._file_defines:
                return repair
            written = self._devices.defined(use.node)
            text, edits = written.text, written.definition
        return _Repair(f"use `{text}`", (*edits, self._editor.replace(use.node, text)))

    @cached_property
    def _file_defines(self) -> bool:
        """Some function of the file needs a variable that is not there yet."""
        return any(repair.defines for function in self._uses for repair in self._repairs(function).values())

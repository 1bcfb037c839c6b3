"""TL203: tensors that a step copies into pinned memory only to move them to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, literal, method, receiver
from torchlint.analysis.things.batch import Batches
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge.loaders import OTHER_DEVICES
from torchlint.knowledge.transfers import PINNING_CONSTRUCTORS
from torchlint.model import Heat
from torchlint.rules.transfers._blocking import Uploads
from torchlint.rules.transfers._host_memory import HostMemory

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.move import Move

# A file with one of these words may pin in a thread, or overlap copies with work on another stream.
_OVERLAPPING = ("Stream", ".stream(", "record_stream", "Thread", "threading", "executor", "concurrent.futures")
_ITERATED = frozenset({"pin_memory", "collate_fn", "collate", "__getitem__"})
Reason: TypeAlias = Literal["blocking", "constructor", "loader", "anyhow"]


class Pin(NamedTuple):
    """A call of ``pin_memory`` whose result is only moved to the device.

    ``reason`` says what to do instead: the move is ``blocking``, the ``constructor`` of the tensor can pin, the
    ``loader`` can; or the copy is made ``anyhow``, and only a run shows whether it pays.
    """

    call: cst.Call
    source: cst.BaseExpression
    reason: Reason
    in_variable: bool


class Pins:
    """The tensors of one module that are pinned by hand before a move."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._batches = module.shared(Batches)
        self._memory = module.shared(HostMemory)
        self._reported: set[cst.CSTNode] = set()
        self._overlaps = any(word in module.text for word in (*_OVERLAPPING, *OTHER_DEVICES))

    def first_before(self, move: Move) -> Pin | None:
        """The same as :meth:`before`, but for the first such move of a statement only; moves come in source order."""
        pin = self.before(move)
        statement = self._module.statement_of(move.call)
        if pin is None or statement in self._reported:
            return None
        self._reported.add(statement)
        return pin

    def before(self, move: Move) -> Pin | None:
        """The call of ``pin_memory`` that makes what is moved, if nothing else uses its result."""
        call = self._pinning(move.moved)
        source = receiver(call) if call is not None else None
        if call is None or source is None or self._overlaps or not move.to_accelerator or self._is_hook(call):
            return None
        reason = self._reason(source, move)
        return Pin(call, source, reason, call is not move.moved) if reason else None

    def _pinning(self, moved: cst.BaseExpression) -> cst.Call | None:
        """The call ``x.pin_memory()`` that an expression stands for."""
        if isinstance(moved, cst.Name):
            bindings = self._module.definitions(moved)
            single = len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path
            if not single or len(self._module.uses(bindings[0])) != 1 or bindings[0].value is None:
                return None
            moved = bindings[0].value
        pins = isinstance(moved, cst.Call) and method(moved) == "pin_memory"
        return moved if pins and isinstance(moved, cst.Call) and self._runs_in_step(moved) else None

    def _runs_in_step(self, call: cst.Call) -> bool:
        return self._module.heat(call).rank >= Heat.STEP.rank

    def _is_hook(self, call: cst.Call) -> bool:
        """Whether a loader calls the function around it, in its own thread or process."""
        function = self._module.function_of(call)
        return function is not None and function.name.value in _ITERATED

    def _reason(
        self, source: cst.BaseExpression, move: Move
    ) -> Literal["blocking", "constructor", "loader", "anyhow"] | None:
        pageable, batch = self._memory.pageable(source), self._batches.of(source)
        if batch is not None and self._module.shared(Uploads).is_pinned(batch):
            return None  # it is pinned already, and `pin_memory` returns it as it is
        if pageable is None and batch is None and self._module.value(source).kind is not Kind.TENSOR:
            return None
        if move.blocking:
            return "blocking"
        if not move.asynchronous:
            return None
        if self._constructor(source) is not None:
            return "constructor"
        return "loader" if batch is not None and not batch.copied else "anyhow"

    def _constructor(self, source: cst.BaseExpression) -> cst.Call | None:
        """The call of a constructor that could have pinned, if it is the source."""
        if not isinstance(source, cst.Call) or is_opaque(source) or keyword(source, "device") is not None:
            return None
        given = literal(keyword(source, "pin_memory"))
        unpinned = keyword(source, "pin_memory") is None or given is False
        return source if unpinned and self._module.qualified(source.func) in PINNING_CONSTRUCTORS else None

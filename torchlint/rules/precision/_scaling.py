"""Finds gradient scalers that scale losses computed in bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import Arguments, bind, literal, method, receiver
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.knowledge.precision import AUTOCASTS, GRAD_SCALERS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_SCALING = frozenset(("scale",))
_UPDATING = frozenset(("step", "unscale_"))
# With one of these, parts of the program may compute in float16.
_HALF = ("float16", "half")


class Scaling(NamedTuple):
    """What a scaler does in bfloat16: the calls of ``scale``, of ``step`` and ``unscale_``, and the contexts around."""

    scales: tuple[cst.Call, ...]
    updates: tuple[cst.Call, ...]
    contexts: tuple[cst.Call, ...]


class Scalers:
    """The gradient scalers of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def in_bfloat16(self, scaler: cst.Call) -> Scaling | None:
        """What a scaler does, if it is enabled and everything it scales is certainly computed in bfloat16."""
        if any(self._module.attributes_named(name) for name in _HALF):
            return None
        scales = self._calls_on(scaler, _SCALING)
        contexts = tuple(dict.fromkeys(context for call in scales for context in self._contexts(call)))
        if not contexts or not all(map(self._is_bfloat16, scales)):
            return None
        if not self._is_enabled(scaler, contexts):
            return None
        return Scaling(scales, self._calls_on(scaler, _UPDATING), contexts)

    def _calls_on(self, scaler: cst.Call, names: frozenset[str]) -> tuple[cst.Call, ...]:
        """The calls of these methods on a scaler."""
        calls = [call for call in self._module.nodes_of(cst.Call, names) if method(call) in names]
        return tuple(call for call in calls if self._is(receiver(call), scaler))

    def _is(self, node: cst.CSTNode | None, scaler: cst.Call) -> bool:
        value = self._module.value(node)
        return value.kind is Kind.SCALER and value.node is scaler

    def _is_bfloat16(self, call: cst.Call) -> bool:
        """Whether a context comes before a call of ``scale`` in its function, and all contexts there use bfloat16."""
        contexts = self._contexts(call)
        dtypes = [bind(c, self._parameters(c)).get("dtype") for c in contexts]
        known = bool(contexts) and all(
            d is not None and dtype_of(self._module.evaluator, d) == "bfloat16" for d in dtypes
        )
        return known and any(self._module.comes_before(context, call) for context in contexts)

    def _contexts(self, call: cst.Call) -> list[cst.Call]:
        """The contexts of mixed precision in the function of a call, which for a loop at module level is the file."""
        around = self._module.function_of(call) or self._module.tree
        found = [node for node in self._module.within(around, cst.Call) if self._parameters(node)]
        return [c for c in found if literal(bind(c, self._parameters(c)).get("enabled")) is not False]

    def _parameters(self, call: cst.Call) -> tuple[str, ...]:
        return AUTOCASTS.get(self._module.qualified(call.func) or "", ())

    def _is_enabled(self, scaler: cst.Call, contexts: tuple[cst.Call, ...]) -> bool:
        """Whether a scaler is enabled: always, wherever there is a GPU, or whenever the contexts are."""
        given = self._arguments(scaler)
        enabled = given.get("enabled")
        if given.opaque or enabled is None:
            return not given.opaque
        if literal(enabled) is True or self._module.value(enabled).literal == "True":
            return True
        if isinstance(enabled, cst.Call):
            return self._module.qualified(enabled.func) == "torch.cuda.is_available"
        name = dotted(enabled)
        switches = [bind(context, self._parameters(context)).get("enabled") for context in contexts]
        return name is not None and all(switch is not None and dotted(switch) == name for switch in switches)

    def _arguments(self, scaler: cst.Call) -> Arguments:
        return bind(scaler, GRAD_SCALERS[self._module.qualified(scaler.func) or ""])

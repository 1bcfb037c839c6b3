"""Calls of models and losses: on which device their results are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.analysis.values.semantics.devices import first_operand, of_operands
from torchlint.knowledge.layers import PASSING_MODULES
from torchlint.knowledge.synchronization import CALLABLE_WORDS, HOST_RESULT_WORDS, LOSS_WORDS, MODULE_ENDINGS

if TYPE_CHECKING:
    from torchlint.analysis.code import Code
    from torchlint.analysis.values.protocol import Values


def applied(values: Values, target: Value, node: cst.Call, called: cst.BaseExpression | None = None) -> Value | None:
    """The result of ``model(x)``; a tensor if the model is a single torch module.

    ``called`` is the model if it is not what the call names, as in ``model.forward(x)``.
    """
    given = of_operands(values, node)
    called = called or node.func
    if target.kind is not Kind.MODULE:
        if target.accelerated:
            return Value(Kind.UNKNOWN, target.device, origin=node)  # the callee has been moved to an accelerator
        device = _of_model(values, target, called, node, given) if target.kind is Kind.UNKNOWN else Device.UNKNOWN
        return Value(Kind.UNKNOWN, device, origin=node) if device is not Device.UNKNOWN else None
    device = given
    if given is Device.UNKNOWN:
        placed = values.device_evidence.moved_to(called)  # it may have been moved in place
        device = placed if placed.accelerated or not target.device.accelerated else target.device
    single = target.source is not None and target.source.startswith("torch.nn.")
    sure = single and target.source not in PASSING_MODULES
    return Value(Kind.TENSOR if single else Kind.UNKNOWN, device, sure=sure, origin=node)


def _of_model(values: Values, target: Value, called: cst.BaseExpression, node: cst.Call, given: Device) -> Device:
    """The device of the result of calling something that may be a model, from moves, names and operands."""
    named = _is_model_name(called) or values.device_evidence.is_moved_module(called)
    placed = values.device_evidence.moved_to(called) if named else Device.UNKNOWN
    if placed.accelerated:
        return placed
    if given.accelerated and (named or _is_method_of_model(called)):
        return given
    if Device.CPU in (target.device, placed):
        return Device.CPU
    # A model may move its operands itself; a batch of a loader may have been moved elsewhere.
    compared = given is Device.CPU and is_loss_name(called) and not first_operand(values, node).batch
    return Device.CPU if compared else Device.UNKNOWN


def is_module(node: cst.BaseExpression, value: Value) -> bool:
    """Whether an expression is a module, judged by its value, or else by its name: ``self.model``, ``teacher_net``."""
    name = (dotted(node) or "").rpartition(".")[2].lower()
    return value.kind is Kind.MODULE or (value.kind is Kind.UNKNOWN and name.endswith(MODULE_ENDINGS))


def is_member(node: cst.CSTNode) -> bool:
    """Whether an expression is a member of an enumeration, or another constant of a class: ``Status.DONE``."""
    if not isinstance(node, cst.Attribute) or not node.attr.value.isupper():
        return False
    owner = (dotted(node.value) or "").rpartition(".")[2]
    return owner[:1].isupper() and not owner.isupper()


def is_enumerated(code: Code, node: cst.BaseExpression) -> bool:
    """Whether an object is compared with members of an enumeration somewhere, so that it is one of them."""
    same: list[cst.CSTNode] = []
    if isinstance(node, cst.Name):
        same = [use for binding in code.definitions(node) for use in code.uses(binding)]
    elif isinstance(node, cst.Attribute):
        same = [other for other in code.attributes_named(node.attr.value) if dotted(other) == dotted(node)]
    compared = (code.parent(each) for each in same)
    return any(
        isinstance(each, cst.Comparison) and any(is_member(target.comparator) for target in each.comparisons)
        for each in compared
    )


def is_loss_name(node: cst.BaseExpression) -> bool:
    """Whether a callee is named like a loss, such as ``criterion``: it computes on the device of its operands."""
    name = (dotted(node) or "").rpartition(".")[2].lower().strip("_")
    return not LOSS_WORDS.isdisjoint(name.split("_")) or name.endswith(("loss", "criterion"))


def _is_method_of_model(node: cst.BaseExpression) -> bool:
    """``model.encode``, unless the name of the method tells of a result for the host, as in ``model.predict``."""
    if not isinstance(node, cst.Attribute) or not _is_model_name(node.value):
        return False
    return HOST_RESULT_WORDS.isdisjoint(node.attr.value.lower().split("_"))


def _is_model_name(node: cst.BaseExpression) -> bool:
    """Whether a callee is named like a model or metric, such as ``model``, ``self.netG`` or ``accuracy``."""
    name = (dotted(node) or "").rpartition(".")[2].lower().strip("_")
    words = name.split("_")
    return (
        not CALLABLE_WORDS.isdisjoint(words)
        or name.startswith(("net", "model", "bce", "mse", "criterion"))
        or name.endswith(("model", "net", "loss", "criterion"))
    )

"""Distributions of torch that check their arguments, and the calls of their methods that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import argument, method
from torchlint.analysis.things.compiled import Compiled
from torchlint.analysis.things.defaults import Defaults
from torchlint.knowledge.synchronization import CHECKING_METHODS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_OPTION = "validate_args"


def checks_on_device(module: SourceModule, node: cst.Call) -> bool:
    """Whether a distribution with a parameter on an accelerator is constructed with its checks, and not compiled."""
    if any(arg.star or (arg.keyword is not None and arg.keyword.value == _OPTION) for arg in node.args):
        return False
    if module.shared(Defaults).validation_is_set or module.shared(Compiled).by_dynamo:
        return False  # the first compilation turns the checks off for the whole process
    return any(module.value(arg.value).accelerated for arg in node.args) and _runs_as_written(module, node)


def checks_deviations(module: SourceModule, node: cst.Call) -> bool:
    """Whether ``torch.normal`` gets a tensor of standard deviations on an accelerator, and is not compiled."""
    deviations = argument(node, "std", 1)
    return deviations is not None and module.value(deviations).accelerated and _runs_as_written(module, node)


def _runs_as_written(module: SourceModule, node: cst.Call) -> bool:
    return not (module.never_runs(node) or module.shared(Compiled).covers(node))


def checking_uses(module: SourceModule, node: cst.Call) -> list[cst.Call]:
    """The calls of methods of a distribution that check their argument, in source order."""
    around = module.parent(node)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    binding = module.binding_of(target) if isinstance(target, cst.Name) else None
    uses = module.uses(binding) if binding is not None else []
    return [call for call in (_checking_call(module, use) for use in (node, *uses)) if call is not None]


def _checking_call(module: SourceModule, owner: cst.CSTNode) -> cst.Call | None:
    """The call of such a method on an object: ``owner.log_prob(value)``."""
    attribute = module.parent(owner)
    call = module.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    called = isinstance(call, cst.Call) and call.func is attribute and method(call) in CHECKING_METHODS
    return call if called else None  # type: ignore[return-value]

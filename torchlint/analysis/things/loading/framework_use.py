"""Uses of frameworks that move batches: their hooks, their runners, and the loaders that they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, receiver
from torchlint.analysis.things.move import names_accelerator
from torchlint.knowledge import frameworks as known
from torchlint.knowledge.frameworks import Framework

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class FrameworkUse(NamedTuple):
    """A framework gets a loader; ``certain`` means that it is known to use an accelerator."""

    framework: Framework
    evaluation: bool
    certain: bool


class FrameworkUses:
    """The uses of frameworks in one module. Uses without an accelerator do not count."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of_hook(self, function: cst.FunctionDef) -> FrameworkUse | None:
        """The framework that calls a method for the loaders that it returns."""
        name, owner = function.name.value, self._module.class_of(function)
        framework = next((f for f in known.FRAMEWORKS if name in f.training_hooks | f.evaluation_hooks), None)
        if framework is None or owner is None or not self._module.classes.derives(owner, framework.bases):
            return None
        if self._module.classes.method(owner, framework.own_move) is not None:
            return None  # it may not move anything, or objects that cannot be pinned
        return self._use(framework, name in framework.evaluation_hooks, self.accelerated(framework))

    def of_argument(self, call: cst.Call, arg: cst.Arg) -> FrameworkUse | None:
        """The framework that a loader is passed to: ``trainer.fit(model, loader)``."""
        for framework in known.FRAMEWORKS:
            taker = next((taker for taker in framework.takers if taker.method == method(call)), None)
            runner = self._runner(receiver(call), framework) if taker is not None else None
            if taker is None or runner is None:
                continue
            place = arg.keyword.value if arg.keyword is not None else call.args.index(arg)
            return self._use(framework, place not in taker.training, self._on_accelerator(runner, framework))
        return None

    def of_wrapper(self, call: cst.Call) -> Framework | None:
        """The framework that a call prepares loaders for, as ``accelerator.prepare(loader)`` does."""
        return next((f for f in known.FRAMEWORKS if method(call) in f.wrappers and self._is_of(call, f)), None)

    def prepared(self, call: cst.Call, framework: Framework) -> bool | None:
        """Whether batches of the loaders that such a call prepares are moved to an accelerator; None if unknown."""
        if literal(keyword(call, "move_to_device")) is False:
            return False
        runner = self._runner(receiver(call), framework)
        return self.accelerated(framework) if runner is None else self._on_accelerator(runner, framework)

    def accelerated(self, framework: Framework) -> bool | None:
        """Whether the project runs a framework on an accelerator; None if it does not run it, or this is unknown."""
        found = {self.runs().get(framework.name), self._module.project.runs_framework(framework.name)}
        return True if True in found else False if False in found else None

    def runs(self) -> dict[str, bool]:
        """The frameworks that the file runs, each with whether some run uses an accelerator."""
        found: dict[str, bool] = {}
        for call in self._module.nodes_of(cst.Call, self._module.aliases(known.RUNNER_NAMES)):
            name = self._module.qualified(call.func)
            for framework in known.FRAMEWORKS:
                if not framework.device and name in (framework.options or framework.runners):
                    here = self._on_accelerator(call, framework)
                    found[framework.name] = found.get(framework.name, False) or here
        return found

    def _use(self, framework: Framework, evaluation: bool, accelerated: bool | None) -> FrameworkUse | None:
        return None if accelerated is False else FrameworkUse(framework, evaluation, accelerated is True)

    def _is_of(self, call: cst.Call, framework: Framework) -> bool:
        base = receiver(call)
        if self._runner(base, framework) is not None:
            return True
        last = (dotted(base) or "").rpartition(".")[2].lower().strip("_")
        return last in framework.names

    def _runner(self, node: cst.CSTNode | None, framework: Framework) -> cst.Call | None:
        """The call that constructed the object that an expression stands for, if it is a runner of the framework."""
        made: list[cst.CSTNode | None] = [node]
        if isinstance(node, cst.Name):
            made = [b.value if not b.path else None for b in self._module.definitions(node)]
        elif isinstance(node, cst.Attribute):
            owner = self._module.class_of(node)
            made = [v for v, _ in self._module.classes.assignments(owner, node.attr.value)] if owner is not None else []
        calls = [call for call in made if isinstance(call, cst.Call)]
        if len(calls) != len(made) or len(calls) != 1:
            return None
        return calls[0] if self._module.qualified(calls[0].func) in framework.runners else None

    def _on_accelerator(self, call: cst.Call, framework: Framework) -> bool:
        """Whether a runner uses an accelerator that may be a CUDA device."""
        if framework.device:
            found = argument(call, framework.device, framework.position)
            return not is_opaque(call) and names_accelerator(self._module, found)
        given = ((keyword(call, name), values) for name, values in framework.off)
        return not any(node is not None and self._literal(node) in values for node, values in given)

    def _literal(self, node: cst.CSTNode) -> object:
        found = literal(node)
        if isinstance(found, (str, int, bool)) or found is None:
            return found
        return self._module.value(node).literal

"""Fallbacks: devices that are set to CUDA, and later replaced or rejected where CUDA is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.things.cuda.checks import own_constructor
from torchlint.analysis.things.cuda.device_in_scope import is_compared
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import portability as known
from torchlint.knowledge.precision import ANY_DEVICE_AUTOCASTS, GRAD_SCALERS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEVICE_NAME = re.compile(known.DEVICE_NAME)


class CudaFallbacks:
    """Decides whether values in one module that name CUDA have a fallback."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._bindings: dict[Binding, bool] = {}
        self._attributes: dict[tuple[str, cst.CSTNode | None], bool] = {}

    # -- values that fall back ---------------------------------------------------------------------

    def of_expression(self, node: cst.CSTNode) -> bool:
        """Whether the function that gets a value, or the code after its assignment, has a fallback."""
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and self._helper_falls_back(call, parent)
        if isinstance(parent, (cst.Assign, cst.AnnAssign)):
            return self.of_target(parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target)
        return isinstance(parent, cst.Param) and self.of_target(parent.name)

    def of_target(self, target: cst.CSTNode) -> bool:
        """Whether a variable, or an attribute of this name, has a fallback in later code."""
        if isinstance(target, cst.Attribute):
            return self.of_attribute(target.attr.value, self._module.class_of(target))
        if not isinstance(target, cst.Name):
            return False
        owner = self._module.class_of(target)
        if owner is not None and self._module.names.scope_at(target).node is owner:
            return self.of_attribute(target.value, owner)
        binding = self._module.binding_of(target)
        return binding is not None and self.of_binding(binding)

    def of_binding(self, binding: Binding) -> bool:
        """Whether a variable gets another value where CUDA is missing, or is used together with a check for CUDA."""
        if binding not in self._bindings:
            self._bindings[binding] = False  # for recursive functions
            scope = self._module.names.scope_at(binding.node)
            others = (b for b in scope.bindings.get(binding.name, ()) if b is not binding)
            self._bindings[binding] = any(self._runs_without_cuda(other.node) for other in others) or any(
                map(self._read_with_check, self._module.uses(binding))
            )
        return self._bindings[binding]

    def of_attribute(self, name: str, owner: cst.CSTNode | None) -> bool:
        """Whether an attribute is set to the CPU where CUDA is missing, or is used together with a check for CUDA.

        ``owner`` is the class whose instances have the attribute, or the option that sets it.
        """
        if (name, owner) not in self._attributes:
            self._attributes[name, owner] = False
            found = (a for a in self._module.attributes_named(name) if self._may_be_of(a, owner))
            self._attributes[name, owner] = any(map(self._attribute_falls_back, found))
        return self._attributes[name, owner]

    def _may_be_of(self, attribute: cst.Attribute, owner: cst.CSTNode | None) -> bool:
        base = attribute.value
        is_class = isinstance(owner, cst.ClassDef)
        if isinstance(base, cst.Name) and base.value == "self":
            return is_class and any(around is owner for around in self._module.ancestors(attribute))
        parsers = self._parsers_of(base)
        if is_class or owner is None:
            return not parsers and self._module.value(base).node in (None, owner)
        own = self._bindings_of(receiver(owner)) if isinstance(owner, cst.Call) else []
        return not parsers or not own or any(parser in own for parser in parsers)

    def _parsers_of(self, namespace: cst.CSTNode) -> list[Binding]:
        """The variables of the parsers that returned a namespace."""
        made = self._module.definitions(namespace) if isinstance(namespace, cst.Name) else ()
        calls = [b.value for b in made if isinstance(b.value, cst.Call) and method(b.value) in known.PARSE_METHODS]
        return [parser for call in calls for parser in self._bindings_of(receiver(call))]

    def _bindings_of(self, node: cst.CSTNode | None) -> list[Binding]:
        return list(self._module.definitions(node)) if isinstance(node, cst.Name) else []

    def _attribute_falls_back(self, attribute: cst.Attribute) -> bool:
        parent = self._module.parent(attribute)
        if not isinstance(parent, cst.AssignTarget):
            return self._read_with_check(attribute)
        assign = self._module.parent(parent)
        return self._runs_without_cuda(attribute) or (
            isinstance(assign, cst.Assign) and self._guards.checks_cuda(assign.value)
        )

    def _runs_without_cuda(self, node: cst.CSTNode) -> bool:
        """Whether a node runs where CUDA is missing."""
        for guard in self._module.guards(node):
            if guard.kind == "handler":
                return True
            tested = guard.kind == "test" and guard.condition is not None
            if tested and self._guards.implies_cuda(guard.condition, not guard.holds):  # type: ignore[arg-type]
                return True
        return False

    def _read_with_check(self, use: cst.CSTNode) -> bool:
        """Whether a value is read where the code also checks for CUDA, or is passed to a fallback."""
        parent = self._module.parent(use)
        call = self._module.parent(parent) if isinstance(parent, cst.Arg) else None
        if isinstance(parent, cst.Arg) and isinstance(call, cst.Call) and self._helper_falls_back(call, parent):
            return True
        function = self._module.function_of(use)
        tests = (g.condition for g in self._module.guards(use, stop=function) if g.kind == "test")
        if any(self._guards.checks_cuda(test) for test in tests if test is not None):
            return True
        for around in self._module.ancestors(use):
            if isinstance(around, (cst.BaseStatement, cst.BaseSmallStatement)):
                return False
            if isinstance(around, cst.BooleanOperation) and self._guards.checks_cuda(around):
                return True
        return False

    # -- helpers -----------------------------------------------------------------------------------

    def _helper_falls_back(self, call: cst.Call, arg: cst.Arg) -> bool:
        constructor = self._constructor(call)
        function = self._module.functions.callee(call) or constructor
        if function is not None:
            if self._guards.checks.requires_cuda(function):
                return True
            skip = 0 if constructor is None else 1
            param = self._module.functions.parameter_for(function, call, arg, skip=skip)
            return param is not None and self.of_target(param.name)
        name = self._module.project_symbol(call.func)
        if name is None or not _DEVICE_NAME.search(name.rpartition(".")[2]):
            return False
        # A function that no file of the run defines may have a fallback.
        return self._module.project.cuda_check(name) is not None or not self._module.project.contains_all([name])

    def _constructor(self, call: cst.Call) -> cst.FunctionDef | None:
        owner = self._module.value(call.func)
        if owner.kind is not Kind.CLASS or not isinstance(owner.node, cst.ClassDef):
            return None
        return own_constructor(owner.node)

    # -- device types ------------------------------------------------------------------------------

    def only_device_type(self, uses: list[cst.CSTNode]) -> bool:
        """Whether every read is a ``device_type=`` argument or a comparison; False if there are no reads."""
        return bool(uses) and all(map(self._is_device_type_use, uses))

    def _is_device_type_use(self, use: cst.CSTNode) -> bool:
        parent = self._module.parent(use)
        if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            return True
        call = self._module.parent(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call):
            return False
        if parent.keyword is not None and parent.keyword.value == "device_type":
            return True
        name = self._module.qualified(call.func)
        first = call.args[0] is parent
        if name == "torch.device":
            return is_compared(self._module, call)
        return name in GRAD_SCALERS or (first and name in ANY_DEVICE_AUTOCASTS)

    # -- options -----------------------------------------------------------------------------------

    def option_reads(self, name: str, option: cst.Call) -> list[cst.CSTNode]:
        """The reads of the attribute that an option sets."""
        every = (a for a in self._module.attributes_named(name) if self._may_be_of(a, option))
        return [node for node in every if not isinstance(self._module.parent(node), cst.AssignTarget)]

    def option_parameter(self, option: cst.Call, name: str) -> Binding | None:
        """The parameter that ``@click.option(..)`` sets, or None."""
        above = self._module.parent(option)
        function = self._module.parent(above) if isinstance(above, cst.Decorator) else None
        if not isinstance(function, cst.FunctionDef):
            return None
        every = (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params)
        found = next((param for param in every if param.name.value == name), None)
        return self._module.binding_of(found.name) if found is not None else None

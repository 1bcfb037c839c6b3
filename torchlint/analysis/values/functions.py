"""Functions defined in the file: return statements, callers and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.syntax.walk import children
from torchlint.analysis.values.annotations import annotated
from torchlint.analysis.values.lattice import NONE, UNKNOWN, Device, Kind, Value, device_named, join
from torchlint.knowledge.synchronization import DEVICE_BATCH_METHODS
from torchlint.knowledge.tensors import FRAMEWORK_BASES

if TYPE_CHECKING:
    from torchlint.analysis.values.classes import LocalClasses
    from torchlint.analysis.values.protocol import Values
_OTHERS = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef})


class Body(NamedTuple):
    """The return statements of a function, and whether it is a generator."""

    returns: tuple[cst.Return, ...]
    is_generator: bool


class CallSite(NamedTuple):
    """A call of a function of the file. ``bound`` means that ``self`` is passed implicitly."""

    call: cst.Call
    bound: bool


class Callers(NamedTuple):
    """The uses of a function in the file.

    ``escapes`` are the uses that are not calls, such as ``Thread(target=f)``: unknown code may call the function.
    """

    sites: tuple[CallSite, ...]
    escapes: tuple[cst.CSTNode, ...]


class Functions:
    """Bodies, call sites and callees of the functions of one module."""

    def __init__(self, values: Values, classes: LocalClasses) -> None:
        self._values, self._classes = values, classes
        self._code = values.code
        self._bodies: dict[cst.FunctionDef, Body] = {}
        self._method_reads: dict[str, list[cst.Attribute]] = {}

    def body(self, function: cst.FunctionDef) -> Body:
        """The return statements of the function itself, without nested functions."""
        if function not in self._bodies:
            returns: list[cst.Return] = []
            generator = False
            stack: list[cst.CSTNode] = list(function.body.body)
            while stack:
                node = stack.pop()
                kind = node.__class__
                if kind in _OTHERS:
                    continue
                if kind is cst.Return:
                    returns.append(node)  # type: ignore[arg-type]
                generator = generator or kind is cst.Yield
                stack += children(node)
            self._bodies[function] = Body(tuple(returns), generator)
        return self._bodies[function]

    def callers(self, function: cst.FunctionDef) -> Callers:
        """Every use of the function in the file."""
        unknown = Callers((), (function,))
        return self._values.memo.get_or_compute(("callers", function), lambda: self._found(function), unknown)

    def _found(self, function: cst.FunctionDef) -> Callers:
        owner = self._code.class_of(function)
        if owner is not None and _is_implicit(function.name.value):
            return Callers((), (function,))
        reads = self._attribute_reads(function) if owner is not None else self._name_reads(function)
        sites, handed = [], []
        for read in reads:
            call = self._code.parent(read)
            if isinstance(call, cst.Call) and call.func is read:
                sites.append(CallSite(call, isinstance(read, cst.Attribute)))
            elif not isinstance(self._code.parent(read), cst.Decorator):
                handed.append(read)
        return Callers(tuple(sites), tuple(handed))

    def _name_reads(self, function: cst.FunctionDef) -> list[cst.CSTNode]:
        binding = self._code.binding_of(function.name)
        return list(self._code.uses(binding)) if binding else []

    def _attribute_reads(self, function: cst.FunctionDef) -> list[cst.CSTNode]:
        """The uses of a method: ``self.method``, and ``x.method`` if ``x`` may be an instance of the class."""
        name = function.name.value
        if name not in self._method_reads:
            self._method_reads[name] = self._code.attributes_named(name)
        owner = self._code.class_of(function)
        return [read for read in self._method_reads[name] if owner is None or self._may_be_of(read, owner)]

    def _may_be_of(self, read: cst.Attribute, owner: cst.ClassDef) -> bool:
        """``self.method`` belongs to the class around it or to one derived from it in the file."""
        if not isinstance(read.value, cst.Name) or read.value.value != "self":
            known = self._values.value(read.value).node
            return not isinstance(known, cst.ClassDef) or known is owner
        around = self._code.class_of(read)
        return around is owner or (around is not None and self._classes.inherits(around, owner))

    def parameter_for(
        self, function: cst.FunctionDef, call: cst.Call, arg: cst.Arg, *, skip: int = 0
    ) -> cst.Param | None:
        """The parameter that receives an argument of a call; None if it is not certain.

        ``skip`` is 1 for an ``__init__`` that is called through its class.
        """
        params = function.params
        ordered = (*params.posonly_params, *params.params)
        if arg.star:
            return None
        if arg.keyword is not None:
            named = (*ordered, *params.kwonly_params)
            return next((p for p in named if p.name.value == arg.keyword.value), None)
        if any(a.star for a in call.args):
            return None
        static = any(self._code.qualified(d.decorator) == "builtins.staticmethod" for d in function.decorators)
        bound = self._code.class_of(function) is not None and isinstance(call.func, cst.Attribute) and not static
        position = call.args.index(arg) + max(bound, skip)
        return ordered[position] if position < len(ordered) else None

    def callee(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function of the file that a call runs, if there is only one candidate."""
        target = self._values.value(call.func)
        if target.kind is Kind.FUNCTION and isinstance(target.node, cst.FunctionDef):
            return target.node
        return None


def _is_implicit(name: str) -> bool:
    """Whether a method with this name is called implicitly, by Python or by ``nn.Module.__call__``."""
    return name == "forward" or (name.startswith("__") and name.endswith("__"))


class Parameters:
    """Values of parameters: from annotations, from ``self``, and from the arguments of all visible calls."""

    def __init__(self, values: Values, functions: Functions, classes: LocalClasses) -> None:
        self._values, self._functions, self._classes = values, functions, classes
        self._code = values.code

    def value(self, binding: Binding) -> Value:
        """The value of a parameter of a function or lambda in the file."""
        param = binding.statement
        assert isinstance(param, cst.Param)
        function = self._function(param)
        if isinstance(function, cst.Lambda):
            return self._mapped(function, param)
        if param.star or not isinstance(function, cst.FunctionDef):
            return UNKNOWN
        owner = self._code.class_of(function)
        if owner is not None and self._is_self(function, param):
            return self._classes.itself(owner)
        if owner is not None and self._is_batch(owner, function, param):
            kind = Kind.MODULE if "model" in param.name.value.lower().split("_") else Kind.UNKNOWN
            return Value(kind, Device.VARIABLE, origin=param, source="the batch")
        promised = annotated(self._code, param.annotation)
        if promised.known and promised.kind not in (Kind.TENSOR, Kind.DEVICE, Kind.STRING):
            return promised
        given = self._from_calls(function, param, owner is not None)
        if promised.kind in (Kind.DEVICE, Kind.STRING):
            return promised if device_named(given) is Device.UNKNOWN else given
        if promised.kind is Kind.TENSOR:
            return promised._replace(device=given.device) if given.accelerated else promised
        return given

    def _mapped(self, function: cst.Lambda, param: cst.Param) -> Value:
        """``map(lambda x: .., items)``: the parameter is a member of the items."""
        arg = self._code.parent(function)
        call = self._code.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or len(call.args) != 2 or [*function.params.params] != [param]:
            return UNKNOWN
        if call.args[0] is not arg or self._code.qualified(call.func) not in ("builtins.map", "builtins.filter"):
            return UNKNOWN
        return self._values.iterated_value(call.args[1].value)._replace(fresh=False)

    def _is_batch(self, owner: cst.ClassDef, function: cst.FunctionDef, param: cst.Param) -> bool:
        """Whether Lightning or the Trainer of transformers passes a batch, or model, that is already on the device."""
        names = param.name.value.lower().split("_")
        numbered = not {"idx", "index", "id", "i", "nb", "return", "num"}.isdisjoint(names)
        if function.name.value not in DEVICE_BATCH_METHODS or numbered:
            return False
        return self._classes.derives(owner, FRAMEWORK_BASES)

    def _function(self, param: cst.Param) -> cst.CSTNode | None:
        node = self._code.parent(param)
        return self._code.parent(node) if isinstance(node, cst.Parameters) else None

    def _is_self(self, function: cst.FunctionDef, param: cst.Param) -> bool:
        names = {self._code.qualified(d.decorator) for d in function.decorators}
        first = (*function.params.posonly_params, *function.params.params)[:1]
        return first == (param,) and not names & {"builtins.staticmethod", "builtins.classmethod"}

    def all_arguments(self, binding: Binding) -> list[cst.BaseExpression]:
        """The arguments that all calls pass for a parameter; empty if some calls are not visible."""
        passed, escapes = self._passed(binding)
        known = [expression for expression in passed if expression is not None]
        return known if len(known) == len(passed) and not escapes else []

    def _passed(self, binding: Binding) -> tuple[list[cst.BaseExpression | None], bool]:
        """The argument of each visible call, None where it is unclear; and whether the function escapes."""
        param = binding.statement
        function = self._function(param) if isinstance(param, cst.Param) else None
        if not isinstance(function, cst.FunctionDef) or not isinstance(param, cst.Param):
            return [], False
        callers = self._functions.callers(function)
        is_method = self._code.class_of(function) is not None
        passed = [
            argument_for(function, param, site.call, skip=1 if is_method and site.bound else 0)
            for site in callers.sites
        ]
        return passed, bool(callers.escapes)

    def _from_calls(self, function: cst.FunctionDef, param: cst.Param, is_method: bool) -> Value:
        callers = self._functions.callers(function)
        if callers.escapes or not callers.sites:
            return UNKNOWN
        passed = [site for site in callers.sites if not self._passes_on(function, param, site, is_method)]
        return join(self._given(function, param, site, is_method) for site in passed)._replace(fresh=False)

    def _passes_on(self, function: cst.FunctionDef, param: cst.Param, site: CallSite, is_method: bool) -> bool:
        """Whether a recursive call passes the parameter itself, which adds nothing to what is known of it."""
        expression = argument_for(function, param, site.call, skip=1 if is_method and site.bound else 0)
        bindings = self._code.definitions(expression) if isinstance(expression, cst.Name) else ()
        return bool(bindings) and all(binding.statement is param for binding in bindings)

    def _given(self, function: cst.FunctionDef, param: cst.Param, site: CallSite, is_method: bool) -> Value:
        expression = argument_for(function, param, site.call, skip=1 if is_method and site.bound else 0)
        if expression is None:
            return UNKNOWN
        return NONE if literal(expression) is None else self._values.value(expression)


def argument_for(
    function: cst.FunctionDef, param: cst.Param, call: cst.Call, *, skip: int
) -> cst.BaseExpression | None:
    """The argument that a call passes for a parameter, or the default; None if it is unclear."""
    if any(arg.star == "*" for arg in call.args):
        return None
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == param.name.value:
            return arg.value
    ordered = (*function.params.posonly_params, *function.params.params)
    if param in ordered:
        position = ordered.index(param) - skip
        given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        if 0 <= position < len(given):
            return given[position]
    return None if any(arg.star for arg in call.args) else param.default

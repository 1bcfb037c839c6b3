"""Portability: places that name CUDA as the device, and whether the file could run without it at all."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.dominance import dominates, visible_names
from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import argument, keyword, literal, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda_guards import CudaGuards
from torchlint.analysis.things.cuda_needs import CudaNeeds
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge import portability as known
from torchlint.knowledge.tensors import LEGACY, LIGHTNING_BASES
from torchlint.rules.portability._fallbacks import Fallbacks

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CUDA = re.compile(r"cuda(:\d+)?")


class CudaUse(NamedTuple):
    """A place that names CUDA as the device.

    ``kind`` is ``method``, ``device``, ``type`` or ``constant``; ``overridable`` is true for defaults that
    a caller or user can replace; ``indexed`` for a fixed index such as ``cuda:0``.
    """

    node: cst.CSTNode
    kind: str
    overridable: bool = False
    indexed: bool = False


class Portability:
    """Finds hard-coded devices in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self.guards = CudaGuards(module)
        self.fallbacks = Fallbacks(module, self.guards)
        self._needs = CudaNeeds(module, self.guards)
        self._reported: dict[cst.CSTNode, bool] = {}
        self._fall_back: dict[Binding, bool] = {}

    @cached_property
    def cuda_only(self) -> str | None:
        """What makes the file CUDA-only by nature, in words; None when nothing does."""
        return self._needs.of_file()

    # -- the file --------------------------------------------------------------------------------

    @cached_property
    def reported_uses(self) -> list[CudaUse]:
        """Every place of the file that names CUDA with nothing on the way there that asks for it."""
        names = self._module.aliases(known.ASKING)
        found = [self.of_call(call) for call in self._module.nodes_of(cst.Call, names)]
        found += [self.of_string(string) for string in self._module.nodes_of(cst.SimpleString, names)]
        return [use for use in found if use is not None and self.is_reported(use)]

    def is_reported(self, use: CudaUse) -> bool:
        """The place would fail without CUDA, and nothing says that it is meant to."""
        if use.node not in self._reported:
            self._reported[use.node] = self._fails(use.node)
        return self._reported[use.node]

    def _fails(self, node: cst.CSTNode) -> bool:
        if not self.imports_torch() or self.in_forward(node) == "lightning elsewhere":
            return False  # the framework places everything there
        if any(getattr(getattr(a, "name", None), "value", "") == "cuda" for a in self._module.ancestors(node)):
            return False  # a method of that name does what it says
        return self.cuda_only is None and not self.guards.guarded(node)

    def imports_torch(self) -> bool:
        """Without torch in the file, a ``.cuda()`` is somebody else's."""
        return re.search(r"^\s*(import|from)\s+torch", self._module.text, re.MULTILINE) is not None

    # -- uses ------------------------------------------------------------------------------------

    def of_call(self, call: cst.Call) -> CudaUse | None:
        """The hard-coded device of ``x.cuda()``, ``torch.cuda.FloatTensor(..)`` or a default tensor type."""
        name = self._module.qualified(call.func)
        if name in LEGACY:
            return CudaUse(call, "type") if LEGACY[str(name)] == "cuda" else None
        if name == "torch.set_default_tensor_type":
            kind = positional(call, 0)
            text = literal(kind)
            cuda = str(text).startswith("torch.cuda.") or LEGACY.get(self._qualified(kind)) == "cuda"
            return CudaUse(call, "type") if cuda else None
        if method(call) != "cuda" or name is not None or self.is_foreign(receiver(call)):
            return None
        where = argument(call, "device", 0)
        if where is not None and not isinstance(where, cst.Integer):
            return None  # the index comes from outside
        return CudaUse(call, "method", indexed=where is not None)

    def _qualified(self, node: cst.CSTNode | None) -> str:
        return (self._module.qualified(node) or "") if node is not None else ""

    def of_string(self, node: cst.SimpleString) -> CudaUse | None:
        """The hard-coded device that a string such as ``"cuda:0"`` chooses, if it chooses one."""
        text = literal(node)
        if not isinstance(text, str) or not _CUDA.fullmatch(text):
            return None
        index = ":" in text
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return self._argument(node, parent, call, index) if isinstance(call, cst.Call) else None
        return self._constant(node, parent, index)

    def _argument(self, node: cst.SimpleString, arg: cst.Arg, call: cst.Call, indexed: bool) -> CudaUse | None:
        name = self._module.qualified(call.func)
        if name == "torch.device":
            return self._device(call, indexed)
        if name in known.AUTOCAST:
            switched = keyword(call, "enabled")  # a condition there, or False, decides instead
            always = arg.keyword is None and (switched is None or literal(switched) is True)
            generic = always and self.device_in_scope(call) is not None
            return CudaUse(call, "autocast", overridable=True) if generic else None
        if name == "torch.set_default_device":
            return CudaUse(call, "device", indexed=indexed)
        if self.fallbacks.of_expression(node):
            return None
        if self._is_default(call, arg, name):
            return CudaUse(node, "constant", overridable=True, indexed=indexed)
        if method(call) == "to" and name is None and node is argument(call, "device", 0):
            return None if self.is_foreign(receiver(call)) else CudaUse(call, "device", indexed=indexed)
        if self._is_device_argument(call, arg, name) and not self.guards.is_fake(call):
            return CudaUse(node, "device", indexed=indexed)
        return None

    def _device(self, call: cst.Call, indexed: bool) -> CudaUse | None:
        """``torch.device("cuda", rank)`` takes its index from outside; one bound to a name may be corrected."""
        number = argument(call, "index", 1)
        if number is not None and not isinstance(number, cst.Integer):
            return None
        parent = self._module.parent(call)
        if self.fallbacks.is_compared(call) or self.fallbacks.of_expression(call):
            return None
        instead = isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.Or)
        default = (
            instead or isinstance(parent, cst.Param) or (isinstance(parent, cst.Assign) and self._fills_in(parent))
        )
        return CudaUse(call, "device", overridable=default, indexed=indexed or number is not None)

    def _is_default(self, call: cst.Call, arg: cst.Arg, name: str | None) -> bool:
        """A default that a user or caller can override, of an option that chooses a device."""
        verb = method(call)
        spelled = " ".join(str(literal(a.value)).lower() for a in call.args if a is not arg)
        about_device = any(word in spelled for word in known.DEVICE_WORDS)
        if arg.keyword is not None and arg.keyword.value == "default":
            if verb == "add_argument" or name == "click.option":
                return (about_device or verb is None) and self._option_places(call)
            return name in ("dataclasses.field", "click.argument") and not self.fallbacks.of_expression(call)
        if name in ("typer.Option", "typer.Argument"):
            return not self.fallbacks.of_expression(call)
        place = call.args.index(arg)
        if name in ("os.environ.get", "os.getenv") or (verb in ("get", "pop", "setdefault") and name is None):
            return place == 1 and about_device and not self.fallbacks.of_expression(call)
        getter = name == "builtins.getattr" and place == 2
        return getter and about_device and not self.fallbacks.of_expression(call)

    def _option_places(self, option: cst.Call) -> bool:
        """What the option says may be used as a device, and nothing in sight replaces it where CUDA is missing."""
        into = self.fallbacks.destination(option)
        if into is None:
            return True
        filled = self.fallbacks.parameter(option, into)
        if filled is not None:
            uses: list[cst.CSTNode] = list(self._module.uses(filled))
            replaced = self.fallbacks.of_binding(filled)
        else:
            uses, replaced = self.fallbacks.reads(into, option), self.fallbacks.of_attribute(into, option)
        if replaced or self.fallbacks.only_kind(uses):
            return False
        return not _is_kind_word(into) or any(map(self._is_device_place, uses))

    def _is_device_argument(self, call: cst.Call, arg: cst.Arg, name: str | None) -> bool:
        if name in known.NO_PLACEMENT:
            return False
        function = self._module.functions.callee(call)
        if function is not None:
            param = self._module.functions.parameter_for(function, call, arg)
            return param is not None and _is_device_word(param.name.value)
        if arg.keyword is None or arg.keyword.value != "device":
            return False
        if name is not None:
            return name.partition(".")[0] in known.TAKES_DEVICE
        owner = self._module.value(call.func).node
        return isinstance(owner, cst.ClassDef) or self._module.value(receiver(call)).kind is Kind.TENSOR

    # -- constants -------------------------------------------------------------------------------

    def _constant(self, node: cst.SimpleString, parent: cst.CSTNode | None, indexed: bool) -> CudaUse | None:
        if isinstance(parent, cst.Param):
            used = self._parameter_places(parent)
            return CudaUse(node, "constant", overridable=True, indexed=indexed) if used else None
        if not isinstance(parent, (cst.Assign, cst.AnnAssign)) or self.fallbacks.of_expression(node):
            return None
        target = parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target
        owner = self._module.class_of(node)
        if owner is not None and self._module.function_of(node) is None and isinstance(target, cst.Name):
            used = self._attribute_used(owner, target.value)
            dataclass = isinstance(parent, cst.AnnAssign) and bool(owner.decorators)
            return CudaUse(node, "constant", overridable=dataclass, indexed=indexed) if used else None
        if not isinstance(target, cst.Name) or not self._name_used(target):
            return None
        replaced = self._module.function_of(node) is None and self._executes_settings()
        replaced = replaced or (isinstance(parent, cst.Assign) and self._fills_in(parent))
        return CudaUse(node, "constant", overridable=replaced, indexed=indexed)

    def _parameter_places(self, param: cst.Param) -> bool:
        """The parameter may be used as a device, whatever the machine has."""
        binding = self._module.binding_of(param.name)
        uses: list[cst.CSTNode] = list(self._module.uses(binding)) if binding is not None else []
        if self.fallbacks.only_kind(uses) or self.fallbacks.of_target(param.name):
            return False
        return _is_device_word(param.name.value) or any(map(self._is_device_place, uses))

    def _fills_in(self, assign: cst.Assign) -> bool:
        """``if device is None: device = "cuda"``: a default that the caller can override."""
        target = assign.targets[0].target
        if not isinstance(target, cst.Name):
            return False
        tests = [g.condition for g in self._module.guards(assign) if g.kind == "test" and g.condition is not None]
        return any(
            isinstance(part, cst.Name) and part.value == target.value for test in tests for part in descendants(test)
        )

    def _executes_settings(self) -> bool:
        """Globals may be replaced by ``exec`` of a configuration."""
        calls = self._module.iter_nodes(cst.Call, self._module.aliases({"exec"}))
        return any(self._module.qualified(call.func) == "builtins.exec" for call in calls)

    def _name_used(self, target: cst.Name) -> bool:
        binding = self._module.binding_of(target)
        return binding is not None and any(self._is_device_place(use) for use in self._module.uses(binding))

    def _attribute_used(self, owner: cst.ClassDef, name: str) -> bool:
        return any(map(self._is_device_place, self._module.attributes_named(name, owner)))

    def _is_device_place(self, node: cst.CSTNode) -> bool:
        """The expression is used as a device: ``.to(node)``, ``device=node``, ``torch.device(node)``."""
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg):
            return False
        name = self._module.qualified(call.func)
        if arg.keyword is not None:
            return arg.keyword.value == "device" and name not in known.NO_PLACEMENT
        first = call.args[0] is arg
        if first and method(call) in ("to", "cuda"):
            return True
        if first and name in ("torch.device", "torch.set_default_device"):
            return not self.fallbacks.is_compared(call)
        function = self._module.functions.callee(call)
        param = self._module.functions.parameter_for(function, call, arg) if function else None
        return param is not None and _is_device_word(param.name.value)

    # -- receivers and surroundings --------------------------------------------------------------

    def is_foreign(self, node: cst.BaseExpression | None, depth: int = 8) -> bool:
        """The receiver is proved to be no tensor or module of torch."""
        if node is None or depth == 0:
            return False
        value = self._module.value(node)
        if value.kind in (Kind.TENSOR, Kind.MODULE):
            return False
        if value.known and value.kind is not Kind.TUPLE:
            return True
        if isinstance(node, cst.Name):
            defined = [b.value for b in self._module.definitions(node) if b.value is not None]
            return bool(defined) and all(self.is_foreign(v, depth - 1) for v in defined)
        if isinstance(node, cst.Call):
            root = (self._module.qualified(node.func) or "").partition(".")[0]
            return root in known.FOREIGN or self.is_foreign(node.func, depth - 1)
        if isinstance(node, cst.Attribute):
            root = (self._module.qualified(node) or "").partition(".")[0]
            return root in known.FOREIGN
        return False

    def in_forward(self, node: cst.CSTNode) -> str | None:
        """``module``, ``lightning`` or ``function`` inside such a class's ``forward``; ``elsewhere`` in other methods.

        None outside of such classes.
        """
        owner = next((a for a in self._module.ancestors(node) if isinstance(a, cst.ClassDef)), None)
        if owner is None:
            return None
        if self._module.classes.derives(owner, LIGHTNING_BASES):
            kind = "lightning"
        elif self._module.classes.is_module(owner):
            kind = "module"
        elif self._module.classes.derives(owner, {"torch.autograd.Function"}):
            kind = "function"
        else:
            return None
        names = {a.name.value for a in self._module.ancestors(node) if isinstance(a, cst.FunctionDef)}
        return kind if names & {"forward", "training_step", "validation_step"} else f"{kind} elsewhere"

    def device_in_scope(self, node: cst.CSTNode) -> Binding | None:
        """The binding of a name that falls back to the CPU, and that the place could use instead."""
        for _, bindings in visible_names(self._module, node, _is_device_name):
            if not self._falls_back(bindings):
                continue
            for binding in bindings:
                if binding.kind == "parameter" or dominates(self._module, binding.statement, node):
                    return binding
        return None

    def _is_for_all(self, binding: Binding) -> bool:
        """No option chooses the device for something else: ``eval_device``, ``torch.device(args.teacher_device)``."""
        parts = list(descendants(binding.value)) if binding.value is not None else []
        options = [p.attr.value for p in parts if isinstance(p, cst.Attribute) and self._module.qualified(p) is None]
        options += [str(literal(p)) for p in parts if isinstance(p, cst.SimpleString)]
        chosen = [name for name in options if _is_device_word(name)]
        plain = all(known.PLAIN_WORDS.issuperset(_words(name)) for name in (binding.name, *chosen))
        told = binding.kind == "parameter" or any(isinstance(p, (cst.Attribute, cst.Subscript)) for p in parts)
        return plain and (not told or any(map(self._is_device_place, self._module.uses(binding))))

    def _falls_back(self, bindings: list[Binding]) -> bool:
        """Whatever a name holds is for all of the program an accelerator or, where there is none, the CPU."""
        first = bindings[0]
        if first not in self._fall_back:
            values = map(self._module.evaluator.bound, bindings)
            devices = all(v.kind in (Kind.DEVICE, Kind.STRING) and v.device is Device.VARIABLE for v in values)
            self._fall_back[first] = devices and all(
                self.asks_only_for_cuda(binding) or self._is_for_all(binding) for binding in bindings
            )
        return self._fall_back[first]

    def asks_only_for_cuda(self, binding: Binding) -> bool:
        """``"cuda" if torch.cuda.is_available() else "cpu"``, perhaps in ``torch.device``, and nothing else."""
        scope = self._module.names.scope_at(binding.node)
        value = self._inside_device(binding.value)
        if binding.path or not isinstance(value, cst.IfExp) or len(scope.bindings.get(binding.name, ())) != 1:
            return False
        sides = [literal(self._inside_device(side)) for side in (value.body, value.orelse)]
        return sides == ["cuda", "cpu"] and self._is_availability(value.test)

    def _inside_device(self, node: cst.BaseExpression | None) -> cst.BaseExpression | None:
        """``x`` of ``torch.device(x)``, and of ``x``."""
        inside = isinstance(node, cst.Call) and self._qualified(node.func) == "torch.device" and len(node.args) == 1
        return node.args[0].value if inside else node  # type: ignore[union-attr]

    def _is_availability(self, test: cst.BaseExpression) -> bool:
        """``torch.cuda.is_available()``, or a name that stands for what it said."""
        if isinstance(test, cst.Name):
            made = self._module.definitions(test)
            value = made[0].value if len(made) == 1 and made[0].kind == "assign" and not made[0].path else None
            return self._qualified_call(value) == "torch.cuda.is_available"
        return self._qualified_call(test) == "torch.cuda.is_available"

    def _qualified_call(self, node: cst.CSTNode | None) -> str:
        return self._qualified(node.func) if isinstance(node, cst.Call) else ""

    def uses_ranks(self) -> bool:
        """Several processes run the file, one for each device."""
        return any(word in self._module.text for word in known.RANKS)


def _words(name: str) -> list[str]:
    return name.lower().strip("_").split("_")


def _is_device_name(name: str, _: list[Binding]) -> bool:
    return _is_device_word(name)


def _is_device_word(name: str) -> bool:
    return not known.DEVICE_WORDS.isdisjoint(name.lower().split("_")) and not _is_kind_word(name)


def _is_kind_word(name: str) -> bool:
    """``device_type`` is what autocast takes."""
    return name.lower().split("_")[-1] in ("type", "kind")

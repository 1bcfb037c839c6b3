"""CUDA requests: places that name CUDA as the device on every machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, keyword, literal, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.device_in_scope import DevicesInScope, is_compared, names_device, names_device_type
from torchlint.analysis.things.cuda.fallbacks import CudaFallbacks
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.options import attribute_of
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import portability as known
from torchlint.knowledge.precision import ANY_DEVICE_AUTOCASTS, GRAD_SCALERS
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_CUDA = re.compile(r"cuda(:\d+)?")


class CudaRequest(NamedTuple):
    """A place that names CUDA as the device.

    ``kind`` is ``method``, ``device``, ``type``, ``constant`` or ``autocast``. ``overridable`` is true for defaults
    that a caller or user can replace, ``indexed`` for a fixed index such as ``cuda:0``.
    """

    node: cst.CSTNode
    kind: str
    overridable: bool = False
    indexed: bool = False


class CudaRequests:
    """Finds the CUDA requests of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)
        self._fallbacks = module.shared(CudaFallbacks)
        self._devices = module.shared(DevicesInScope)

    def all(self) -> list[CudaRequest]:
        """The requests of the file, guarded or not, in source order; none if the file does not import torch."""
        if re.search(r"^\s*(import|from)\s+torch", self._module.text, re.MULTILINE) is None:
            return []
        names = self._module.aliases(known.REQUEST_NAMES)
        found = [self._of_call(call) for call in self._module.nodes_of(cst.Call, names)]
        found += [self._of_string(string) for string in self._module.nodes_of(cst.SimpleString, names)]
        requests = [request for request in found if request is not None]
        return sorted(requests, key=lambda request: self._module.order(request.node))

    # -- calls and strings -------------------------------------------------------------------------

    def _of_call(self, call: cst.Call) -> CudaRequest | None:
        """The request of ``x.cuda()``, ``torch.cuda.FloatTensor(..)`` or a default tensor type."""
        name = self._module.qualified(call.func)
        if name in LEGACY:
            return CudaRequest(call, "type") if LEGACY[str(name)] == "cuda" else None
        if name == "torch.set_default_tensor_type":
            kind = positional(call, 0)
            text = literal(kind)
            cuda = str(text).startswith("torch.cuda.") or LEGACY.get(self._qualified(kind)) == "cuda"
            return CudaRequest(call, "type") if cuda else None
        if method(call) != "cuda" or name is not None or self.is_not_torch(receiver(call)):
            return None
        where = argument(call, "device", 0)
        if where is not None and not self._is_constant(where):
            return None  # the index is computed elsewhere
        return CudaRequest(call, "method", indexed=where is not None)

    def _is_constant(self, index: cst.BaseExpression) -> bool:
        """Whether an index is one integer, also through a variable."""
        value = self._module.value(index)
        return value.kind is Kind.SCALAR and value.literal is not None and value.literal.isdecimal()

    def _qualified(self, node: cst.CSTNode | None) -> str:
        return (self._module.qualified(node) or "") if node is not None else ""

    def _of_string(self, node: cst.SimpleString) -> CudaRequest | None:
        """The request of a string such as ``"cuda:0"``, if it chooses a device."""
        text = literal(node)
        if not isinstance(text, str) or not _CUDA.fullmatch(text):
            return None
        index = ":" in text
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return self._argument(node, parent, call, index) if isinstance(call, cst.Call) else None
        return self._constant(node, parent, index)

    def _argument(self, node: cst.SimpleString, arg: cst.Arg, call: cst.Call, indexed: bool) -> CudaRequest | None:
        name = self._module.qualified(call.func)
        if name == "torch.device":
            return self._device(call, indexed)
        if name in ANY_DEVICE_AUTOCASTS:
            switched = keyword(call, "enabled")  # a condition there, or False, decides instead
            always = arg.keyword is None and (switched is None or literal(switched) is True)
            generic = always and self._devices.at(call) is not None
            return CudaRequest(call, "autocast", overridable=True) if generic else None
        if name == "torch.set_default_device":
            return CudaRequest(call, "device", indexed=indexed)
        if self._fallbacks.of_expression(node):
            return None
        if self._is_default(call, arg, name):
            return CudaRequest(node, "constant", overridable=True, indexed=indexed)
        if method(call) == "to" and name is None and node is argument(call, "device", 0):
            return None if self.is_not_torch(receiver(call)) else CudaRequest(call, "device", indexed=indexed)
        if self._is_device_argument(call, arg, name) and not self._guards.is_fake(call):
            return CudaRequest(node, "device", indexed=indexed)
        return None

    def _device(self, call: cst.Call, indexed: bool) -> CudaRequest | None:
        """The request of ``torch.device("cuda")``, unless its index is computed or a fallback replaces it."""
        number = argument(call, "index", 1)
        if number is not None and not self._is_constant(number):
            return None
        parent = self._module.parent(call)
        if _is_in_table(parent, call) or is_compared(self._module, call) or self._fallbacks.of_expression(call):
            return None
        instead = isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.Or)
        default = (
            instead
            or isinstance(parent, cst.Param)
            or (isinstance(parent, cst.Assign) and self._is_default_assignment(parent))
        )
        return CudaRequest(call, "device", overridable=default, indexed=indexed or number is not None)

    def _is_default(self, call: cst.Call, arg: cst.Arg, name: str | None) -> bool:
        """Whether an argument is the default of an option or setting that chooses a device."""
        verb = method(call)
        spelled = " ".join(str(literal(a.value)).lower() for a in call.args if a is not arg)
        about_device = any(word in spelled for word in known.DEVICE_WORDS)
        if arg.keyword is not None and arg.keyword.value == "default":
            if verb == "add_argument" or name == "click.option":
                return (about_device or verb is None) and self._option_is_device(call)
            return name in ("dataclasses.field", "click.argument") and not self._fallbacks.of_expression(call)
        if name in ("typer.Option", "typer.Argument"):
            return not self._fallbacks.of_expression(call)
        place = call.args.index(arg)
        if name in ("os.environ.get", "os.getenv") or (verb in ("get", "pop", "setdefault") and name is None):
            return place == 1 and about_device and not self._fallbacks.of_expression(call)
        getter = name == "builtins.getattr" and place == 2
        return getter and about_device and not self._fallbacks.of_expression(call)

    def _option_is_device(self, option: cst.Call) -> bool:
        """Whether the value of an option is used as a device, and has no fallback."""
        into = attribute_of(option)
        if not into:
            return True
        filled = self._fallbacks.option_parameter(option, into)
        if filled is not None:
            uses: list[cst.CSTNode] = list(self._module.uses(filled))
            replaced = self._fallbacks.of_binding(filled)
        else:
            uses, replaced = self._fallbacks.option_reads(into, option), self._fallbacks.of_attribute(into, option)
        if replaced or self._fallbacks.only_device_type(uses):
            return False
        return not names_device_type(into) or any(map(self._devices.is_used_as_device, uses))

    def _is_device_argument(self, call: cst.Call, arg: cst.Arg, name: str | None) -> bool:
        if name in GRAD_SCALERS:
            return False
        function = self._module.functions.callee(call)
        if function is not None:
            param = self._module.functions.parameter_for(function, call, arg)
            return param is not None and names_device(param.name.value)
        if arg.keyword is None or arg.keyword.value != "device":
            return False
        if name is not None:
            return name.partition(".")[0] in known.TORCH_LIBRARIES
        owner = self._module.value(call.func).node
        return isinstance(owner, cst.ClassDef) or self._module.value(receiver(call)).kind is Kind.TENSOR

    # -- constants ---------------------------------------------------------------------------------

    def _constant(self, node: cst.SimpleString, parent: cst.CSTNode | None, indexed: bool) -> CudaRequest | None:
        if isinstance(parent, cst.Param):
            used = self._parameter_is_device(parent)
            return CudaRequest(node, "constant", overridable=True, indexed=indexed) if used else None
        if not isinstance(parent, (cst.Assign, cst.AnnAssign)) or self._fallbacks.of_expression(node):
            return None
        target = parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target
        owner = self._module.class_of(node)
        if owner is not None and self._module.function_of(node) is None and isinstance(target, cst.Name):
            used = self._attribute_is_device(owner, target.value)
            dataclass = isinstance(parent, cst.AnnAssign) and bool(owner.decorators)
            return CudaRequest(node, "constant", overridable=dataclass, indexed=indexed) if used else None
        if not isinstance(target, cst.Name) or not self._name_is_device(target):
            return None
        replaced = self._module.function_of(node) is None and self._uses_exec()
        replaced = replaced or (isinstance(parent, cst.Assign) and self._is_default_assignment(parent))
        return CudaRequest(node, "constant", overridable=replaced, indexed=indexed)

    def _parameter_is_device(self, param: cst.Param) -> bool:
        """Whether a parameter is used as a device without a fallback."""
        binding = self._module.binding_of(param.name)
        uses: list[cst.CSTNode] = list(self._module.uses(binding)) if binding is not None else []
        if self._fallbacks.only_device_type(uses) or self._fallbacks.of_target(param.name):
            return False
        return names_device(param.name.value) or any(map(self._devices.is_used_as_device, uses))

    def _is_default_assignment(self, assign: cst.Assign) -> bool:
        """Whether an assignment sets a default: ``if device is None: device = "cuda"``."""
        target = assign.targets[0].target
        if not isinstance(target, cst.Name):
            return False
        tests = [g.condition for g in self._module.guards(assign) if g.kind == "test" and g.condition is not None]
        return any(
            isinstance(part, cst.Name) and part.value == target.value for test in tests for part in descendants(test)
        )

    def _uses_exec(self) -> bool:
        """Whether globals may be replaced by ``exec`` of a configuration."""
        calls = self._module.iter_nodes(cst.Call, self._module.aliases({"exec"}))
        return any(self._module.qualified(call.func) == "builtins.exec" for call in calls)

    def _name_is_device(self, target: cst.Name) -> bool:
        binding = self._module.binding_of(target)
        return binding is not None and any(self._devices.is_used_as_device(use) for use in self._module.uses(binding))

    def _attribute_is_device(self, owner: cst.ClassDef, name: str) -> bool:
        return any(map(self._devices.is_used_as_device, self._module.attributes_named(name, owner)))

    # -- receivers ---------------------------------------------------------------------------------

    def is_not_torch(self, node: cst.BaseExpression | None, depth: int = 8) -> bool:
        """Whether an expression is certainly no tensor or module of torch."""
        if node is None or depth == 0:
            return False
        value = self._module.value(node)
        if value.kind in (Kind.TENSOR, Kind.MODULE):
            return False
        if value.known and value.kind is not Kind.TUPLE:
            return True
        if isinstance(node, cst.Name):
            defined = [b.value for b in self._module.definitions(node) if b.value is not None]
            return bool(defined) and all(self.is_not_torch(v, depth - 1) for v in defined)
        if isinstance(node, cst.Call):
            root = (self._module.qualified(node.func) or "").partition(".")[0]
            return root in known.NOT_TORCH or self.is_not_torch(node.func, depth - 1)
        if isinstance(node, cst.Attribute):
            root = (self._module.qualified(node) or "").partition(".")[0]
            return root in known.NOT_TORCH
        return False


def _is_in_table(element: cst.CSTNode | None, device: cst.Call) -> bool:
    """Whether a device is a key of a dict, or stands beside its name: ``{"cuda": torch.device("cuda"), ..}``."""
    if not isinstance(element, cst.DictElement):
        return False
    return element.key is device or str(literal(element.key)).startswith(("cuda", "gpu"))

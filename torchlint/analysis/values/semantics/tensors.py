"""Abstract semantics of torch: functions, methods, attributes and operators of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword, literal, positional, receiver
from torchlint.analysis.values.lattice import SCALAR, UNKNOWN, Device, Kind, Value
from torchlint.analysis.values.semantics import devices, models
from torchlint.analysis.values.semantics.devices import moved_to, of_operands
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.analysis.values.semantics.factories import factory, legacy
from torchlint.catalogue.functions import TENSOR_ATTRIBUTES, function_named, method_named
from torchlint.catalogue.views import CASTS, FACTORIES, METADATA, functions
from torchlint.knowledge import tensors as known
from torchlint.knowledge.loaders import LOADERS
from torchlint.knowledge.precision import GRAD_SCALERS
from torchlint.knowledge.synchronization import PARAMETER_METHODS
from torchlint.knowledge.transfers import COLLECTIVES, RUNNERS

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values

_FROM_HOST = functions(lambda function: function.made and function.place == "host")
_OF_HOST = ("number", "size", "none", "other")


def call(values: Values, node: cst.Call, name: str) -> Value | None:
    """The result of a call, given the qualified name of the function; None if it is unknown."""
    if name in known.LEGACY:
        return legacy(node, name)
    if name == "torch.device":
        return devices.made(values, node)
    if name in _FROM_HOST:
        dtype = values.value(positional(node, 0)).dtype
        return Value(Kind.TENSOR, Device.CPU, dtype=dtype, sure=True, origin=node, source=name)
    if name in FACTORIES:
        return factory(values, node, name)
    if name in LOADERS:
        return Value(Kind.LOADER, origin=node, source=name)
    if name == "torch.autograd.Variable" or name in known.PARAMETERS:
        wrapped = values.value(positional(node, 0))
        return wrapped._replace(fresh=False, sure=wrapped.kind is Kind.TENSOR, origin=node)
    return _library(values, node, name)


def _library(values: Values, node: cst.Call, name: str) -> Value | None:
    root, _, last = name.rpartition(".")
    if name.startswith(known.BACKENDS) and last in known.OF_BACKENDS:
        return devices.of_backend(node, name)
    if name in known.TUPLE_FUNCTIONS:
        element = Value(Kind.TENSOR, of_operands(values, node), sure=True, origin=node, source=name)
        return Value(Kind.TUPLE, element=element, origin=node)
    if name in ("torch.max", "torch.min", "torch.median") and _has_dimension(node):
        element = Value(Kind.TENSOR, of_operands(values, node), sure=True, origin=node, source=name)
        return Value(Kind.TUPLE, element=element, origin=node)
    if root == "torch" and known.gives_tensor(last) and last[:1].islower():
        mask = function_named(last).gives == "mask" and keyword(node, "out") is None
        dtype = "bool" if mask else None
        return Value(Kind.TENSOR, of_operands(values, node), dtype=dtype, sure=True, origin=node, source=name)
    if root in ("torch.nn.functional", "torch.linalg", "torch.fft", "torch.special") or name in known.NORMS:
        return Value(Kind.TENSOR, of_operands(values, node), sure=True, origin=node, source=name)
    if root.startswith("torch.nn") and last[:1].isupper():
        return Value(Kind.MODULE, Device.CPU, origin=node, source=name)
    if root == "torchvision.models" or name.startswith(("timm.create_model", "segmentation_models_pytorch.")):
        return Value(Kind.MODULE, Device.CPU, origin=node, source=name)
    if root.startswith("torch.optim") and last[:1].isupper() and ".lr_scheduler" not in root:
        return Value(Kind.OPTIMIZER, origin=node, source=name)
    if name in GRAD_SCALERS:
        return Value(Kind.SCALER, origin=node, source=name, node=node)
    return _container(values, node, name)


def _container(values: Values, node: cst.Call, name: str) -> Value | None:
    """Python functions that build containers or take them apart."""
    if name == "builtins.map" and len(node.args) == 2:
        mapped = _result_of(values, node.args[0].value)
        return Value(Kind.LIST, element=mapped, origin=node) if mapped.known or mapped.located else None
    if name == "collections.deque" and positional(node, 0) is None:
        return Value(Kind.LIST, elements=(), origin=node)
    if name in ("builtins.dict", "collections.OrderedDict") and not node.args:
        return Value(Kind.DICT, elements=(), origin=node)
    if name == "collections.defaultdict":
        return Value(Kind.DICT, elements=(), origin=node)
    if name == "builtins.filter" and len(node.args) == 2:
        member = values.iterated_value(node.args[1].value)
        return Value(Kind.LIST, element=member, origin=node) if member.known or member.located else None
    if name in ("random.sample", "random.choices") and node.args:
        return Value(Kind.LIST, element=values.value(node.args[0].value).iterated_value(), origin=node)
    if name == "builtins.zip" and len(node.args) == 1 and node.args[0].star == "*":
        columns = values.value(node.args[0].value).iterated_value().elements
        return Value(Kind.LIST, elements=tuple(Value(Kind.TUPLE, element=c) for c in columns)) if columns else None
    if name in ("builtins.tuple", "builtins.list") and node.args:
        inner = values.value(node.args[0].value)
        return inner._replace(
            kind=Kind.LIST if name == "builtins.list" else Kind.TUPLE, fresh=True, origin=node, dtype=None
        )
    if name in ("builtins.sum", "builtins.max", "builtins.min") and node.args:
        inner = values.value(node.args[0].value)
        listed = inner.iterated_value() if inner.kind in (Kind.LIST, Kind.TUPLE) or len(node.args) == 1 else inner
        return listed._replace(origin=node, fresh=False) if listed.located else None
    return SCALAR if name in ("builtins.float", "builtins.int", "builtins.len", "builtins.bool") else None


def _result_of(values: Values, function: cst.BaseExpression) -> Value:
    """What a function of the file, or a lambda, returns."""
    if isinstance(function, cst.Lambda):
        return values.value(function.body)
    target = values.value(function)
    return values.return_value(target.node) if isinstance(target.node, cst.FunctionDef) else UNKNOWN


def _has_dimension(node: cst.Call) -> bool:
    second = positional(node, 1)
    return keyword(node, "dim") is not None or isinstance(second, (cst.Integer, cst.UnaryOperation))


# -- methods -------------------------------------------------------------------------------------


def method(values: Values, base: Value, node: cst.Call) -> Value | None:
    """The result of a method call on a tensor, module or loader; None for other receivers."""
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    if name in PARAMETER_METHODS and base.kind in (Kind.UNKNOWN, Kind.MODULE, Kind.INSTANCE):
        return _parameters(values, base, node, name)
    if name == "forward" and node.args and base.kind in (Kind.UNKNOWN, Kind.MODULE):
        return models.applied(values, base, node, node.func.value)
    if base.kind is Kind.TENSOR:
        return _tensor_method(values, base, node, name)
    if base.kind is Kind.MODULE:
        return _module_method(values, base, node, name)
    if base.kind is Kind.DICT:
        return _dict_method(base, node, name)
    if base.kind is Kind.UNKNOWN:
        return _located_method(values, base, node, name) if base.located else _unrecordmethod(values, node, name)
    return _sure_tensor(node, name)


def _located_method(values: Values, base: Value, node: cst.Call, name: str) -> Value | None:
    """Methods of a value of which only the device is known: a tensor, a model, or a container of tensors."""
    record = method_named(name)
    if record.kernel == "same" or record.gives in _OF_HOST or record.made or name in ("to", "cpu", "cuda"):
        return _tensor_method(values, base._replace(kind=Kind.TENSOR), node, name)  # only tensors have such methods
    if name in ("train", "eval", "apply"):
        return base
    if name in ("values", "items"):
        element = base if name == "values" else Value(Kind.TUPLE, elements=(UNKNOWN, base))
        return Value(Kind.LIST, element=element, origin=node)
    return base if name in ("get", "pop") else None


def _unrecordmethod(values: Values, node: cst.Call, name: str) -> Value | None:
    """Methods whose names alone tell what they return."""
    if name == "type" and values.device_evidence.is_cuda_type(positional(node, 0)):
        return Value(Kind.TENSOR, Device.VARIABLE, origin=node)
    if name == "size" and len(node.args) == 1:
        return SCALAR
    if name in COLLECTIVES and (dotted(receiver(node)) or "").rpartition(".")[2].lower() in RUNNERS:
        gathered = values.value(positional(node, 0))
        return gathered._replace(fresh=False, rank=None, origin=node) if gathered.located else None
    sure = _sure_tensor(node, name)
    if sure is not None or name not in ("to", "cuda", "cpu"):
        return sure
    moved = Value(Kind.UNKNOWN, moved_to(values, node) or Device.UNKNOWN, origin=node)
    return moved if moved.located else None


def _sure_tensor(node: cst.Call, name: str) -> Value | None:
    """``x.detach().cpu()``: only tensors have both methods."""
    assert isinstance(node.func, cst.Attribute)
    if name == "numpy" and surely_tensor(node.func.value):
        return Value(Kind.NDARRAY, origin=node, source=".numpy()")
    if name in ("detach", "cpu") and surely_tensor(node.func):
        return Value(Kind.TENSOR, Device.CPU if name == "cpu" else Device.UNKNOWN, origin=node)
    return None


def _dict_method(base: Value, node: cst.Call, name: str) -> Value | None:
    """Methods that return members of a dict whose values are all alike."""
    if base.element is None:
        return None
    if name in ("values", "items"):
        member = base.element if name == "values" else Value(Kind.TUPLE, elements=(UNKNOWN, base.element))
        return Value(Kind.LIST, element=member, origin=node)
    return base.element if name in ("get", "pop") else None


def _parameters(values: Values, base: Value, node: cst.Call, name: str) -> Value:
    """``model.parameters()``: tensors on the device of the model, or on the device to which the file moves models."""
    assert isinstance(node.func, cst.Attribute)
    device = base.device
    if not device.accelerated:
        placed = values.device_evidence.moved_to(node.func.value)
        if placed is not Device.UNKNOWN:
            device = placed
        elif not (base.located and device is Device.CPU) and values.device_evidence.on_accelerator:
            device = Device.VARIABLE
    parameter = Value(Kind.TENSOR, device, sure=base.kind is Kind.MODULE, origin=node, source=name)
    named = Value(Kind.TUPLE, elements=(Value(Kind.STRING), parameter))
    return Value(Kind.LIST, element=named if name.startswith("named_") else parameter, origin=node)


def surely_tensor(node: cst.CSTNode) -> bool:
    """``x.detach().cpu()`` is certainly a tensor: only tensors have both methods."""
    names = set()
    while isinstance(node, (cst.Attribute, cst.Call)):
        if isinstance(node, cst.Attribute):
            names.add(node.attr.value)
            node = node.value
        else:
            node = node.func
    return "detach" in names or ("cpu" in names and "numpy" in names)


def _tensor_method(values: Values, base: Value, node: cst.Call, name: str) -> Value:
    if name in ("to", "cuda", "cpu"):
        where = moved_to(values, node)
        moved = base if where is None else base._replace(device=where, batch=False)
        return moved._replace(dtype=_converted(values, base, node, name), origin=node, fresh=False)
    record = method_named(name)
    if record.gives in _OF_HOST:
        return _host(base, node, name, record.gives)
    if record.gives in ("pair", "list") or (record.gives == "pair with dim" and node.args):
        element = base._replace(fresh=False, origin=node, elements=None, batch=False, dtype=None, rank=None)
        return Value(Kind.TUPLE, element=element, origin=node)
    if name in CASTS:
        return base._replace(dtype=CASTS[name], origin=node, fresh=False, rank=base.rank)
    if record.keeps == "content":
        return base._replace(origin=node, fresh=False)
    if _flattens(node, name):
        return base._replace(origin=node, fresh=False, elements=None, rank=1)
    if name == "type":
        return _typed(values, base, node)
    if record.made or name == "type_as":
        other = values.value(positional(node, 0)) if name == "type_as" else base
        return Value(Kind.TENSOR, other.device, sure=base.sure, origin=node)
    rank = base.rank + 1 if name == "unsqueeze" and base.rank is not None else None
    return base._replace(fresh=False, rank=rank, origin=node, dtype=_result_dtype(values, base, node), elements=None)


def _result_dtype(values: Values, base: Value, node: cst.Call) -> str | None:
    """The dtype of what a method returns; ``x.view(torch.int32)`` reads the bytes as another one."""
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    record = method_named(name)
    if record.gives == "mask" or (name in ("any", "all") and base.dtype == "bool"):
        return "bool"
    if name == "view" and any("type" in (dotted(arg.value) or "") for arg in node.args):
        return None
    reads = name == "view" and any(values.value(arg.value).kind is Kind.DTYPE for arg in node.args)
    return base.dtype if record.keeps and not reads else None


def _typed(values: Values, base: Value, node: cst.Call) -> Value:
    """``x.type(..)`` of a dtype, or of a tensor type, which names a device as well."""
    target = positional(node, 0)
    if values.value(target).kind is Kind.DTYPE:
        return base._replace(dtype=values.value(target).literal, origin=node, fresh=False)
    if values.device_evidence.is_cuda_type(target):
        return Value(Kind.TENSOR, Device.VARIABLE, sure=base.sure, origin=node)
    kind = values.code.qualified(target) if target is not None else None
    if known.LEGACY.get(kind or "") == "cpu":
        return legacy(node, str(kind))._replace(sure=base.sure)
    return Value(Kind.TENSOR, Device.UNKNOWN, sure=base.sure, origin=node)


def _flattens(node: cst.Call, name: str) -> bool:
    """``x.flatten()``, ``x.view(-1)``."""
    if name in ("flatten", "ravel"):
        return not node.args
    return name in ("view", "reshape") and len(node.args) == 1 and literal(node.args[0].value) == -1


def _converted(values: Values, base: Value, node: cst.Call, name: str) -> str | None:
    """The dtype after ``.to(..)``: that of the arguments, or of another tensor."""
    if name != "to":
        return base.dtype
    asked = keyword(node, "dtype") or positional(node, 1)
    if asked is not None:
        return dtype_of(values, asked)
    target = values.value(argument(node, "device", 0))
    if target.kind is Kind.DTYPE:
        return target.literal
    plain = target.kind in (Kind.DEVICE, Kind.STRING, Kind.SCALAR)
    return base.dtype if plain else target.dtype if target.kind is Kind.TENSOR else None


def _host(base: Value, node: cst.Call, name: str, gives: str) -> Value:
    if name == "numpy":
        return Value(Kind.NDARRAY, dtype=base.dtype, rank=base.rank, origin=node, source=".numpy()")
    if gives == "size":
        return SCALAR if node.args else Value(Kind.TUPLE, element=SCALAR, origin=node)
    if name == "tolist":
        return Value(Kind.LIST, origin=node, fresh=True)
    if gives == "none":
        return Value(Kind.NONE)
    return SCALAR if name == "item" or gives == "number" else UNKNOWN


def _module_method(values: Values, base: Value, node: cst.Call, name: str) -> Value:
    if name in ("to", "cuda", "cpu"):
        where = moved_to(values, node)
        return base if where is None else base._replace(device=where, origin=node)
    if name in ("eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "apply"):
        return base
    return models.applied(values, UNKNOWN, node) or UNKNOWN


# -- attributes, subscripts, operators -----------------------------------------------------------


def attribute(base: Value, node: cst.Attribute) -> Value | None:
    """The value of an attribute of a tensor: ``x.T``, ``x.data``, ``x.shape``, ``x.device``."""
    name = node.attr.value
    if base.kind is Kind.TENSOR:
        if name in TENSOR_ATTRIBUTES:
            return base._replace(fresh=False)
        if name == "device":
            return Value(Kind.DEVICE, base.device, origin=node)
        if name in ("shape", "ndim", "is_cuda", "requires_grad", "itemsize", "nbytes"):
            return Value(Kind.TUPLE, element=SCALAR, origin=node) if name == "shape" else SCALAR
        return UNKNOWN
    if name == "grad" and base.located:
        return Value(Kind.TENSOR, base.device, origin=node, source="a gradient")
    if name == "device":
        return Value(Kind.DEVICE, base.device if base.located else Device.UNKNOWN, origin=node)
    if base.located:
        if name in METADATA:
            return Value(Kind.TUPLE, element=SCALAR, origin=node) if name == "shape" else SCALAR
        return base
    return None


def subscript(base: Value, node: cst.Subscript) -> Value | None:
    """Indexing a tensor gives a tensor on the same device."""
    if base.kind is Kind.TENSOR:
        return base._replace(fresh=False, rank=_rank_with_axes(base, node), elements=None)
    return base if base.located else None


def _rank_with_axes(base: Value, node: cst.Subscript) -> int | None:
    """The number of dimensions of ``x[:, None]``; None if an index may remove dimensions."""
    indices = [part.slice.value if isinstance(part.slice, cst.Index) else part.slice for part in node.slice]
    added = [index for index in indices if not isinstance(index, (cst.Slice, cst.Ellipsis))]
    if base.rank is None or any(literal(index) is not None for index in added):
        return None
    return base.rank + len(added)


# -- loops ---------------------------------------------------------------------------------------


def iterated(values: Values, node: cst.Call) -> Value | None:
    """The value that a loop over ``enumerate``, ``zip``, ``tqdm`` or ``next(it)`` yields; None for other calls."""
    name = values.code.qualified(node.func)
    if not node.args or node.args[0].star:
        return None
    first = node.args[0].value
    if name == "builtins.enumerate":
        return Value(Kind.TUPLE, elements=(SCALAR, values.iterated_value(first)), origin=node)
    if name == "builtins.zip":
        given = (a.value for a in node.args if a.keyword is None)
        return Value(Kind.TUPLE, elements=tuple(map(values.iterated_value, given)), origin=node)
    if name == "builtins.range":
        return SCALAR
    if name == "builtins.map" and len(node.args) == 2:
        return _result_of(values, first)
    if name == "builtins.filter" and len(node.args) == 2:
        return values.iterated_value(node.args[1].value)
    return values.iterated_value(first) if name in known.TRANSPARENT_ITERATORS else None


def batch(loader: cst.CSTNode | None) -> Value:
    """A batch of a DataLoader: tensors on the CPU, or containers of them."""
    tensor = Value(Kind.TENSOR, Device.CPU, batch=True, origin=loader, source="DataLoader")
    return tensor._replace(element=tensor)

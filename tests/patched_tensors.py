"""What Python sees of ``torch.Tensor``: ``python -m tests.patched_tensors MODE`` prints it as JSON.

``plain`` is without torchlint; the modes of an observation are observed, and end before the last entries are written.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import inspect
import io
import json
import operator
import pickle
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.gpu_help import order
from torchlint.runtime import registries
from torchlint.runtime.observation import Observation
from torchlint.runtime.patches import Patches

API = ctypes.pythonapi
CHECKS = ("PySequence_Check", "PyMapping_Check", "PyNumber_Check", "PyIndex_Check", "PyIter_Check", "PyCallable_Check")
# Python's numbers of them, which do not change; without ``tp_new``, which Python does not put back: it then looks up
# the same function.
SLOTS = [number for number in range(1, 80) if number != 65]
# All that is replaced in some mode, as a test checks.
METHODS = (
    "to cuda cpu type type_as copy_ pin_memory is_pinned get_device record_stream as_subclass new new_tensor new_zeros "
    "new_ones new_empty new_full new_empty_strided numpy __array__ tolist __repr__ __format__ allclose register_hook "
    "register_post_accumulate_grad_hook _make_wrapper_subclass __init__ __new__ __getitem__ __setitem__"
).split()
PROPERTIES = ("device", "is_cuda", "is_cpu", "grad", "grad_fn")


class Before(torch.Tensor):  # type: ignore[misc]
    """A subclass that exists before the observation."""


class Own(torch.Tensor):  # type: ignore[misc]
    """A subclass with a constructor of its own."""

    def __new__(cls, data: Any) -> Any:
        """A tensor of twice as many elements."""
        return super().__new__(cls, data * 2)


class Seen(torch.Tensor):  # type: ignore[misc]
    """A subclass that records which functions it is asked about."""

    asked: list[Any]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the function."""
        Seen.asked.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Functions(TorchFunctionMode):  # type: ignore[misc]
    """Records functions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the function."""
        self.asked.append(func)
        return func(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):  # type: ignore[misc]
    """Records operations."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operation."""
        self.asked.append(str(func))
        return func(*args, **(kwargs or {}))


class Foreign:
    """A type that tensors know nothing of, with operators of its own."""

    def __radd__(self, other: object) -> str:
        return f"radd {type(other).__name__}"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Network(nn.Module):  # type: ignore[misc]
    """Indexes, moves and copies."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.eye(2))
            self.layer.bias.zero_()
        self.register_buffer("kept", torch.zeros(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A result of all."""
        self.kept.copy_(x.to(torch.float32).cpu())
        y = self.layer(x[:, 0:2].to("cpu").type_as(self.kept))
        y[0] = x[0]
        return y + self.kept.to(device=x.device, dtype=torch.float32)


def ones() -> torch.Tensor:
    return torch.ones(2)


def zero_d() -> torch.Tensor:
    return torch.tensor(2.0)


def indexed(x: torch.Tensor) -> torch.Tensor:
    y = x[0].to(torch.float64).clone()
    y[0] = 3.0
    y[1:] = x[1, 1:]
    return y.to("cpu").to(x)  # torchlint: ignore[TL201] that is what is compared


def moved(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda:
        return x.cpu()
    if x.size(0) == 77:
        return x.cuda()
    return torch.zeros_like(x).copy_(x).type_as(x) + x.new_zeros(2)


def reading(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(2, 2)
    y.copy_(x)
    return y[0].to(x.dtype).cpu() + x[1] + x.new_ones(2) + torch.full((2,), 2.0) + torch.tensor([1.0, 2.0])


def square() -> torch.Tensor:
    return torch.arange(4.0).reshape(2, 2)


def delete(name: str) -> None:
    delattr(ones(), name)


def scripted(function: Any) -> list[Any]:
    made = torch.jit.script(function)
    return [made(square()), re.sub(r"\n\s*#.*|#.*", "", str(made.graph))]


def traced(function: Any) -> list[Any]:
    made = torch.jit.trace(function, (square(),))
    return [made(square()), sorted(node.kind() for node in made.inlined_graph.nodes())]


def compiled(function: Any) -> list[Any]:
    torch._dynamo.reset()
    graphs: list[str] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        graphs.append(str(graph.graph))
        return graph.forward

    made = torch.compile(function, backend=backend, fullgraph=True)
    return [made(square()), made(square() + 1), graphs]


def graph_count(function: Any) -> list[Any]:
    torch._dynamo.reset()
    explained = torch._dynamo.explain(function)(square())
    return [explained.graph_count, explained.graph_break_count, len(explained.out_guards) > 0]


def saved(value: Any) -> list[Any]:
    stream = io.BytesIO()
    torch.save(value, stream)
    size = len(stream.getvalue())
    stream.seek(0)
    return [torch.load(stream, weights_only=False), size]


def gradient_of(kind: Any) -> list[Any]:
    x = kind(torch.ones(2), requires_grad=True) if kind is nn.Parameter else torch.ones(2).as_subclass(kind)
    x.requires_grad_()
    x.pow(2).sum().backward()
    first, node = x.grad, (x * 2).grad_fn
    return [type(first).__name__, x.grad is first, x._grad is first, type(node).__name__, x.grad_fn]


def during() -> list[Any]:
    class During(torch.Tensor):  # type: ignore[misc]
        """A subclass made during the observation."""

        def to(self, *args: Any, **kwargs: Any) -> Any:
            """Its own."""
            return super().to(*args, **kwargs)

    x = torch.ones(2).as_subclass(During)
    found = [x[0], x.to(torch.float64), x + 1, x.clone(), copy.deepcopy(x), list(x), x.tolist(), x.numpy()]
    return [*found, isinstance(x.cpu(), During), issubclass(During, torch.Tensor), x.new_zeros(1), x.grad]


def of_subclass(kind: Any) -> list[Any]:
    x = torch.ones(2).as_subclass(kind)
    y = [x[0], x.to(torch.float64), x.cpu(), x + 1, copy.copy(x), pickle.loads(pickle.dumps(x)), x.new_tensor([1])]
    return [*y, repr(x), f"{x[0]}", x.type(), x.tolist(), x.device, x.is_cuda, x.is_pinned(), torch.tensor([x[0]])]


def asked_by(x: Any) -> None:
    x.to(torch.float64), x.cpu(), x.copy_(torch.ones(2)), x[0], x.device, x.is_cuda, x.grad, x.type_as(x), x.tolist()
    x.new_zeros(2), x.new_tensor([1.0]), x.get_device(), x.numpy(), x.is_pinned(), x.allclose(x), x.type(), x.grad_fn
    x[0] = 1.0


def names(functions: list[Any]) -> list[str]:
    kept = [function for function in functions if getattr(function, "__name__", "") != "_is_view"]
    return [torch.overrides.resolve_name(one) or getattr(one, "__name__", str(one)) for one in kept]


def seen() -> list[Any]:
    x = torch.ones(2).as_subclass(Seen)
    Seen.asked = []
    asked_by(x)
    found = Seen.asked
    return [names(found), [torch.overrides.is_tensor_method_or_property(one) for one in found]]


def seen_by_mode(mode: Any, take: Any) -> Any:
    with mode:
        asked_by(torch.ones(2))
    return take(mode.asked)


def identities() -> list[bool]:
    x = torch.ones(2).as_subclass(Seen)
    Seen.asked = []
    asked_by(x)
    table = {torch.Tensor.to: 1, torch.Tensor.copy_: 2, torch.Tensor.grad.__get__: 3, torch.Tensor.device.__get__: 4}
    return [one in table for one in Seen.asked]


def lazy() -> list[Any]:
    made = nn.LazyLinear(2).to(torch.float64).cpu()
    return [made(torch.ones(1, 3, dtype=torch.float64)).shape, made.weight.dtype]


def file_of(x: torch.Tensor) -> Any:
    with tempfile.TemporaryFile() as stream:
        x.numpy().tofile(stream)
        return stream.tell()


CASES: dict[str, Any] = {
    **{f"{check} of {made.__name__}": lambda check=check, made=made: getattr(API, check)(ctypes.py_object(made()))
       for check in CHECKS for made in (ones, zero_d)},
    **{f"{at.__name__} of {made.__name__}": lambda at=at, made=made: at(made())
       for at in (len, iter, list, tuple, reversed, sum, max, sorted, bool, float, int, operator.index, complex, repr,
                  str, format, abs, operator.neg, operator.invert, round, divmod, enumerate, dir, type, copy.copy,
                  copy.deepcopy, np.asarray, np.array, torch.as_tensor, torch.asarray, nn.Parameter, saved, file_of)
       for made in (ones, zero_d)},
    "hash": lambda: hash(x := ones()) == id(x),
    "in": lambda: [1.0 in ones(), 2.0 in ones(), torch.tensor(1.0) in ones()],
    "text in": lambda: "a" in ones(),
    "delete an item": lambda: operator.delitem(ones(), 0),
    "delete a slice": lambda: operator.delitem(ones(), slice(0, 1)),
    "an item beyond the end": lambda: ones()[2],
    "an item of a number": lambda: zero_d()[0],
    "an item of text": lambda: ones()["a"],
    "set an item of text": lambda: operator.setitem(ones(), "a", 1),
    "set an item beyond the end": lambda: operator.setitem(ones(), 2, 1),
    "items": lambda: [square()[i] for i in (0, -1, None, ..., slice(1), True, (0, 1), [0, 1], np.array([1]))],
    "getitem of C": lambda: [operator.getitem(square(), 0), operator.itemgetter(0, 1)(square()), next(iter(square()))],
    "unpacked": lambda: [*ones(), operator.sub(*ones())],
    "operators": lambda: [f(ones(), ones()) for f in (operator.add, operator.mul, operator.eq, operator.lt,
                                                       operator.matmul, operator.truediv, operator.floordiv,
                                                       operator.pow, operator.mod, operator.iadd, operator.ne)],
    "foreign operators": lambda: [ones() + Foreign(), ones().__add__(Foreign()), ones() == Foreign()],
    "foreign addition": lambda: ones() + object(),
    "foreign comparison": lambda: [ones() == object(), ones() != "a", ones().__lt__("a")],
    "foreign order": lambda: ones() < "a",
    "concatenation": lambda: operator.concat(ones(), ones()),
    "repetition": lambda: [ones() * 2, 2 * ones()],
    "formats": lambda: [f"{zero_d():.2f}", f"{zero_d()!r}", f"{ones()}", "{:>9}".format("a")],
    "format of several": lambda: f"{ones():.2f}",
    "of numbers": lambda: torch.tensor([zero_d(), zero_d()]),
    "of nested numbers": lambda: torch.tensor([[zero_d(), 1.0], [2.0, zero_d()]]),
    "of vectors": lambda: torch.tensor([ones(), ones()]),
    "of a list of one": lambda: torch.tensor([torch.ones(1), torch.ones(1)]),
    "as_tensor of numbers": lambda: [torch.as_tensor([zero_d(), zero_d()]), torch.as_tensor((ones(),))],
    "arrays of tensors": lambda: [np.array([ones(), ones()]), np.array([zero_d(), zero_d()]), np.stack([ones()] * 2)],
    "arrays": lambda: [np.asarray(ones(), dtype=np.float64), np.add(ones().numpy(), 1), np.float32(zero_d()),
                       np.ones(2, np.float32) + ones(), np.mean(ones().numpy())],
    "an array that needs a gradient": lambda: ones().requires_grad_().numpy(),
    "array that needs a gradient": lambda: np.asarray(ones().requires_grad_()),
    "pickled": lambda: pickle.loads(pickle.dumps([ones(), zero_d(), nn.Parameter(ones()), Before(2).zero_()])),
    "pickled by each protocol": lambda: [pickle.loads(pickle.dumps(ones(), number)) for number in range(2, 6)],
    "deep copies": lambda: copy.deepcopy([ones(), nn.Parameter(ones()), nn.Linear(1, 1).bias.shape]),
    "saved module": lambda: saved(Network().state_dict()),
    "constructed": lambda: [torch.Tensor([1, 2]), torch.Tensor().shape, torch.Tensor(2, 3).shape, torch.Tensor(ones())],
    "constructed subclasses": lambda: [Before([1, 2]), Before(2, 3).shape, Before(), type(Before(ones())), Own([1.0])],
    "constructed wrongly": lambda: torch.Tensor("a"),
    "constructed by name": lambda: torch.Tensor(data=ones()),
    "constructed on a device": lambda: torch.Tensor(device="cpu").device,
    "subclass before": lambda: of_subclass(Before),
    "subclass during": during,
    "gradient": lambda: gradient_of(Before),
    "gradient of a parameter": lambda: gradient_of(nn.Parameter),
    "gradient of another shape": lambda: setattr(ones(), "grad", torch.ones(3)),
    "gradient of another type": lambda: setattr(ones(), "grad", 3),
    "lazy": lazy,
    "scripted": lambda: scripted(reading),
    "scripted indexing": lambda: scripted(indexed),
    "scripted moves": lambda: scripted(moved),
    "scripted module": lambda: torch.jit.script(Network())(square()),
    "traced": lambda: traced(reading),
    "traced indexing": lambda: traced(indexed),
    "traced module": lambda: traced(Network()),
    "vmap": lambda: [torch.func.vmap(f)(torch.stack([square()] * 2)) for f in (reading, lambda x: x[0].to(torch.half))],
    "grad": lambda: torch.func.grad(lambda x: (x[0].to(torch.float32) * x.cpu()[1]).sum())(square()),
    "jacobian": lambda: torch.func.jacrev(lambda x: x[0].type_as(x) ** 2)(square()),
    "compiled": lambda: compiled(reading),
    "compiled indexing": lambda: compiled(indexed),
    "compiled moves": lambda: compiled(moved),
    "compiled module": lambda: compiled(Network()),
    "graphs": lambda: [graph_count(f) for f in (reading, indexed, moved)],
    "symbolic trace": lambda: [str(torch.fx.symbolic_trace(f).graph) for f in (reading, Network())],
    "exported": lambda: [node.name for node in torch.export.export(Network(), (square(),)).graph.nodes],
    "overridable": lambda: sorted(
        torch.overrides.resolve_name(one) or "" for one in torch.overrides.get_overridable_functions()[torch.Tensor]),
    "of tensors": lambda: list(
        map(torch.overrides.is_tensor_method_or_property, operator.attrgetter(*METHODS)(torch.Tensor))
    ),
    "resolved": lambda: [torch.overrides.resolve_name(getattr(torch.Tensor, name)) for name in METHODS],
    "resolved properties": lambda: [torch.overrides.resolve_name(getattr(torch.Tensor, name).__get__)
                                    for name in PROPERTIES],
    "seen by a subclass": seen,
    "seen by a mode of functions": lambda: seen_by_mode(Functions(), names),
    "seen by a mode of operations": lambda: seen_by_mode(Operations(), list),
    "identities": identities,
    "keys": lambda: {torch.Tensor.to: 1}[torch.Tensor.to],
    "reduced": lambda: functools.reduce(torch.Tensor.add, [ones(), ones()]),
    "partial": lambda: functools.partial(torch.Tensor.to, dtype=torch.half)(ones()),
    "method caller": lambda: operator.methodcaller("to", torch.half)(ones()),
    "mapped": lambda: list(map(torch.Tensor.cpu, [ones(), zero_d()])),
    "single dispatch": lambda: functools.singledispatch(lambda x: type(x).__name__)(ones()),
    "no device": lambda: ones().to("nowhere"),
    "no such device": lambda: ones().to("cpu:x"),
    "moves": lambda: [ones().to(*a, **k) for a, k in (((), {"dtype": torch.half}), ((torch.half,), {}), (("cpu",), {}),
                      ((zero_d(),), {}), (("cpu", torch.half, True, True), {}), ((), {"device": "cpu", "copy": True}),
                      ((torch.half, False), {}), ((), {"other": zero_d()}), ((), {}),
                      ((), {"memory_format": torch.preserve_format}))],
    "the same tensor": lambda: [(x := ones()).to("cpu") is x, x.cpu() is x, x.to(x) is x, x.type_as(x) is x,
                                x.to(torch.float32) is x, x.type(torch.float32) is x, x.float() is x],
    "other types": lambda: [x.type() for x in (ones(), ones().long(), ones().bool(), ones().to_sparse())],
    "by type": lambda: [ones().type(kind) for kind in (torch.half, "torch.DoubleTensor", torch.LongTensor)],
    "new": lambda: [ones().new(2).shape, ones().new([1, 2]), ones().new_full((2,), 3), ones().new_tensor(3).shape,
                    ones().new_zeros(2, 1), ones().new_zeros((2,), dtype=torch.long), ones().new_ones(size=(1,))],
    "copies": lambda: [ones().copy_(torch.zeros(1)), torch.zeros(2, 2).copy_(ones()), ones().copy_(src=zero_d())],
    "a copy of another shape": lambda: ones().copy_(torch.ones(3)),
    "close": lambda: [ones().allclose(ones()), torch.allclose(ones(), ones() + 1, atol=2), ones().allclose(other=ones())
    ],
}  # fmt: skip


def signature(function: Any) -> str:
    try:
        return str(inspect.signature(function))
    except ValueError:
        return "unknown"


def refused(function: Any, *args: Any, **kwargs: Any) -> str:
    """The class of the exception: what is written in Python and in C says in other words what is missing."""
    try:
        return _without_addresses(str(function(*args, **kwargs)))
    except Exception as error:
        return type(error).__name__


def attribute(name: str) -> dict[str, Any]:
    """What is asked of a replaced method."""
    kind = functools.partial(getattr, torch.Tensor, name)
    return {
        **{f"{fact} of {name}": lambda fact=fact: getattr(kind(), fact) for fact in ("__name__", "__doc__")},
        f"signature of {name}": lambda: signature(kind()),
        f"signature of a bound {name}": lambda: signature(getattr(ones(), name)),
        f"is a routine: {name}": lambda: [inspect.isroutine(kind()), callable(kind()), hasattr(ones(), name)],
        f"{name} with an unknown argument": lambda: refused(getattr(ones(), name), nonsense=1),
        f"{name} of an object": lambda: refused(getattr(ones(), name), object()),
        f"{name} of nothing": lambda: refused(kind()),
        f"{name} of a number": lambda: refused(kind(), 3),
    }


def descriptor(name: str) -> dict[str, Any]:
    """What is asked of a replaced property."""
    kind = functools.partial(getattr, torch.Tensor, name)
    return {
        **{f"{fact} of {name}": lambda fact=fact: getattr(kind(), fact) for fact in ("__name__", "__doc__")},
        f"owner of {name}": lambda: kind().__objclass__,
        f"is data: {name}": lambda: [inspect.isdatadescriptor(kind()), callable(kind()), inspect.isroutine(kind())],
        f"{name} as it is": lambda: getattr(ones(), name),
        f"{name} is set": lambda: setattr(ones(), name, 3),
        f"{name} is deleted": lambda: delete(name),
        f"{name} of a number": lambda: kind().__get__(3),
    }


for _name in METHODS:
    CASES |= attribute(_name)
for _name in PROPERTIES:
    CASES |= descriptor(_name)


def shown(value: Any) -> Any:
    """A value as plain data."""
    if isinstance(value, torch.Tensor):
        content = torch.Tensor.tolist(value.detach()) if value.layout is torch.strided else "sparse"
        return [type(value).__name__, str(value.dtype), str(content), value.requires_grad, list(value.shape)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    if isinstance(value, dict):
        return {str(key): shown(member) for key, member in value.items()}
    return f"{type(value).__name__} {_without_addresses(repr(value))}"


def _without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "", text)


def outcome(case: Callable[[], Any]) -> Any:
    """What it returns or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(case())
        except Exception as error:
            return f"{type(error).__name__}: {_without_addresses(str(error))}"


def slots(kind: Any) -> list[int]:
    """The addresses of the functions in C of a type."""
    get = API.PyType_GetSlot
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    return [get(kind, number) or 0 for number in SLOTS]


def state() -> list[Any]:
    """What must be restored: attributes and slots of the class, and torch's registries of functions."""
    from torch import overrides
    from torch.jit._builtins import _get_builtin_table

    registries = (overrides._get_tensor_methods(), overrides.get_default_nowrap_functions(), _get_builtin_table())
    sizes = [len(registry) for registry in (*registries, *overrides._get_overridable_functions())]
    return [{name: id(value) for name, value in vars(torch.Tensor).items()}, sizes, slots(torch.Tensor), slots(Before)]


def record(names: set[str]) -> None:
    """Record which attributes of tensors are replaced from now on."""
    real = Patches.set

    def put(self: Patches, owner: Any, name: str, value: Any) -> None:
        if owner is torch.Tensor:
            names.add(name)
        real(self, owner, name, value)

    Patches.set = put  # type: ignore[method-assign]


def main(mode: str) -> None:
    """Print everything."""
    found: dict[str, Any] = {}
    names: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        ordered = order(Path(folder))

        def observation() -> Any:
            return contextlib.nullcontext() if mode == "plain" else observed(Observation(ordered, mode))

        registries.fill()
        before = state()
        with observation():
            pass
        found["restored"] = [one == other for one, other in zip(before, state(), strict=True)]
        record(names)
        with observation():
            found["filled"] = [slot != 0 for slot in slots(torch.Tensor)]
            found["cases"] = {name: outcome(case) for name, case in CASES.items()}
    found["replaced"] = sorted(names)
    sys.stdout.write("\n" + json.dumps(found) + "\n")


@contextlib.contextmanager
def observed(observation: Observation) -> Iterator[None]:
    """While the program of an observation runs."""
    observation.start()
    try:
        yield
    finally:
        observation.stop()


if __name__ == "__main__":
    main(sys.argv[1])

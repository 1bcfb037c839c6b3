"""Abstract values: what an expression may be in a normal run."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlint.project.followed import OWN

if TYPE_CHECKING:
    import ast


class Kind(Enum):
    """What a value is."""

    UNKNOWN = "unknown"
    CONSTANT = "constant"  # `detail` is the constant
    NUMBER = "number"  # `detail` is a Counted, for numbers that conditions are rare by
    TEXT = "text"  # `target` is what is known of it, and the name of a type of tensors has a `device`
    FLAG = "flag"  # a bool of the host, or the outcome of a comparison
    TENSOR = "tensor"  # `fields` are the calls that have joined parts of it, with the rounds of the loops around
    ARRAY = "array"  # of NumPy
    TUPLE = "tuple"  # `items` are the elements; also a short list whose elements are known
    LIST = "list"  # `element` is what its elements are
    DICT = "dict"  # `fields` by key, `element` for other keys; `detail` says that there may be more
    INSTANCE = "instance"  # `target` is the object
    CLASS = "class"
    FUNCTION = "function"  # `target` is the function, `receiver` what it is bound to
    METHOD = "method"  # of something that is no function of the project; `detail` is its name, `receiver` the thing
    MODULE = "module"  # a file of the project
    PACKAGE = "package"  # a folder of the project without `__init__.py`
    LIBRARY = "library"  # `detail` is the dotted name
    LIBRARY_MODULE = "library module"  # an `nn.Module` of a library
    MODULES = "modules"  # a container of modules, in `items`
    LOADER = "loader"  # `element` is its batch
    DATASET = "dataset"  # of tensors, in `items`
    OPTIMIZER = "optimizer"
    DEVICE = "device"
    GENERATOR = "generator"  # `target` is its frame; `receiver` is the loader of which it is an iterator
    PARTIAL = "partial"
    UNION = "union"  # of `items`, all of which may be called or have attributes
    PARSER = "parser"  # of command-line arguments; `fields` are its options
    SHAPE = "shape"
    RANGE = "range"
    DISTRIBUTION = "distribution"  # `detail` is its class; `sure` means that it checks its arguments
    STREAM = "stream"  # of a device, or an event of one: `detail` is the form in which the host waits for it
    PACKED = "packed"  # a packed sequence
    SUPER = "super"


class Device(Enum):
    """Where a tensor is."""

    ACCELERATOR = "accelerator"
    HOST = "host"
    UNKNOWN = "unknown"


class Counted(Enum):
    """What a number counts or measures, where a comparison with it holds rarely, or in one mode of a program."""

    STEPS = "steps"  # i, step += 1
    REMAINDER = "remainder"  # step % n
    TIME = "time"
    ITEMS = "items"  # of a batch whose items are not known


class Origin(NamedTuple):
    """Where content of the host was made: an ``array``, ``read`` from the device, a loader's ``batch``, and so on.

    What a program makes itself is of one of the kinds ``OWN``: ``made`` by a factory of torch, ``drawn`` if that is
    random, ``fixed`` if its arguments are constants; ``generated`` by a factory of NumPy; or made of a ``number``,
    ``numbers``, ``constant numbers`` or other ``data``. ``computed`` is what the host makes of a batch, ``uploaded``
    content of the device that was copied there, and that the host has as well. ``frame`` and ``region`` are of
    :mod:`torchlint.engine.frames`. ``pins``: whether the loader of a batch pins it; None if that is not known.
    ``others`` are other loaders that the batch may come from. ``varies``: something that is not constant has chosen or
    changed it, so that it may be something else each time.

    The memory of the host that a tensor or array lies in has an origin as well: ``pinned``; ``arriving``, to which a
    copy from the device is queued; or pageable, being made of Python ``data``, a ``few`` of them or an ``array``, of
    parts of a ``batch`` or other ``tensors`` that are joined or computed with, or of pinned memory that is
    ``converted``, or a ``strided`` view of that, which is made contiguous before it is copied.
    """

    kind: str
    frame: Any
    region: Any
    node: ast.AST
    pins: bool | None = None
    others: tuple[Origin, ...] = ()
    varies: bool = False

    @property
    def every(self) -> tuple[Origin, ...]:
        """This one and the others."""
        return self, *self.others


def computed(origin: Origin | None) -> Origin | None:
    """The origin of what is computed from something: a ``batch`` that is converted is none any more.

    The host does not have what is computed from what was ``uploaded``.
    """
    if origin is None or origin.kind == "uploaded":
        return None
    return origin._replace(kind="computed") if origin.kind == "batch" else origin


class Option(NamedTuple):
    """An option of the program that a value depends on, and whether the value is true in a normal run; None if unknown.

    ``name`` is the option without which that differs; with a space in it, it says in words how a run differs.
    ``given``: the configuration gives the option its value, and not the program by default. ``assumed``: a parameter of
    a function that nothing is known to call. ``others`` are other values that scripts and option files give it.
    """

    name: str
    on: bool | None
    given: bool = False
    assumed: bool = False
    others: frozenset[str] = frozenset()


class Value:
    """An abstract value; never changed after it is made, except for the content of containers.

    ``sure`` means that a tensor is known by what makes it, and that a constant cannot be something else. ``rarely`` is
    1 for a condition that holds rarely, -1 for one that rarely does not. ``maybe_none`` adds None to what it may be.
    ``rank`` is the number of dimensions of a tensor, if that is known. ``items`` of a number is one that it may be.
    """

    __slots__ = (
        "detail", "device", "element", "fields", "items", "kind", "maybe_none", "memory", "option", "origin", "rank",
        "rarely", "receiver", "sure", "target",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - a record
        self,
        kind: Kind,
        detail: Any = None,
        *,
        device: Device | None = None,
        sure: bool = True,
        items: list[Value] | None = None,
        element: Value | None = None,
        fields: dict[Any, Value] | None = None,
        target: Any = None,
        receiver: Value | None = None,
        origin: Origin | None = None,
        rank: int | None = None,
        rarely: int = 0,
        option: Option | None = None,
        maybe_none: bool = False,
    ) -> None:
        self.kind, self.detail, self.device, self.sure = kind, detail, device, sure
        self.items, self.element, self.fields = items or [], element, fields if fields is not None else {}
        self.target, self.receiver, self.origin, self.rank = target, receiver, origin, rank
        self.rarely, self.option, self.maybe_none = rarely, option, maybe_none
        self.memory: Origin | None = None  # of the host, where that is known

    def or_none(self) -> Value:
        """This value or None, as far as conditions on it may decide anything."""
        if self.maybe_none or self.kind not in _NULLABLE:
            return self
        return self._copy(maybe_none=True)

    def certain(self) -> Value:
        """This tensor, known to be one."""
        return self._copy(sure=True)

    def overwritten(self) -> Value:
        """This value with other content, which comes from nowhere in particular.

        What the program makes itself remains its own, until data are written to it: see :meth:`State.involve`.
        """
        return self if self.origin is not None and self.origin.kind in OWN else self.with_origin(None)

    def with_origin(self, origin: Origin | None) -> Value:
        """This value with content that comes from somewhere else."""
        return self._copy(origin=origin)

    def assumed(self) -> Value:
        """This option as a parameter of a function that nothing is known to call."""
        return self._copy(option=self.option._replace(assumed=True) if self.option is not None else None)

    def only(self, option: Option) -> Value:
        """This class or function, which is chosen only with an option."""
        return self._copy(option=option)

    def joined(self, calls: dict[Any, Any]) -> Value:
        """This tensor, of parts that calls have joined."""
        return self._copy(fields=calls) if calls and self.kind is Kind.TENSOR else self

    def within(self, memory: Origin | None) -> Value:
        """This tensor or array in this memory of the host."""
        return self if memory is self.memory else self._copy(memory=memory)

    def moving_inputs(self) -> Value:
        """This module, or one of these, in a wrapper that moves what it is called with to the device."""
        if self.kind is Kind.UNION:
            return self._copy(items=[item.moving_inputs() for item in self.items])
        return self._copy(device=Device.ACCELERATOR)

    @property
    def moves_inputs(self) -> bool:
        """Whether this is a module that moves what it is called with to the device."""
        return self.device is Device.ACCELERATOR and self.kind in _MODULES

    def _copy(self, **changes: object) -> Value:
        copy = Value.__new__(Value)
        for name in Value.__slots__:
            setattr(copy, name, changes.get(name, getattr(self, name)))
        return copy

    @property
    def is_text(self) -> bool:
        """Whether this is a string, known or not."""
        return self.kind is Kind.TEXT or (self.kind is Kind.CONSTANT and isinstance(self.detail, str))

    @property
    def is_none(self) -> bool:
        """Whether this is certainly None."""
        return self.kind is Kind.CONSTANT and self.detail is None

    @property
    def members(self) -> list[Value]:
        """The members of a union, or the value itself."""
        return self.items if self.kind is Kind.UNION else [self]

    @property
    def is_batch(self) -> bool:
        """Whether this is an element of an iterable that is not known, or of a loader: perhaps a batch."""
        return self.kind not in _NAMED and isinstance(self.detail, str) and self.detail == BATCH

    def __repr__(self) -> str:
        parts = [self.kind.value, self.detail, self.device and self.device.value, "" if self.sure else "?"]
        return f"<{' '.join(str(part) for part in parts if part)}>"


BATCH = "batch"  # the detail of what loaders and unknown iterables yield
MOVED = "moved"  # the detail of what was moved to the device, such as a dict of tensors: a tensor, if it is not sure
MASK, INDICES = "mask", "indices"  # the details of boolean tensors, and of those of integers
ANY_MODULE = "module"  # the detail of a module that only an option names
HANDLE = "handle"  # the detail of an open file or database, which only one process can use
SPARSE = "sparse"  # the detail of sparse and nested tensors

_NULLABLE = frozenset(
    {
        Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.LIBRARY_MODULE, Kind.PARTIAL, Kind.LOADER, Kind.OPTIMIZER,
        Kind.UNION, Kind.MODULES, Kind.TENSOR, Kind.LIBRARY,
    }
)  # fmt: skip
CALLABLE = frozenset(
    {
        Kind.FUNCTION, Kind.CLASS, Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.UNION, Kind.PARTIAL, Kind.LOADER,
        Kind.OPTIMIZER, Kind.MODULE, Kind.MODULES, Kind.LIBRARY, Kind.GENERATOR, Kind.SUPER,
    }
)  # fmt: skip
_MODULES = frozenset({Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES})
PLAIN = frozenset({Kind.NUMBER, Kind.CONSTANT, Kind.FLAG, Kind.TEXT})  # of the host, without content of tensors
_NAMED = frozenset({Kind.METHOD, Kind.CONSTANT, Kind.LIBRARY, Kind.FUNCTION, Kind.CLASS})  # by their details
SEQUENCES = frozenset({Kind.TUPLE, Kind.LIST})
TYPES = {Kind.TENSOR: "torch.Tensor", Kind.ARRAY: "numpy.ndarray"}  # by dotted names

UNKNOWN = Value(Kind.UNKNOWN)
NONE = Value(Kind.CONSTANT)
NUMBER = Value(Kind.NUMBER)
TEXT = Value(Kind.TEXT)
FLAG = Value(Kind.FLAG)
SHAPE = Value(Kind.SHAPE)
ELEMENT = Value(Kind.UNKNOWN, BATCH)
COUNTER = Value(Kind.NUMBER, Counted.STEPS)


def constant(value: object) -> Value:
    """A constant."""
    return Value(Kind.CONSTANT, value)


def library(name: str) -> Value:
    """What a dotted name of a library stands for."""
    return Value(Kind.LIBRARY, name)


def tensor(
    device: Device = Device.UNKNOWN,
    *,
    sure: bool = True,
    detail: str | None = None,
    origin: Origin | None = None,
    rank: int | None = None,
) -> Value:
    """A tensor."""
    return Value(Kind.TENSOR, detail, device=device, sure=sure, origin=origin, rank=rank)


def sequence(items: list[Value]) -> Value:
    """A tuple, or a list whose elements are known one by one."""
    return Value(Kind.TUPLE, items=items)


def collection(element: Value | None) -> Value:
    """A list, set or other collection of elements of one kind."""
    return Value(Kind.LIST, element=element)


def leaves(value: Value, depth: int = 2) -> Iterator[Value]:
    """The values inside of containers; other values themselves."""
    if value.kind is Kind.TUPLE and depth:
        for item in value.items:
            yield from leaves(item, depth - 1)
    elif value.kind in (Kind.LIST, Kind.GENERATOR) and depth:
        if value.element is not None:
            yield from leaves(value.element, depth - 1)
    elif value.kind is Kind.DICT and depth:
        for item in list(value.fields.values())[:_FIELDS]:
            yield from leaves(item, depth - 1)
        if value.element is not None:
            yield from leaves(value.element, depth - 1)
    else:
        yield value


_FIELDS = 12  # of a dict that are looked into

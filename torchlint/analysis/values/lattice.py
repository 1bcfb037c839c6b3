"""The lattice of abstract values: what is proved about an expression.

A value holds on every path. :data:`UNKNOWN` means that nothing is proved, and no rule reports it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from torchlint.knowledge.portability import OTHER_ACCELERATORS

_MEMBERS = 1000


class Kind(enum.Enum):
    """The kind of object that an expression evaluates to."""

    UNKNOWN = "unknown"
    TENSOR = "tensor"
    NDARRAY = "ndarray"
    NUMPY_SCALAR = "NumPy scalar"
    SCALAR = "Python number"
    STRING = "string"
    NONE = "None"
    LIST = "list"
    TUPLE = "tuple"
    DICT = "dict"
    FRAME = "DataFrame"
    SERIES = "Series"
    IMAGE = "PIL image"
    GENERATOR = "NumPy generator"
    MODULE = "module"
    LOADER = "DataLoader"
    OPTIMIZER = "optimizer"
    SCALER = "gradient scaler"
    DEVICE = "device"
    DTYPE = "dtype"
    FUNCTION = "function"
    CLASS = "class"
    INSTANCE = "instance"
    NOTHING = "nothing"


class Device(enum.Enum):
    """The device of a tensor.

    ``VARIABLE`` is an accelerator if there is one, else the CPU; ``OTHER`` is the same for accelerators that are not
    CUDA devices, such as MPS and XPU.
    """

    UNKNOWN = "unknown"
    CPU = "cpu"
    CUDA = "cuda"
    VARIABLE = "variable"
    OTHER = "other"

    @property
    def accelerated(self) -> bool:
        """Whether the tensor is on an accelerator, at least on machines that have one."""
        return self in (Device.CUDA, Device.VARIABLE, Device.OTHER)

    @property
    def may_be_cuda(self) -> bool:
        """Whether the tensor is on an accelerator that may be a CUDA device."""
        return self in (Device.CUDA, Device.VARIABLE)


class Value(NamedTuple):
    """The abstract value of an expression.

    ``elements`` are the members of a tuple or list display, ``element`` is a value for all members; ``origin`` is
    the expression that created the object and ``source`` describes it in a message; ``literal`` is the text of a
    string or dtype; ``node`` is the definition of a function or class, a dict display, or the call that makes a
    gradient scaler. ``fresh`` means that nothing else refers to the memory. ``readonly`` means that writing to an
    array may fail, ``unshareable`` that a tensor cannot or must not share its memory (a memory map, negative
    strides, strings). ``sure`` means that a tensor is known by what makes it or by its annotation, and not only by what
    is done with it, which other objects may allow as well. ``batch`` marks a batch from a data loader that has not been
    moved.
    """

    kind: Kind = Kind.UNKNOWN
    device: Device = Device.UNKNOWN
    dtype: str | None = None
    rank: int | None = None
    fresh: bool = False
    readonly: bool = False
    unshareable: bool = False
    sure: bool = False
    batch: bool = False
    literal: str | None = None
    elements: tuple[Value, ...] | None = None
    element: Value | None = None
    origin: cst.CSTNode | None = None
    source: str | None = None
    node: cst.CSTNode | None = None

    @property
    def known(self) -> bool:
        """Whether anything is proved."""
        return self.kind is not Kind.UNKNOWN

    @property
    def accelerated(self) -> bool:
        """A tensor on an accelerator, or something that came from one: the output of a model, a moved batch."""
        return self.device.accelerated and self.kind in (Kind.TENSOR, Kind.UNKNOWN)

    @property
    def located(self) -> bool:
        """Whether this is a tensor, or came from one, whose device is known; it may be the CPU."""
        return self.device is not Device.UNKNOWN and self.kind in (Kind.TENSOR, Kind.UNKNOWN)

    def at(self, step: int | str) -> Value:
        """The member at one step of an unpacking path."""
        if step == "each":
            return self.iterated_value()
        if isinstance(step, int) and self.elements is not None:
            return self.elements[step] if step < len(self.elements) else UNKNOWN
        if step != "*" and self.kind is not Kind.NOTHING:
            return self.iterated_value()
        return self if self.located and self.kind is Kind.UNKNOWN else UNKNOWN

    def iterated_value(self) -> Value:
        """The value that iterating over the object yields."""
        if self.element is not None:
            return self.element
        if self.elements:
            return join(self.elements)
        if self.kind is Kind.NDARRAY and self.rank is not None:
            return row(self)
        if self.kind is Kind.TENSOR:
            return self._replace(rank=None, fresh=False, elements=None)
        return self if self.located else UNKNOWN


UNKNOWN = Value()
NOTHING = Value(Kind.NOTHING)
NONE = Value(Kind.NONE)
SCALAR = Value(Kind.SCALAR)


def row(array: Value) -> Value:
    """An ndarray indexed by one integer: a view with one dimension less, or a NumPy scalar."""
    if array.rank is None:
        return UNKNOWN
    if array.rank <= 1:
        return array._replace(kind=Kind.NUMPY_SCALAR, rank=0, fresh=False)
    return array._replace(rank=array.rank - 1, fresh=False)


def bounded(value: Value) -> Value:
    """The value, without its members if there are so many that comparing it would take long."""
    count, stack = 0, [value]
    while stack:
        one = stack.pop()
        count += 1
        if count > _MEMBERS:
            return value._replace(elements=None, element=None)
        if one.elements:
            stack += one.elements
        if one.element is not None:
            stack.append(one.element)
    return value


def join(values: Iterable[Value]) -> Value:
    """The join of several values. ``None`` is ignored if there are other values."""
    merged: Value = NOTHING
    for value in values:
        merged = _join(merged, value)
        if merged is UNKNOWN:
            return UNKNOWN
    return UNKNOWN if merged is NOTHING else merged


def _join(one: Value, other: Value) -> Value:
    if one.kind is Kind.NOTHING or one == other:
        return other
    if other.kind is Kind.NOTHING:
        return one
    if one.kind is Kind.NONE or other.kind is Kind.NONE:
        return other if one.kind is Kind.NONE else one
    if {one.kind, other.kind} == {Kind.STRING, Kind.DEVICE}:
        return Value(Kind.DEVICE, join_devices(device_named(one), device_named(other)), origin=one.origin)
    if one.kind is not other.kind:
        if Kind.UNKNOWN in (one.kind, other.kind):
            one, other = _placed(one), _placed(other)
        if one.accelerated and other.accelerated:  # a tensor, and a value of which only the device is known
            return Value(Kind.UNKNOWN, join_devices(one.device, other.device), origin=one.origin)
        return UNKNOWN
    return _join_same(one, other)


def _placed(value: Value) -> Value:
    """A list whose members are all on an accelerator as a value of which only the device is known."""
    if value.kind not in (Kind.LIST, Kind.TUPLE) or not value.elements:
        return value
    members = join(value.elements)
    return Value(Kind.UNKNOWN, members.device, origin=value.origin) if members.accelerated else value


def _join_same(one: Value, other: Value) -> Value:
    def agreed(name: str) -> object:
        mine, theirs = getattr(one, name), getattr(other, name)
        return mine if mine == theirs else None

    device = join_devices(device_named(one), device_named(other))
    if one.kind is Kind.UNKNOWN and Device.CPU in (one.device, other.device) and device is not Device.CPU:
        return UNKNOWN  # only the device was known, and it differs
    elements = None
    if one.elements is not None and other.elements is not None and len(one.elements) == len(other.elements):
        elements = tuple(join(pair) for pair in zip(one.elements, other.elements, strict=True))
    return Value(
        kind=Kind.DEVICE if one.kind is Kind.STRING and device is not Device.UNKNOWN else one.kind,
        device=device,
        dtype=agreed("dtype"),  # type: ignore[arg-type]
        rank=agreed("rank"),  # type: ignore[arg-type]
        fresh=one.fresh and other.fresh,
        readonly=one.readonly or other.readonly,
        unshareable=one.unshareable or other.unshareable,
        sure=one.sure and other.sure,
        batch=one.batch and other.batch,
        literal=agreed("literal"),  # type: ignore[arg-type]
        elements=elements,
        element=join((one.element, other.element)) if one.element and other.element else None,
        origin=one.origin,
        source=one.source,
        node=agreed("node"),  # type: ignore[arg-type]
    )


def join_devices(one: Device, other: Device) -> Device:
    """The join of two devices: CUDA on one path and the CPU on the other is ``VARIABLE``."""
    if one is other:
        return one
    if Device.UNKNOWN in (one, other):
        return Device.UNKNOWN
    return Device.OTHER if {one, other} == {Device.OTHER, Device.CPU} else Device.VARIABLE


def device_named(value: Value) -> Device:
    """The device that a string or device object names."""
    if value.kind is Kind.STRING and value.literal is not None:
        return _NAMED.get(value.literal.split(":")[0], Device.UNKNOWN)
    return value.device


_NAMED = {"cpu": Device.CPU, "cuda": Device.CUDA, **dict.fromkeys(OTHER_ACCELERATORS, Device.OTHER)}

"""The records of the catalogue."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

# What the result is, beside one tensor: a mask; integers; whether something holds, which is a mask unless the tensor
# has bytes; values and indices, always or with a dimension; several tensors; a number, the sizes or a truth value for
# Python; nothing; something else.
Gives = Literal[
    "tensor", "mask", "indices", "truth", "pair", "pair with dim", "list", "number", "size", "flag", "none", "other"
]
# Its memory: new, that of the tensor, perhaps that of the tensor, or the tensor itself.
Memory = Literal["new", "view", "maybe", "self"]
# What it has of the tensor: its elements and shape; its elements, once or repeated; only its dtype.
Keeps = Literal["", "content", "elements", "dtype"]
# What the other arguments are, so that tensors among them are read: sizes; numbers; numbers that decide the size of the
# result; the last is a number; numbers or tensors, but not one of each.
Takes = Literal["", "sizes", "numbers", "counts", "last", "limits"]
# What the content of a new tensor comes from: zeros and ones, which every dtype has; other constants; constants that
# may differ in the last bits; nothing; a generator; data of the host, a number or a buffer; indices and values.
Made = Literal["", "units", "constant", "rounded", "nothing", "random", "data", "number", "buffer", "sparse"]
# Where it can run: on every device, with the same result, so that a detour over the host gains nothing; on a device as
# well, where it may wait, copy or draw otherwise; not on every device.
Kernel = Literal["", "same", "own", "some"]
Place = Literal["", "host", "device", "pinned"]

# What reads the number of elements that it selects or finds: a boolean mask that is read, written with a tensor, or
# updated in place; indices; distinct values; the largest class; the sum of repetitions; the largest bin.
CountedKind = Literal["mask", "write", "update", "indices", "unique", "one_hot", "repeat", "bins"]

ARGUMENTS: Final = -1  # as a number of dimensions: that of the arguments


class Counted(NamedTuple):
    """A result whose size depends on content, and the parameters of what counts it."""

    kind: CountedKind
    parameters: tuple[str, ...] = ("input",)


class Wait(NamedTuple):
    """Why the host waits for the device, the place in PyTorch's source code (2.13) that shows it, and how often.

    ``operations`` are those of ATen, without their namespace, that wait whatever their arguments are.
    """

    why: str
    source: str
    operations: tuple[str, ...] = ()
    times: int | str = "1+"


class Function(NamedTuple):
    """A function of ``torch`` (``f``), of ``torch.nn.functional`` (``n``) or a method of tensors (``m``).

    ``place`` is where the result is, if not where the tensor is. ``dtype`` is that of the result, with a question mark
    if the arguments decide it, and ``rank`` its number of dimensions. ``alone`` means that nothing but the tensor is
    computed with: other arguments are sizes, dimensions and the like; ``only`` that of all objects only tensors and
    arrays have the method. ``reduces``: few elements are left of many, added up or others.
    """

    where: str = "mf"
    gives: Gives = "tensor"
    memory: Memory = "new"
    keeps: Keeps = ""
    takes: Takes = ""
    made: Made = ""
    kernel: Kernel = ""
    place: Place = ""
    dtype: str = ""
    rank: int | None = None
    alone: bool = False
    only: bool = False
    draws: bool = False
    joins: bool = False
    enlarges: bool = False
    reduces: Literal["", "sum", "other"] = ""
    counts: Counted | None = None
    waits: Wait | None = None

    @property
    def shares(self) -> bool:
        """Whether the result may share the memory of the tensor."""
        return self.memory != "new"

    @property
    def makes_mask(self) -> bool:
        """Whether the result is a mask."""
        return self.gives in ("mask", "truth") or self.dtype == "bool"

    @property
    def reads_elements(self) -> bool:
        """Whether the elements of a tensor on the host are read, rather than handed on or replaced."""
        tensors = self.gives not in ("number", "size", "none", "other") or self.place == "host"
        return tensors and not self.shares and not self.made

    @property
    def about_storage(self) -> bool:
        """Whether it only tells how a tensor is stored."""
        return self.gives in ("number", "size") and not self.shares

"""The content that a torch factory should create: its arguments, the numbers in it, and its conversions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.knowledge.dtypes import COUNTING, NO_EYE, Number, fills, holds, holds_all

DEFAULT = "the default dtype"


class Constants(NamedTuple):
    """A constant, or zeros and ones."""

    values: tuple[Number, ...]
    factory: str

    def held(self, dtype: str) -> bool:
        """Whether the dtype represents the numbers exactly."""
        return all(holds(dtype, value) for value in self.values)

    def made(self, dtype: str) -> bool:
        """Whether the factory creates the same numbers in a dtype as a conversion to it."""
        eye = self.factory == "torch.eye" and dtype in NO_EYE
        return not eye and all(fills(dtype, value) for value in self.values)


class Count(NamedTuple):
    """A sequence of integers; ``span`` is the minimum and maximum, if they are known.

    ``upward`` means that it counts from zero, so that its length is limited by memory.
    """

    span: tuple[int, int] | None = None
    upward: bool = False

    def held(self, dtype: str) -> bool:
        """Whether the dtype represents all numbers exactly."""
        if self.span is not None:
            return holds_all(dtype, *self.span)
        return dtype == "int64" or (self.upward and holds_all(dtype, 0, 2**31 - 1))

    def made(self, dtype: str) -> bool:
        """Whether ``torch.arange`` creates the same numbers in a dtype as a conversion to it."""
        return dtype in COUNTING and self.held(dtype)


@dataclass
class Content:
    """A factory with its arguments.

    ``natural`` is the default dtype of the factory. ``stages`` are the dtypes of the conversions before that by torch,
    None if one is unknown; for a list, the dtype that torch infers. ``numbers`` is None if the factory creates other
    numbers anyway. ``fill`` is the value for ``torch.full``, ``spelled`` its source text, and ``form`` the methods that
    change the shape. ``dimensions`` is false if the array may have none.
    """

    factory: str
    arguments: str
    natural: str = DEFAULT
    stages: tuple[str | None, ...] = ()
    numbers: Constants | Count | None = None
    caveats: list[str] = field(default_factory=list)
    fill: Number | None = None
    spelled: str | None = None
    form: str = ""
    listed: bool = False
    dimensions: bool = True

    def repeated(self) -> str | None:
        """The value for ``torch.full``, in its original spelling if that still gives the same number."""
        return self.spelled if self.fill is None or self.spelled is not None else repr(self.fill)

    def repeat_float(self) -> None:
        """Write the value for ``torch.full`` as a float, so that it gets the default dtype."""
        if self.fill is not None and not isinstance(self.fill, float):
            self.fill, self.natural, self.spelled = float(self.fill), DEFAULT, None

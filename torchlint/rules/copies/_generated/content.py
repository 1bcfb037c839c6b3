"""The content of a new tensor: the factory with its arguments, the numbers it creates, and their dtypes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.knowledge.dtypes import COUNTING, NO_EYE, Number, fills, holds, holds_all

DEFAULT = "the default dtype"


class Constants(NamedTuple):
    """A constant, or zeros and ones."""

    values: tuple[Number, ...]
    factory: str

    def fits(self, dtype: str) -> bool:
        """Whether the dtype represents the numbers exactly."""
        return all(holds(dtype, value) for value in self.values)

    def can_create(self, dtype: str) -> bool:
        """Whether the factory creates the same numbers in a dtype as a conversion to it."""
        eye = self.factory == "torch.eye" and dtype in NO_EYE
        return not eye and all(fills(dtype, value) for value in self.values)


class Count(NamedTuple):
    """A sequence of integers; ``bounds`` are the smallest and the largest one, if they are known.

    ``from_zero`` is true for a sequence that counts up from zero.
    """

    bounds: tuple[int, int] | None = None
    from_zero: bool = False

    def fits(self, dtype: str) -> bool:
        """Whether the dtype represents all of them exactly."""
        if self.bounds is not None:
            return holds_all(dtype, *self.bounds)
        return dtype == "int64" or (self.from_zero and holds_all(dtype, 0, 2**31 - 1))

    def can_create(self, dtype: str) -> bool:
        """Whether ``torch.arange`` creates the same numbers in a dtype as a conversion to it."""
        return dtype in COUNTING and self.fits(dtype)


@dataclass
class Content:
    """A factory and its arguments.

    ``own_dtype`` is the dtype of the factory if none is given. ``stages`` are the dtypes of the content before torch
    converts it (None if unknown); for a list, the dtype that torch infers. ``numbers`` is None for random content.
    ``fill`` is the value for ``torch.full``, ``fill_text`` its source code, and ``form`` the calls of ``reshape``.
    ``from_list`` is true for content of a list. ``has_dimensions`` is false if an array may have no dimensions.
    """

    factory: str
    arguments: str
    own_dtype: str = DEFAULT
    stages: tuple[str | None, ...] = ()
    numbers: Constants | Count | None = None
    caveats: list[str] = field(default_factory=list)
    fill: Number | None = None
    fill_text: str | None = None
    form: str = ""
    from_list: bool = False
    has_dimensions: bool = True

    def fill_argument(self) -> str | None:
        """The value for ``torch.full`` as text, in its original spelling if it was not converted."""
        return self.fill_text if self.fill is None or self.fill_text is not None else repr(self.fill)

    def fill_with_float(self) -> None:
        """Let ``torch.full`` infer the default dtype, by a float value."""
        if self.fill is not None and not isinstance(self.fill, float):
            self.fill, self.own_dtype, self.fill_text = float(self.fill), DEFAULT, None

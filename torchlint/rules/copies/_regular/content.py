"""What a torch factory is to make: its arguments, the numbers they stand for, and the dtypes these go through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchlint.knowledge.dtypes import COUNTING, NO_EYE, Number, fills, holds, holds_all

DEFAULT = "the default dtype"


class Constants(NamedTuple):
    """Content of one constant, or of zeros and ones."""

    values: tuple[Number, ...]
    factory: str

    def held(self, dtype: str) -> bool:
        """The dtype holds the numbers exactly."""
        return all(holds(dtype, value) for value in self.values)

    def made(self, dtype: str) -> bool:
        """The factory makes them in a dtype as a conversion to it would."""
        eye = self.factory == "torch.eye" and dtype in NO_EYE
        return not eye and all(fills(dtype, value) for value in self.values)


class Count(NamedTuple):
    """Content that counts in whole numbers; ``span`` is the least and the greatest of them, where they are known.

    ``upward`` says that it counts from zero, as far as memory reaches.
    """

    span: tuple[int, int] | None = None
    upward: bool = False

    def held(self, dtype: str) -> bool:
        """The dtype holds all of them exactly."""
        if self.span is not None:
            return holds_all(dtype, *self.span)
        return dtype == "int64" or (self.upward and holds_all(dtype, 0, 2**31 - 1))

    def made(self, dtype: str) -> bool:
        """``torch.arange`` makes them in a dtype as a conversion to it would."""
        return dtype in COUNTING and self.held(dtype)


@dataclass
class Content:
    """A factory and the arguments for it.

    ``natural`` is the dtype that it gives by itself. ``stages`` are the dtypes that the content goes through before
    torch converts it, None where one is not known; of a list, the one that torch infers. ``numbers`` is None where
    others are made anyway. ``fill`` is what ``torch.full`` repeats, ``spelled`` its text, and ``form`` the methods that
    give a shape. ``dimensions`` is false where an array may have none.
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
        """What ``torch.full`` repeats, in the program's own spelling where it is still that number."""
        return self.spelled if self.fill is None or self.spelled is not None else repr(self.fill)

    def repeat_float(self) -> None:
        """Have ``torch.full`` infer the default dtype, as from a fraction."""
        if self.fill is not None and not isinstance(self.fill, float):
            self.fill, self.natural, self.spelled = float(self.fill), DEFAULT, None

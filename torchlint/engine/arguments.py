"""What a library is called with."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchlint.engine.frames import Scope
from torchlint.engine.values import UNKNOWN, Device, Kind, Value, leaves


class Arguments(NamedTuple):
    """What a library is called with: ``name`` is the function or method, ``receiver`` the thing whose method it is."""

    values: list[Value]
    named: dict[str, Value]
    node: ast.Call
    scope: Scope
    receiver: Value = UNKNOWN
    name: str = ""

    def get(self, place: int, name: str = "") -> Value:
        """An argument by position or name; unknown if it is not given."""
        return self.values[place] if place < len(self.values) else self.named.get(name, UNKNOWN)

    @property
    def all(self) -> list[Value]:
        """All of them."""
        return [*self.values, *self.named.values()]


OTHERS = "**"  # among the arguments by name: others that are not known, such as those of `*args`


def device_of(values: list[Value]) -> Device | None:
    """Where the result of an operation on tensors is; None without tensors."""
    found: Device | None = None
    for value in values:
        for leaf in leaves(value):
            if leaf.kind is Kind.TENSOR:
                if leaf.device is Device.ACCELERATOR:
                    return Device.ACCELERATOR
                found = found or leaf.device
    return found

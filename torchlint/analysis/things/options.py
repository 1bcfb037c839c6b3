"""Options of a program: the defaults that its argument parser gives them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, method

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Options:
    """The options that one file adds to parsers of arguments."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def default(self, name: str) -> object:
        """The default of the option that is read as an attribute with this name; ``...`` if it is unknown."""
        found = self._defaults.get(name, [])
        return found[0] if len(found) == 1 else ...

    @cached_property
    def _defaults(self) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        for call in self._module.nodes_of(cst.Call, frozenset({"add_argument"})):
            if method(call) == "add_argument":
                given = keyword(call, "default")
                found.setdefault(_attribute(call), []).append(... if given is None else literal(given))
        return found


def _attribute(call: cst.Call) -> str:
    """The attribute in which the value of an option is: its ``dest``, or else the first long name."""
    dest = literal(keyword(call, "dest"))
    names = [dest] if isinstance(dest, str) else [literal(arg.value) for arg in call.args if arg.keyword is None]
    texts = [name for name in names if isinstance(name, str)]
    long = [name for name in texts if name.startswith("--")]
    return next(iter(long + texts), "").lstrip("-").replace("-", "_")

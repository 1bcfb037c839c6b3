"""Options of a program: the values that the configuration or its argument parser gives them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, literal, method
from torchlint.program.world import option_name, setting, setting_of

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.program.world import Setting


class Options:
    """The options that one file adds to parsers of arguments."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def default(self, name: str) -> object:
        """The value in a normal run of the option that is read as an attribute with this name; ``...`` if unknown.

        It is the one that the configuration gives the option, or its default.
        """
        found = self._defaults.get(name, [])
        given = self.given(name) if found else None
        return given if given is not None else found[0] if len(found) == 1 else ...

    def given(self, name: str) -> Setting | None:
        """The value that the configuration gives an option."""
        options = self._module.followed.options
        call = next((call for call in self._calls if attribute_of(call) == name), None) if options else None
        if call is None:
            return setting(options, name)
        off = literal(keyword(call, "action")) == "store_false"
        return setting_of(options, name, _names(call), switches_off=off)

    def flag(self, name: str) -> str:
        """How the option is written on the command line: ``--log-every``; the name itself if no parser has it.

        It is also the name itself if the configuration gives a value to what is written in another way.
        """
        flag = self._flags.get(name, name)
        return flag if self.given(name) is None or option_name(flag) == name else name

    @cached_property
    def _defaults(self) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        for call in self._calls:
            found.setdefault(attribute_of(call), []).append(_default(call))
        return found

    @cached_property
    def _flags(self) -> dict[str, str]:
        return {attribute_of(call): _name(call) for call in self._calls}

    @cached_property
    def _calls(self) -> list[cst.Call]:
        calls = self._module.nodes_of(cst.Call, frozenset({"add_argument"}))
        return [call for call in calls if method(call) == "add_argument"]


def _default(call: cst.Call) -> object:
    """The default of an option, or ``...`` if it is unknown; None for an option that must be given to have a value."""
    given, action = keyword(call, "default"), literal(keyword(call, "action"))
    if given is not None:
        return literal(given)
    if action in _SWITCHES:
        return _SWITCHES[action]
    required = keyword(call, "required") is not None or not _name(call).startswith("-")
    return ... if required or is_opaque(call) or keyword(call, "action") is not None else None


def attribute_of(call: cst.Call) -> str:
    """The attribute or parameter that an option of argparse or click sets; empty if the names are not literal.

    It is the ``dest``, or a name without dashes, or else the first long name.
    """
    dest = literal(keyword(call, "dest"))
    if isinstance(dest, str):
        return dest
    names = _names(call)
    chosen = [name for name in names if not name.startswith("-")][-1:] or [_name(call)]
    return chosen[0].lstrip("-").partition("/")[0].replace("-", "_")


def _name(call: cst.Call) -> str:
    """The first long name of an option, or else its first name."""
    texts = _names(call)
    return next(iter([name for name in texts if name.startswith("--")] + texts), "")


def _names(call: cst.Call) -> list[str]:
    return [name for arg in call.args if arg.keyword is None and isinstance(name := literal(arg.value), str)]


_SWITCHES = {"store_true": False, "store_false": True}

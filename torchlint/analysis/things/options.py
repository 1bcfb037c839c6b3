"""Options of a program: the values that the configuration, an argument parser or a class of options gives them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method
from torchlint.program.world import option_name, setting, setting_of

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.program.world import Setting


_DEPTH = 4  # variables for one option


class Options:
    """The options of one file: of parsers of arguments, of commands, and fields of data classes."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, node: cst.CSTNode, depth: int = _DEPTH) -> tuple[str, object]:
        """How the option is written that an expression reads, and its value in a normal run; ``...`` if unknown."""
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            only = bindings[0] if len(bindings) == 1 else None
            if only is not None and only.kind == "parameter":
                default = self._of_command(only.statement)
                given = self.given(node.value) if default is not ... else None
                return node.value, given if given is not None else default
            value = only.value if only is not None and only.kind == "assign" and not only.path else None
            return self.of(value, depth - 1) if value is not None and depth else (node.value, ...)
        if isinstance(node, cst.Subscript):
            index = node.slice[0].slice
            key = literal(index.value) if isinstance(index, cst.Index) else ...
            return (self.flag(key), self.default(key)) if isinstance(key, str) else ("", ...)
        if not isinstance(node, cst.Attribute):
            return "", ...
        name, owner = node.attr.value, self._module.class_of(node)
        if dotted(node.value) == "self" and owner is not None:
            stored = [value for value, path in self._module.classes.assignments(owner, name) if not path]
            return self.of(stored[0], depth - 1) if len(stored) == 1 and depth else (name, ...)
        return self.flag(name), self.default(name)

    def _of_command(self, param: cst.CSTNode) -> object:
        """The default of a parameter that the command line fills, as click and Typer do."""
        parameters = self._module.parent(param)
        function = self._module.parent(parameters) if parameters is not None else None
        if not isinstance(param, cst.Param) or not isinstance(function, cst.FunctionDef):
            return ...
        default = param.default
        if isinstance(default, cst.Call) and self._module.qualified(default.func) in _TYPED:
            return literal(argument(default, "default", 0))
        options = [each.decorator for each in function.decorators if isinstance(each.decorator, cst.Call)]
        if default is not None and any(method(each) == "command" for each in options):
            return literal(default)
        declared = (each for each in options if self._module.qualified(each.func) == "click.option")
        return next((_default(each) for each in declared if attribute_of(each) == param.name.value), ...)

    def default(self, name: str) -> object:
        """The value in a normal run of the option that is read as an attribute with this name; ``...`` if unknown.

        It is the one that the configuration gives the option, or its default.
        """
        found = self._defaults.get(name, [])
        if found and self._is_changed(name):
            return ...
        given = self.given(name) if found else None
        return given if given is not None else found[0] if len(found) == 1 else ...

    def _is_changed(self, name: str) -> bool:
        """Whether the program itself sets the option: ``args.pin = args.pin and cuda``."""
        stored = (a for a in self._module.attributes_named(name) if dotted(a.value) != "self")
        return any(isinstance(self._module.parent(a), cst.AssignTarget) for a in stored)

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
        for call in self._module.nodes_of(cst.Call, frozenset({"set_defaults"})):
            if method(call) == "set_defaults":
                found.update({arg.keyword.value: [literal(arg.value)] for arg in call.args if arg.keyword is not None})
        for owner in self._module.tree.body:
            if isinstance(owner, cst.ClassDef) and _is_dataclass(owner):
                for name, value in self._fields(owner):
                    found.setdefault(name, []).append(value)
        return found

    def _fields(self, owner: cst.ClassDef) -> Iterator[tuple[str, object]]:
        """The fields of a data class with their defaults; a default counts if every visible object has it."""
        calls = self._module.nodes_of(cst.Call, frozenset({owner.name.value}))
        made = [call for call in calls if (dotted(call.func) or "").rpartition(".")[2] == owner.name.value]
        if any(arg.star or arg.keyword is None for call in made for arg in call.args):
            return
        for statement in self._module.within(owner, cst.AnnAssign):
            own = self._module.class_of(statement) is owner and self._module.function_of(statement) is None
            if own and isinstance(statement.target, cst.Name):
                name, value = statement.target.value, statement.value
                if isinstance(value, cst.Call) and (dotted(value.func) or "").endswith("field"):
                    value = keyword(value, "default")
                usual = value is not None and not any(keyword(call, name) for call in made)
                yield name, literal(value) if usual else ...

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
    if method(call) == "option" and ("/" in _name(call) or literal(keyword(call, "is_flag")) is True):
        return False
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


def _is_dataclass(owner: cst.ClassDef) -> bool:
    made = (getattr(each.decorator, "func", each.decorator) for each in owner.decorators)
    return any((dotted(each) or "").endswith("dataclass") for each in made)


_TYPED = frozenset({"typer.Option", "typer.Argument"})
_SWITCHES = {"store_true": False, "store_false": True}

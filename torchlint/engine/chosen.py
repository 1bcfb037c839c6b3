"""What the values of options choose in a normal run, and what only others do."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torchlint.engine.values import FLAG, Kind, Option, Value
from torchlint.knowledge import following as known

if TYPE_CHECKING:
    from torchlint.program.modules import Module
    from torchlint.program.project import Program


def tested(value: Value, test: Callable[[Any], bool], only: object = None) -> Value:
    """A condition on an option with a default: what it is in a normal run.

    It is open if other values that the project gives the option decide it otherwise. ``only`` is the value that alone
    fulfils or fails it, if there is one.
    """
    option = value.option
    if option is None or value.kind is not Kind.CONSTANT:
        return FLAG
    is_text = isinstance(value.detail, str) and not option.given
    if is_text and (option.assumed or known.FOR_ACCELERATOR.search(option.name)):
        return FLAG
    try:
        outcomes = {bool(test(each)) for each in (value.detail, *option.others)}
    except (TypeError, AttributeError):
        return FLAG
    if len(outcomes) > 1:
        return FLAG
    if is_text:
        other = isinstance(only, str) and only != value.detail
        option = option._replace(name=f"with `{option.name} {only}`" if other else f"with another `{option.name}`")
    return Value(Kind.FLAG, option=option._replace(on=outcomes.pop()))


def declared(name: str | None, program: Program) -> Value | None:
    """What is read under a name that all option files of the project leave empty, or switch on or off."""
    values = {value.lower() for value in program.declared(name)} if name else set()
    if values and values <= _NOTHING:
        return Value(Kind.UNKNOWN, "option", option=Option(str(name), on=False))
    if len(values) == 1 and values <= _SWITCHES.keys():
        return Value(Kind.FLAG, option=Option(str(name), _SWITCHES[values.pop()]))
    return None


def compared_text(node: ast.expr, value: Value, module: Module, program: Program) -> Value:
    """A text of which nothing is known, by its name: an option with the values that option files give it.

    The module must have one of them in quotes: a name may mean something else in option files.
    """
    name = name_read(node) if value.kind in _OPEN and not value.option else None
    every = sorted(program.declared(name)) if name else []
    quoted = (re.search(rb"[\"']%s[\"']" % re.escape(text.encode()), module.content) for text in every if text)
    if not any(quoted):
        return value
    return Value(Kind.CONSTANT, every[0], sure=False, option=Option(str(name), on=True, others=frozenset(every)))


def name_read(node: ast.expr) -> str | None:
    """The name under which an expression reads an option: ``name``, ``self.name``, ``options["name"]``."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return node.id if isinstance(node, ast.Name) else node.attr
    key = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        key = node.args[0] if node.args else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def among(named: Mapping[Any, Value], key: Value | None, said: Callable[[str], frozenset[str]]) -> list[Value]:
    """What a key that is not known may mean, such as a class in a registry: what a normal run chooses, and others.

    A normal run chooses what the option says by default, or what the option files of the project name; what else could
    be chosen is called only with an option. If nothing is named, all may be meant. ``said`` gives values of options.
    """
    if sum(value.kind in _CHOSEN for value in named.values()) < _FEW:
        return list(named.values())
    option = key.option if key is not None else None
    if option is not None and key is not None and key.kind is Kind.CONSTANT:
        usual, words = {key.detail, *option.others}, f"with `{option.name} %s`"
    else:
        usual, words = {*said("")}, "if an option names `%s`"
    if usual.isdisjoint(named):
        return list(named.values())
    return [
        value if name in usual or value.kind not in _CHOSEN else value.only(Option(words % name, on=False))
        for name, value in named.items()
    ]


def needed(called: Value) -> str | None:
    """The option without which a normal run does not call this."""
    if called.kind in _CHOSEN and called.option is not None:
        return called.option.name
    owner = called.receiver if called.kind is Kind.FUNCTION else called
    return owner.target.option if owner is not None and owner.kind is Kind.INSTANCE else None


_OPEN = (Kind.UNKNOWN, Kind.METHOD)
_NOTHING = frozenset({"~", "null", "none"})
_SWITCHES = {"true": True, "false": False}
_CHOSEN = (Kind.CLASS, Kind.FUNCTION)
_FEW = 2

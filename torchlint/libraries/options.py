"""Options of a program: command-line parsers, and classes of options."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchlint.engine.arguments import Arguments
from torchlint.engine.frames import Function, Scope
from torchlint.engine.values import (
    NONE,
    SEQUENCES,
    UNKNOWN,
    Kind,
    Option,
    Value,
    constant,
    sequence,
)
from torchlint.knowledge import following as known
from torchlint.libraries.option_files import FileOptions
from torchlint.program.world import Setting, option_name, otherwise, setting, setting_of

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_SWITCHES = {"store_true": False, "store_false": True}
_GROUPS = frozenset("add_argument_group add_mutually_exclusive_group add_subparsers add_parser".split())


class Options:
    """Follows what gives a program its options, with their defaults."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine.state
        self.files = FileOptions(engine, self.option)

    def method(self, given: Arguments) -> Value:
        """A method of a parser."""
        parser, name = given.receiver, given.name
        if name == "add_argument":
            self._add(parser, given)
            return NONE
        if name == "set_defaults":
            for option, value in given.named.items():
                parser.fields[option] = self.option(option, value)
            return NONE
        if name in _GROUPS:
            return parser
        if name not in ("parse_args", "parse_known_args"):
            return UNKNOWN
        made = self._engine.classes.namespace((given.node, "options"))
        for option, value in parser.fields.items():
            made.fields.setdefault(option, value)
        namespace = Value(Kind.INSTANCE, "options", target=made)
        return namespace if name == "parse_args" else sequence([namespace, UNKNOWN])

    def _add(self, parser: Value, given: Arguments) -> None:
        names = [value.detail for value in given.values if isinstance(value.detail, str)]
        if names:
            dest, value = self._declared(names, given.named)
            converts = given.named.get("type", NONE)
            if converts.kind in (Kind.FUNCTION, Kind.CLASS) and value.is_text:  # argparse converts a default of text
                value = self._engine.call(converts, [value], {}, given.node, given.scope)
            parser.fields[dest] = value

    def _declared(self, names: list[str], named: dict[str, Value]) -> tuple[str, Value]:
        """The name by which a program reads an option of argparse or click, and its value."""
        long = next((name for name in names if name.startswith("--")), names[0]).partition("/")[0]
        dest = named.get("dest", NONE).detail or long.lstrip("-").replace("-", "_")
        action = named.get("action", NONE).detail
        required = "required" in named or not names[0].startswith("-")
        switch = action in _SWITCHES or "is_flag" in named or any("/" in name for name in names)
        usual = UNKNOWN if required else constant(_SWITCHES.get(action, False)) if switch else NONE
        default = named.get("default", usual)
        options = self._engine.program.world.options
        value = setting_of(options, dest, names, switches_off=action == "store_false")
        shown = long if option_name(long) == dest else dest
        return dest, _given(shown, value) if value is not None else self.option(dest, default, long)

    def filled(self, arg: ast.arg, function: Function) -> Value:
        """A parameter without a default that no call passes: a decorator fills it, as those of click do."""
        given = self.given(arg.arg)
        if given is not None:
            return given
        safely = self._engine.expressions.safely
        for decorator in getattr(function.node, "decorator_list", ()):
            called = safely(decorator.func, function.scope).detail if isinstance(decorator, ast.Call) else None
            if called == "hydra.main":
                named = {each.arg: safely(each.value, function.scope) for each in decorator.keywords if each.arg}
                return self.files.of_hydra(named, function.scope.module)
            if called != "click.option":
                continue
            texts = (each.value for each in decorator.args if isinstance(each, ast.Constant))
            names = [text for text in texts if isinstance(text, str)]
            if not names:
                continue
            named = {each.arg: safely(each.value, function.scope) for each in decorator.keywords if each.arg}
            own = next((name for name in names if not name.startswith("-")), None)
            dest, value = self._declared(names, named if own is None else {**named, "dest": constant(own)})
            if dest == arg.arg:
                return value
        return UNKNOWN

    def given(self, name: str) -> Value | None:
        """The value of an option or a parameter, if the configuration says it."""
        value = setting(self._engine.program.world.options, name)
        return _given(name, value) if value is not None else None

    def option(self, name: str, default: Value, flag: str = "") -> Value:
        """The value of an option: what the configuration says, or its default, but open.

        What it guards is off if that is false. ``flag`` is what people write to set it.
        """
        given = self.given(name)
        if given is not None:
            return given
        shown = flag or name
        if default.kind is not Kind.CONSTANT:
            return default if default.kind in (*SEQUENCES, Kind.DEVICE) else UNKNOWN
        if default.detail is ...:  # of Typer, for what must be given
            return UNKNOWN
        value, for_device = default.detail, known.FOR_ACCELERATOR.search(name) is not None
        if isinstance(value, bool):
            if known.AGAINST_ACCELERATOR.search(name):
                return constant(re.match("use|force", name, re.IGNORECASE) is not None and "cpu" not in name.lower())
            return constant(True) if for_device else Value(Kind.FLAG, option=Option(shown, value))
        if value is None:
            return UNKNOWN if for_device else Value(Kind.UNKNOWN, "option", option=Option(shown, False))
        others = self._engine.program.said(name.rpartition(".")[2]) if isinstance(value, str) else frozenset()
        return Value(Kind.CONSTANT, value, sure=False, option=Option(shown, bool(value), others=others - {value}))

    def of_function(self, function: Value, node: ast.AST, scope: Scope) -> Value:
        """What a function gives that a command line calls: its parameters with defaults are options."""
        target = function.target
        given = target.node.args
        places = [*given.posonlyargs, *given.args]
        pairs = [*zip(reversed(places), reversed(given.defaults), strict=False)]
        pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
        named = {
            arg.arg: self.option(arg.arg, self._engine.expressions.safely(default, target.scope), f"--{arg.arg}")
            for arg, default in pairs
            if default is not None
        }
        return self._engine.call(function, [], named, node, scope)

    def of_class(self, class_: Value, node: ast.AST, scope: Scope) -> Value:
        """A class of options that a command-line library fills: its fields are options."""
        made = self._engine.classes.instantiate(class_.target, [], {}, node, scope)
        if made.kind is Kind.INSTANCE:
            for each in self._engine.classes.lineage(class_.target)[0]:
                for name, value in each.fields.items():
                    if value.kind is Kind.CONSTANT and name not in made.target.fields:
                        made.target.fields[name] = self.option(name, value)
        return made


def _given(name: str, value: Setting) -> Value:
    """An option that the configuration gives a value; what it guards is off in a run without that."""
    option = Option(otherwise(name, value), bool(value), given=True)
    if not isinstance(value, bool):
        return Value(Kind.CONSTANT, value, option=option)
    selects = known.FOR_ACCELERATOR.search(name) or known.AGAINST_ACCELERATOR.search(name)
    return constant(value) if selects else Value(Kind.FLAG, option=option)

"""Options of single rules: the tables ``rules.<name>`` of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchlint.config.config import Config, ConfigError, Mistakes, source_of
from torchlint.config.values import KINDS, WrongValue, advice, choice, entries, flag, kind, nearest, quote, strings
from torchlint.retired import why_retired

if TYPE_CHECKING:
    from torchlint.rule import Rule


def options_for(rule: type[Rule], config: Config) -> Any:
    """The options of a rule: its ``Options`` with the values of the configuration."""
    import typing

    names = [key for key in (rule.name, rule.id) if key in config.rules]
    if rule.options_of is not None:
        if names:
            raise ConfigError(f"{source_of(config)}: rules.{names[0]} has no table; write rules.{rule.options_of}")
        names = [key for key in (rule.options_of,) if key in config.rules]
    if not names:
        return rule.Options()
    where = f"{source_of(config)}: rules.{names[0]}"
    if len(names) > 1:
        raise ConfigError(f"{where} and rules.{names[1]} are the same rule; keep one of the two tables")
    hints = typing.get_type_hints(rule.Options)
    known = {name.replace("_", "-"): name for name in names_of(rule.Options)}

    def read(key: str, value: object) -> Any:
        if key not in known:
            raise WrongValue(f" has no option {quote(key)}{advice(key, known, 'options')}")
        try:
            return _conform(value, hints[known[key]])
        except WrongValue as wrong:
            raise WrongValue(f".{key} {wrong}") from None

    try:
        given = entries(config.rules[names[0]], read)
    except WrongValue as wrong:
        raise ConfigError(*(f"{where}{each}" for each in wrong.args)) from None
    try:
        return rule.Options(**{known[key]: value for key, value in given.items()})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None


def names_of(options: type[Any]) -> tuple[str, ...]:
    """The names of the options in a NamedTuple or a dataclass."""
    if hasattr(options, "_fields"):
        return tuple(options._fields)
    from dataclasses import fields

    return tuple(field.name for field in fields(options))


def unreadable(options: type[Any]) -> list[str]:
    """The options whose types no value of a configuration file can have."""
    import typing

    hints = typing.get_type_hints(options)
    return [name for name in names_of(options) if not _readable(hints.get(name))]


def _readable(hint: Any) -> bool:
    import typing

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal or hint in (bool, int, float, str):
        return True
    if origin in (list, tuple):
        return arguments in ((str,), (str, ...))
    if type(None) in arguments:
        inner = [each for each in arguments if each is not type(None)]
        return len(inner) == 1 and _readable(inner[0])
    return False


def check_rule_tables(rules: Sequence[type[Rule]], config: Config) -> None:
    """Raise unless every ``rules.<name>`` table names a rule and has valid options, first in what is extended."""
    mistakes, inherited = Mistakes(), Mistakes()
    if config.extended is not None:
        with inherited.noted():
            check_rule_tables(rules, config.extended)
    known = [*(rule.name for rule in rules), *(rule.id for rule in rules)]
    for name in config.rules:
        with mistakes.noted():
            if name not in known:
                raise ConfigError(f"{source_of(config)}: rules.{quote(name)}{_no_rule(name, known)}")
    for rule in rules:
        with mistakes.noted():
            options_for(rule, config)
    said = {message.partition(": ")[2] for message in inherited.messages}  # tables are merged
    own = [message for message in mistakes.messages if message.partition(": ")[2] not in said]
    if inherited.messages or own:
        raise ConfigError(*inherited.messages, *own)


def _no_rule(name: str, known: Sequence[str]) -> str:
    """What to say of a table of something that is no rule."""
    if (retired := why_retired(name)) is not None:
        return f": {retired}; remove it"
    close = nearest(name, known)
    return f" names no rule; {f'did you mean {close!r}?' if close else '`torchlint rules` lists them'}"


def _conform(value: object, hint: Any) -> Any:
    import typing

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return choice(value, arguments)
    if origin in (list, tuple):
        return origin(strings(value))
    if type(None) in arguments:
        return _conform(value, next(a for a in arguments if a is not type(None)))
    if hint is bool:
        return flag(value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise WrongValue(f"must be {KINDS[hint]}, not {kind(value)}; change it")
    return value

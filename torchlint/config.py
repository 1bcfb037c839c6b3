"""Configuration: ``[tool.torchlint]`` or ``torchlint.toml`` to a frozen :class:`Config`.

Knows which keys there are, where they are looked for and what is wrong with them. Which rules
exist it learns from its callers. Every error is one line that names the file, the key and what to do.
"""

# os.path, because pathlib cannot drop `..` without following links, nor ask without raising.
# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH118, PTH120, PTH123
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from torchlint.model import Severity
from torchlint.requirements import oldest_torch

if TYPE_CHECKING:
    from pathlib import Path

    from torchlint.rule import Rule

TABLE = "tool.torchlint"
FAIL_ON = ("error", "warning", "info", "never")


@dataclass(frozen=True)
class Config:
    """Everything a run may be told. Rule selectors are ids, names, topics, prefixes or ``ALL``.

    ``select`` is ``None`` for the default rules, ``fail_on`` is ``None`` for never. Globs are relative
    to ``root``, the folder of the file ``source`` that was read (``None``: there was none).
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    target_torch: str | None = None
    fail_on: Severity | None = Severity.WARNING
    rules: Mapping[str, Any] = field(default_factory=dict)
    root: str = "."
    source: str | None = None


class ConfigError(Exception):
    """A one-line error that names the file, the key and what to do."""

    def __init__(self, message: str) -> None:
        # Quoted file names and keys may hold anything; the error stays one harmless line.
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


@dataclass(frozen=True)
class Key:
    """A key of the configuration: the field it fills, the kind of its value, and what it is for."""

    field: str
    kind: str
    help: str


KEYS: Mapping[str, Key] = {
    "select": Key("select", "selectors", "Rules to run, instead of those that are on by default."),
    "extend-select": Key("extend_select", "selectors", "Rules to run in addition to the selected ones."),
    "ignore": Key("ignore", "selectors", "Rules not to run; the more specific selector wins."),
    "per-file-ignores": Key("per_file_ignores", "table", "Rules not to report in files that match a glob."),
    "exclude": Key("exclude", "globs", "Globs of files and folders that are not searched."),
    "force-exclude": Key("force_exclude", "flag", "Apply `exclude` to files that are named explicitly too."),
    "target-torch": Key(
        "target_torch",
        "version",
        "The oldest torch the code must run on, such as 2.4; by default what the project requires.",
    ),
    "fail-on": Key("fail_on", "fail-on", "The least severity that makes the exit status 1."),
    "rules": Key("rules", "rules", "Options of single rules, by rule name."),
}


def load(start: Path, *, explicit: Path | None = None, isolated: bool = False) -> Config:
    """The configuration for ``start``: the given file, none, or the nearest one walking up."""
    if explicit is not None and isolated:
        raise ConfigError("--config and --isolated contradict each other; give one of them")
    if isolated:
        return Config(root=os.getcwd())
    if explicit is not None:
        found = _from_file(os.path.abspath(explicit), required=True) or Config()
        directory = found.root
    else:
        path = os.path.abspath(start)
        directory = path if os.path.isdir(path) else os.path.dirname(path)
        found = _search(directory) or Config(root=os.getcwd())
    return found if found.target_torch else replace(found, target_torch=oldest_torch(directory))


def read_value(key: str, value: object, where: str) -> Any:
    """Check the value of ``key`` and turn it into what the field of :class:`Config` holds.

    ``where`` opens the error message: a file, or an option of the command line.
    """
    try:
        return _READERS[KEYS[key].kind](value)
    except _WrongError as wrong:
        raise ConfigError(f"{where} {wrong}") from None


def options_for(rule: type[Rule], config: Config) -> Any:
    """The options of a rule: its ``Options`` with what the configuration says."""
    import typing

    names = [key for key in (rule.name, rule.id) if key in config.rules]
    if not names:
        return rule.Options()
    where = f"{_source(config)}: rules.{names[0]}"
    if len(names) > 1:
        raise ConfigError(f"{where} and rules.{names[1]} are the same rule; keep one of the two tables")
    hints = typing.get_type_hints(rule.Options)
    known = {f.name.replace("_", "-"): f.name for f in fields(rule.Options)}
    given: dict[str, Any] = {}
    for key, value in config.rules[names[0]].items():
        if key not in known:
            raise ConfigError(f"{where} has no option {_quote(key)}{_advice(key, known, 'options')}")
        try:
            given[known[key]] = _conform(value, hints[known[key]])
        except _WrongError as wrong:
            raise ConfigError(f"{where}.{key} {wrong}") from None
    try:
        return rule.Options(**given)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def check_rule_tables(rules: Sequence[type[Rule]], config: Config) -> None:
    """Raise unless every ``rules.<name>`` table names a rule and fits its options."""
    known = [*(rule.name for rule in rules), *(rule.id for rule in rules)]
    for name in config.rules:
        if name not in known:
            advice = _advice(name, known, "rules")
            raise ConfigError(f"{_source(config)}: rules.{_quote(name)} names no rule{advice}")
    for rule in rules:
        options_for(rule, config)


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that ``word`` was probably meant to be."""
    import difflib

    by_fold = {v.casefold().replace("_", "-"): v for v in valid}
    close = difflib.get_close_matches(word[:80].casefold().replace("_", "-"), by_fold, n=1)
    return by_fold[close[0]] if close else None


def path_matches(globs: tuple[str, ...], path: str) -> bool:
    """Whether a glob covers ``path`` (relative to the configuration's root, with ``/``).

    A glob without a slash is for a name at any depth; a glob that covers a folder covers what is in it.
    """
    return bool(globs) and _pattern(globs).match(path) is not None


@lru_cache(maxsize=64)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_translate(glob)})" for glob in globs), re.DOTALL)


def _translate(glob: str) -> str:
    bare = re.sub(r"(?:\*\*/)+", "**/", glob.replace(os.sep, "/").rstrip("/"))
    anchored = "/" in bare
    tokens = re.findall(r"\*\*/|\*+|\?|\[!?\]?[^\]/]*\]|.", re.sub(r"^\.?/", "", bare), re.DOTALL)
    return ("" if anchored else "(?:.*/)?") + "".join(map(_token, tokens)) + r"(?:/.*)?\Z"


def _token(token: str) -> str:
    special = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    if token in special:
        return special[token]
    if token[0] == "*":
        return ".*"
    if token[0] == "[" and len(token) > 2:
        negated = token[1] == "!"
        body = token[1 + negated : -1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        candidate = f"[{'^/' if negated else ''}{body.replace('^', chr(92) + '^')}]"
        try:
            re.compile(candidate)
        except re.error:  # such as the range z-a: then it is meant literally
            return re.escape(token)
        return candidate
    return re.escape(token)


class _WrongError(Exception):
    """What is wrong with a value, as the end of a sentence that begins with its key."""


def _search(directory: str) -> Config | None:
    while True:
        own = os.path.join(directory, "torchlint.toml")
        project = os.path.join(directory, "pyproject.toml")
        found = [c for path in (own, project) if os.path.isfile(path) and (c := _from_file(path))]
        if len(found) > 1:
            raise ConfigError(
                f"{found[0].source}: pyproject.toml beside it has a [{TABLE}] table too; keep one of the two"
            )
        if found:
            return found[0]
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _from_file(path: str, *, required: bool = False) -> Config | None:
    shown = _shown(path)
    data = _bytes(path, shown)
    if not path.endswith("pyproject.toml"):
        return _build(_parse(data, shown), path, shown, "")
    # Most pyproject.toml files on the way up are not for us: neither parse nor judge those.
    table = _own_table(_parse(data, shown), shown) if b"torchlint" in data else None
    if table is not None:
        return _build(table, path, shown, f"{TABLE}.")
    if required:
        raise ConfigError(f"{shown}: has no [{TABLE}] table; add one or name another file")
    return None


def _shown(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative


def _bytes(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(
            f"{shown}: cannot be read ({error.strerror}); mend that or name another file with --config"
        ) from None


def _parse(data: bytes, shown: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown}:{line}: is not UTF-8; save the file as UTF-8") from None
    except ValueError as error:
        message = str(error)
        at = re.search(r"\(at line (\d+), column (\d+)\)", message)
        place = f"{shown}:{at[1]}:{at[2]}" if at else shown
        what = message[: at.start()].rstrip() if at else message
        raise ConfigError(f"{place}: is not valid TOML: {what}; correct the syntax") from None
    except RecursionError:
        raise ConfigError(f"{shown}: is nested too deeply; flatten it") from None


def _own_table(document: dict[str, Any], shown: str) -> dict[str, Any] | None:
    tool = document.get("tool", {})
    if not isinstance(tool, dict):
        raise ConfigError(f"{shown}: tool must be a table, not {_kind(tool)}; write [{TABLE}]")
    table = tool.get("torchlint")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{shown}: {TABLE} must be a table, not {_kind(table)}; write [{TABLE}]")
    return table


def _build(table: dict[str, Any], path: str, shown: str, prefix: str) -> Config:
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{shown}: {prefix}{_quote(key)} is no key{_advice(key, KEYS, 'keys')}")
    values = {KEYS[key].field: read_value(key, value, f"{shown}: {prefix}{key}") for key, value in table.items()}
    return Config(**values, root=os.path.dirname(path), source=shown)


def _source(config: Config) -> str:
    return config.source or "configuration"


def _quote(word: str) -> str:
    return repr(word if len(word) <= 80 else word[:77] + "...")


def _advice(word: str, valid: Iterable[str], kind: str) -> str:
    valid = list(valid)
    close = nearest(word, valid)
    if close:
        return f"; did you mean {close!r}?"
    return f"; remove it, or use one of the {kind} {', '.join(valid)}" if valid else "; remove it"


_KINDS: Mapping[type, str] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a date or time")


def _strings(value: object, at: str = "") -> tuple[str, ...]:
    if not isinstance(value, list):
        example = f"; write [{_quote(value)}]" if isinstance(value, str) else ""
        raise _WrongError(f"{at}must be an array of strings, not {_kind(value)}{example}")
    for item in value:
        if not isinstance(item, str):
            raise _WrongError(f"{at}must hold strings only, not {_kind(item)}; put quotes around it")
        if not item.strip():
            raise _WrongError(f"{at}holds an empty string; remove it")
    return tuple(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _WrongError(f"must be true or false, not {_kind(value)}; write true or false without quotes")
    return value


def _version(value: object) -> str:
    if not isinstance(value, str):
        raise _WrongError(f'must be a string such as "2.4", not {_kind(value)}; put quotes around it')
    if not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", value):
        raise _WrongError(f'must be a torch version such as "2.4", not {_quote(value)}')
    return value


def _fail_on(value: object) -> Severity | None:
    text = _choice(value, FAIL_ON)
    return None if text == "never" else Severity(text)


def _choice(value: object, choices: Sequence[object]) -> object:
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return value
    given = _quote(value) if isinstance(value, str) else _kind(value)
    close = nearest(value, [c for c in choices if isinstance(c, str)]) if isinstance(value, str) else None
    hint = f"; did you mean {close!r}?" if close else ""
    raise _WrongError(f"must be one of {', '.join(map(str, choices))}, not {given}{hint}")


def _ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise _WrongError(f'must be a table of globs, not {_kind(value)}; write "tests/*" = ["TL101"] in it')
    return tuple((glob, _strings(given, f"at {_quote(glob)} ")) for glob, given in value.items())


def _tables(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _WrongError(f"must be a table of tables, not {_kind(value)}; give each rule a table of its own")
    for name, table in value.items():
        if not isinstance(table, dict):
            raise _WrongError(f"at {_quote(name)} must be a table, not {_kind(table)}; write [rules.<name>]")
    return value


def _conform(value: object, hint: Any) -> Any:
    import typing

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _choice(value, arguments)
    if origin in (list, tuple):
        return origin(_strings(value))
    if type(None) in arguments:
        return _conform(value, next(a for a in arguments if a is not type(None)))
    if hint is bool:
        return _flag(value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise _WrongError(f"must be {_KINDS[hint]}, not {_kind(value)}; change it")
    return value


_READERS: Mapping[str, Callable[[object], Any]] = {
    "selectors": _strings,
    "globs": _strings,
    "table": _ignores,
    "flag": _flag,
    "version": _version,
    "fail-on": _fail_on,
    "rules": _tables,
}

"""Configuration: from ``[tool.torchlint]`` or ``torchlint.toml`` to a frozen :class:`Config`.

This module knows the keys, where to look for them, and how to validate them. Callers tell it which rules exist. Every
error is one line that names the file, the key and what to do.
"""

# os.path, because pathlib cannot drop `..` without following links, nor ask without raising.
# ruff: noqa: PTH100, PTH113, PTH118, PTH120
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torchlint.base import limits, paths
from torchlint.base.inputs import CONFIGURATION, read
from torchlint.config.values import (
    WrongValue,
    advice,
    budget,
    fail_on,
    file,
    flag,
    globs,
    ignores,
    kind,
    quote,
    seconds,
    severities,
    strings,
    tables,
    version,
)
from torchlint.config.world import world
from torchlint.model import Severity
from torchlint.program.world import World

PathLike = str | os.PathLike[str]
TABLE = "tool.torchlint"
NOTHING: Mapping[str, Any] = {}
# Python's TOML parser takes quadratic time for a key of many parts; any real file takes milliseconds.
_SECONDS = 5.0


class Given(NamedTuple):
    """Globs of the command line, relative to ``base``, the current folder."""

    base: str = ""
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Config(NamedTuple):
    """The complete settings of a run. Rule selectors are ids, names, topics, groups, prefixes, presets or ``ALL``.

    ``select`` is ``None`` for the default rules, ``fail_on`` is ``None`` for never. ``severity`` lists selectors with
    the severity of what they select. Globs are relative to ``root``, the folder of the file ``source`` (``None`` if
    there is no file). ``top`` is the outermost folder above ``root`` with a configuration, if there is one.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    preview: bool = False
    target_torch: str | None = None
    severity: tuple[tuple[str, Severity], ...] = ()
    fail_on: Severity | None = Severity.WARNING
    time_limit: float = 60.0
    baseline: str | None = None
    rules: Mapping[str, Any] = NOTHING
    budget: Mapping[str, float] = NOTHING
    world: World = World()
    root: str = "."
    source: str | None = None
    top: str | None = None
    given: Given = Given()


class ConfigError(Exception):
    """A one-line error that names the file, the key and what to do."""

    def __init__(self, message: str) -> None:
        # File names and keys may contain anything; the error stays one escaped line.
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


class Key(NamedTuple):
    """A key of the configuration: its field, the kind of its value, and its description."""

    field: str
    kind: str
    help: str


KEYS: Mapping[str, Key] = {
    "select": Key("select", "selectors", "Rules to run, instead of those that are on by default."),
    "extend-select": Key("extend_select", "selectors", "Rules to run in addition to the selected ones."),
    "ignore": Key("ignore", "selectors", "Rules not to run; the more specific selector wins."),
    "per-file-ignores": Key("per_file_ignores", "table", "Rules not to report in files that match a glob."),
    "preview": Key("preview", "flag", "Run the rules of the group `preview` as well."),
    "exclude": Key("exclude", "globs", "Globs of files and folders that are not searched."),
    "force-exclude": Key("force_exclude", "flag", "Apply `exclude` to files that are named explicitly too."),
    "target-torch": Key(
        "target_torch",
        "version",
        "The oldest torch the code must run on, such as 2.4; by default what the project requires.",
    ),
    "severity": Key("severity", "severities", "Severities of findings, by rule, topic, group, prefix or preset."),
    "fail-on": Key("fail_on", "fail-on", "The lowest severity that makes the exit status 1."),
    "time-limit": Key("time_limit", "seconds", "Seconds of processor time that one file may take; 0 for no limit."),
    "baseline": Key("baseline", "file", "The file with the findings to accept, relative to the configuration."),
    "rules": Key("rules", "rules", "Options of single rules, by rule name."),
    "budget": Key("budget", "budget", "How much a step may transfer and synchronize, checked by `torchlint confirm`."),
    "world": Key("world", "world", "What a normal run of the programs is like: options, programs and accelerators."),
}


def read_value(key: str, value: object, where: str) -> Any:
    """Validate the value of ``key`` and convert it for the field of :class:`Config`.

    ``where`` begins the error message: a file, or an option of the command line.
    """
    try:
        return _READERS[KEYS[key].kind](value)
    except WrongValue as wrong:
        raise ConfigError(f"{where} {wrong}") from None


def read_budget(path: str) -> Mapping[str, float]:
    """The budget in a file: keys at the top level, or the table of a configuration file."""
    shown = paths.shown(path)
    table = _parse(_bytes(path, shown, "--budget"), shown)
    if "tool" in table:
        table = _own_table(table, shown) or {}
    table = table.get("budget", {} if path.endswith("pyproject.toml") else table)
    if not table:
        raise ConfigError(f"{shown}: has no budget; add [{TABLE}.budget] or name another file")
    found: Mapping[str, float] = read_value("budget", table, f"{shown}: budget")
    return found


def in_folder(directory: str) -> Config | None:
    """The configuration directly in a folder."""
    own = os.path.join(directory, "torchlint.toml")
    project = os.path.join(directory, "pyproject.toml")
    found = [c for path in (own, project) if os.path.isfile(path) and (c := _from_file(path))]
    if len(found) > 1:
        raise ConfigError(f"{found[0].source}: pyproject.toml beside it has a [{TABLE}] table too; keep one of the two")
    return found[0] if found else None


def explicitly(path: PathLike) -> Config:
    """The configuration in a file given explicitly."""
    return _from_file(os.path.abspath(path), required=True) or Config()


def _from_file(path: str, *, required: bool = False) -> Config | None:
    shown = paths.shown(path)
    data = _bytes(path, shown)
    if not path.endswith("pyproject.toml"):
        return _build(_parse(data, shown), path, shown, "")
    # Most pyproject.toml files in parent folders are not for torchlint: do not parse or validate those.
    table = _own_table(_parse(data, shown), shown) if b"torchlint" in data else None
    if table is not None:
        return _build(table, path, shown, f"{TABLE}.")
    if required:
        raise ConfigError(f"{shown}: has no [{TABLE}] table; add one or name another file")
    return None


def _bytes(path: str, shown: str, option: str = "--config") -> bytes:
    try:
        data = read(path, CONFIGURATION)
    except OSError as error:
        raise ConfigError(
            f"{shown}: cannot be read ({error.strerror}); fix that or name another file with {option}"
        ) from None
    if len(data) > CONFIGURATION:
        raise ConfigError(f"{shown}: is larger than 1 MB; shorten it or name another file with {option}")
    return data


def _parse(data: bytes, shown: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        return limits.within(_SECONDS, lambda: tomllib.loads(text))
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
    except limits.OverLimit:
        raise ConfigError(f"{shown}: takes too long to be read; its keys have too many parts, shorten them") from None


def _own_table(document: dict[str, Any], shown: str) -> dict[str, Any] | None:
    tool = document.get("tool", {})
    if not isinstance(tool, dict):
        raise ConfigError(f"{shown}: tool must be a table, not {kind(tool)}; write [{TABLE}]")
    table = tool.get("torchlint")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{shown}: {TABLE} must be a table, not {kind(table)}; write [{TABLE}]")
    return table


def _build(table: dict[str, Any], path: str, shown: str, prefix: str) -> Config:
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{shown}: unknown key {quote(prefix + key)}{_instead(key)}")
    values = {KEYS[key].field: read_value(key, value, f"{shown}: {prefix}{key}") for key, value in table.items()}
    return Config(**values, root=os.path.dirname(path), source=shown)


def _instead(key: str) -> str:
    """What to write instead of an unknown key."""
    from torchlint.config import other_tools

    found = other_tools.advice(key)
    return f"; {found}" if found is not None else advice(key, KEYS, "keys")


def source_of(config: Config) -> str:
    """The file of the configuration, as errors name it."""
    return config.source or "configuration"


_READERS: Mapping[str, Callable[[object], Any]] = {
    "selectors": strings,
    "globs": globs,
    "table": ignores,
    "flag": flag,
    "version": version,
    "severities": severities,
    "fail-on": fail_on,
    "seconds": seconds,
    "file": file,
    "rules": tables,
    "budget": budget,
    "world": world,
}

"""Configuration files: where they are, what is in them, and the files that they extend."""

# os.path, because pathlib cannot drop `..` without following links, nor ask without raising.
# ruff: noqa: PTH100, PTH111, PTH113, PTH118, PTH120
from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from torchlint.base import limits, paths
from torchlint.base.inputs import CONFIGURATION, read
from torchlint.config.config import KEYS, TABLE, Config, ConfigError, Mistakes, PathLike, read_value
from torchlint.config.extending import extending
from torchlint.config.values import advice, kind, quote

_PROJECT, _OWN = "pyproject.toml", "torchlint.toml"
# Python's TOML parser takes quadratic time for a key of many parts; any real file takes milliseconds.
_SECONDS = 5.0
_EXTEND = "extend"
_MOST = 32  # files in a chain


class _File(NamedTuple):
    """The table of a configuration file, with the file's name and the beginning of its keys in messages."""

    path: str
    shown: str
    prefix: str
    table: dict[str, Any]


def read_budget(path: str) -> Mapping[str, float]:
    """The budget in a file: keys at the top level, or the table of a configuration file."""
    shown = paths.shown(path)
    document = _parse(_bytes(path, shown, "--budget"), shown)
    table = (_own_table(document, shown) or {}) if "tool" in document else document
    if _EXTEND in table:
        prefix = f"{TABLE}." if "tool" in document else ""
        found = _config(_File(os.path.abspath(path), shown, prefix, table)).budget
    else:
        limit = table.get("budget", {} if path.endswith(_PROJECT) else table)
        found = read_value("budget", limit, f"{shown}: budget")
    if not found:
        raise ConfigError(f"{shown}: has no budget; add [{TABLE}.budget] or name another file")
    return found


def in_folder(directory: str) -> Config | None:
    """The configuration directly in a folder."""
    files = [os.path.join(directory, name) for name in (_OWN, _PROJECT)]
    found = [file for path in files if os.path.isfile(path) and (file := _table(path, paths.shown(path)))]
    if len(found) > 1:
        raise ConfigError(f"{found[0].shown}: pyproject.toml beside it has a [{TABLE}] table too; keep one of the two")
    return _config(found[0]) if found else None


def explicitly(path: PathLike) -> Config:
    """The configuration in a file given explicitly."""
    full = os.path.abspath(path)
    return _config(_required(full, paths.shown(full), "--config"))


def _config(file: _File) -> Config:
    """The configuration in a file, with those that it extends."""
    chain, mistakes = [file], Mistakes()
    with mistakes.noted():
        while _EXTEND in chain[-1].table:
            chain.append(_extended(chain))
    config = None
    for each in reversed(chain):
        config = _build(each, config, mistakes)
    assert config is not None
    mistakes.report(config)
    return config


def _extended(chain: list[_File]) -> _File:
    """The file that the last one of a chain of files extends."""
    last = chain[-1]
    where = f"{last.shown}: {last.prefix}{_EXTEND}"
    written: str = read_value(_EXTEND, last.table[_EXTEND], where)
    path = os.path.normpath(os.path.join(os.path.dirname(last.path), os.path.expanduser(written)))
    real = os.path.realpath(path)
    for number, file in enumerate(chain):
        if os.path.realpath(file.path) == real:
            circle = [*(each.shown for each in chain[number:]), file.shown]
            raise ConfigError(f"{where} is circular: {' extends '.join(circle)}; remove one of these keys")
    if len(chain) == _MOST:
        raise ConfigError(f"{where} makes a chain of more than {_MOST} files; extend fewer")
    shown = paths.shown(path)
    file = _required(path, f"{where}: {shown}", _EXTEND)
    return file._replace(shown=shown)


def _required(path: str, shown: str, option: str) -> _File:
    file = _table(path, shown, option)
    if file is None:
        raise ConfigError(f"{shown}: has no [{TABLE}] table; add one or name another file")
    return file


def _table(path: str, shown: str, option: str = "--config") -> _File | None:
    """The table of a configuration file; None if a ``pyproject.toml`` has none."""
    data = _bytes(path, shown, option)
    if not path.endswith(_PROJECT):
        return _File(path, shown, "", _parse(data, shown))
    # Most pyproject.toml files in parent folders are not for torchlint: do not parse or validate those.
    table = _own_table(_parse(data, shown), shown) if b"torchlint" in data else None
    return _File(path, shown, f"{TABLE}.", table) if table is not None else None


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


def _build(file: _File, base: Config | None, mistakes: Mistakes) -> Config:
    """What is right in the configuration of one file, which extends another one."""
    values: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for key, value in file.table.items():
        with mistakes.noted():
            if key not in KEYS:
                raise ConfigError(f"{file.shown}: unknown key {quote(file.prefix + key)}{_instead(key)}")
            if key != _EXTEND:
                values[KEYS[key].field] = read_value(key, value, f"{file.shown}: {file.prefix}{key}")
                given[key] = value
    own = Config(**values, root=os.path.dirname(file.path), source=file.shown)
    return own if base is None else extending(own, base, given)


def _instead(key: str) -> str:
    """What to write instead of an unknown key."""
    from torchlint.config import other_tools

    found = other_tools.advice(key)
    return f"; {found}" if found is not None else advice(key, KEYS, "keys")

"""Switching a rule off in the configuration file, without touching anything else in it."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH113, PTH118, PTH119
from __future__ import annotations

import os
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array

from torchlint.config.config import Config

_PROJECT, _OWN = "pyproject.toml", "torchlint.toml"


def file_for(config: Config) -> str:
    """The file in which a rule is switched off: the one that applies, or one in the root of the project."""
    names = (_OWN, _PROJECT) if config.source is None else (os.path.basename(config.source),)
    paths = [os.path.join(config.root, name) for name in names]
    return next((path for path in paths if os.path.isfile(path)), paths[0])


def switched_off(path: str, before: str, rule: str) -> str | None:
    """The text of a configuration file with this rule in ``ignore``; None if it cannot be added."""
    try:
        document = tomlkit.parse(before)
        table: Any = document if os.path.basename(path) != _PROJECT else _own_table(document)
        ignored = table.setdefault("ignore", [])
        if not isinstance(ignored, Array):
            return None
        if rule not in ignored:
            ignored.append(rule)
        after = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, AttributeError):  # the file is not as it should be
        return None
    if "\r\n" in before and before.count("\n") == before.count("\r\n"):
        return after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after


def _own_table(document: Any) -> Any:
    """The table ``[tool.torchlint]``, made if it is missing."""
    if "tool" not in document:
        document["tool"] = tomlkit.table(is_super_table=True)
    if "torchlint" not in document["tool"]:
        document["tool"]["torchlint"] = tomlkit.table()
    return document["tool"]["torchlint"]

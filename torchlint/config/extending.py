"""What the values of a configuration are that extends another one.

A key of the extending file replaces that of the other. Tables are merged: of entries with the same key, that of the
extending file counts. Selectors and globs stay with their files (:class:`~torchlint.config.config.Config`).
"""

# ruff: noqa: PTH118 - os.path, as in torchlint.config.files
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torchlint.config.config import KEYS, Config

# The keys that stay with the file that they are written in.
_OWN = ("select", "extend-select", "ignore", "per-file-ignores", "exclude")


def extending(own: Config, base: Config, given: Mapping[str, Any]) -> Config:
    """The configuration ``own`` of a file with the keys ``given``, completed by the one that it extends."""
    fields = {KEYS[key].field for key in KEYS if key in _OWN or key in given} | {"root", "source"}
    values: dict[str, Any] = {field: getattr(own, field) for field in fields}
    merged = base._replace(**values, extended=base)
    return merged._replace(
        severity=(*(entry for entry in base.severity if entry[0] not in dict(own.severity)), *own.severity),
        rules=_merged_tables(base.rules, own.rules),
        budget={**base.budget, **own.budget},
        **_world(own, base, given.get("world", {})),
        **_baseline(base, given),
    )


def _merged_tables(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {**base.get(name, {}), **own.get(name, {})} for name in (*base, *own)}


def _world(own: Config, base: Config, given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(own.world, name) for name in (key.replace("-", "_") for key in given)}
    found["options"] = tuple({**dict(base.world.options), **dict(own.world.options)}.items())
    inherited = "programs" not in given and base.world.programs is not None
    root = (base.programs_root or base.root) if inherited else None
    return {"world": base.world._replace(**found), "programs_root": root}


def _baseline(base: Config, given: Mapping[str, Any]) -> dict[str, Any]:
    """The baseline of the other file by its full name, because it is relative to that file."""
    if "baseline" in given or base.baseline is None:
        return {}
    return {"baseline": os.path.join(base.root, base.baseline)}

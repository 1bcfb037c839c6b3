"""The client's settings: what the section ``torchlint`` of its configuration may hold."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from torchlint.config.config import Config
from torchlint.config.configurations import Configurations, configurations
from torchlint.config.select import check
from torchlint.config.values import nearest

SECTION = "torchlint"
LOG_LEVELS = ("debug", "info", "warning", "error")


class Settings(NamedTuple):
    """The settings for one folder. Rule selectors are written as in the configuration file.

    ``configuration`` is the path of a configuration file for all files, instead of the nearest one of each, and
    ``evidence`` are those of what ``torchlint confirm --evidence`` has written.
    """

    enable: bool = True
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    configuration: str | None = None
    evidence: tuple[str, ...] = ()
    fix_all: bool = True
    unsafe_fixes: bool = True
    show_info: bool = True
    show_measured: bool = True
    lint_excluded: bool = False
    log_level: str = "warning"

    def configurations(self, root: str, *, isolated: bool) -> Configurations:
        """The configurations for the files below a folder. Raises ``ConfigError``."""
        from torchlint.run.rules.registry import load

        for name, given in (("select", self.select), ("extendSelect", self.extend_select), ("ignore", self.ignore)):
            check(given or (), load(), f"the setting {SECTION}.{name}")
        explicit = os.path.join(root, os.path.expanduser(self.configuration)) if self.configuration else None  # noqa: PTH111, PTH118
        return configurations(
            root,
            lambda config: self._changed(config, root),
            explicit=None if isolated else explicit,
            isolated=isolated,
        )

    def evidence_paths(self, root: str) -> list[str]:
        """The files or folders with what earlier runs have shown; relative ones are below ``root``."""
        return [os.path.join(root, os.path.expanduser(path)) for path in self.evidence]  # noqa: PTH111, PTH118

    def _changed(self, config: Config, root: str) -> Config:
        if config.source is None:  # the current folder of a server means nothing
            config = config._replace(root=root)
        if self.select is not None:
            config = config._replace(select=self.select, ignore=())
        extended = (*config.extend_select, *self.extend_select)
        return config._replace(extend_select=extended, ignore=(*config.ignore, *self.ignore))


def read_settings(given: object) -> tuple[Settings, list[str]]:
    """The settings that a client sent, and what is wrong with them; a wrong value has no effect."""
    if isinstance(given, dict) and isinstance(inner := given.get("settings"), dict):
        given = inner
    if isinstance(given, dict) and isinstance(inner := given.get(SECTION), dict):
        given = inner
    if given is None:
        return Settings(), []
    if not isinstance(given, dict):
        return Settings(), [f"the setting {SECTION} must be an object, not {given!r}"]
    fields = {_camel(field): field for field in Settings._fields}
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for key, value in given.items():
        if key not in fields:  # perhaps one of the client's own, such as where torchlint is
            if close := nearest(str(key), fields):
                wrong.append(f"{SECTION}.{key} is not a setting; did you mean {SECTION}.{close}?")
        elif value is not None:
            _read(key, fields[key], value, found, wrong)
    return Settings(**found), wrong


def _read(key: str, field: str, value: object, found: dict[str, Any], wrong: list[str]) -> None:
    default = Settings._field_defaults[field]
    if field == "log_level":
        fits, wanted = value in LOG_LEVELS, "one of " + ", ".join(LOG_LEVELS)
    elif isinstance(default, bool):
        fits, wanted = isinstance(value, bool), "true or false"
    elif field == "configuration":
        fits, wanted = isinstance(value, str), "the path of a file"
    else:
        fits = isinstance(value, list) and all(isinstance(each, str) for each in value)
        wanted = "a list of paths" if field == "evidence" else "a list of rules"
    if not fits:
        wrong.append(f"{SECTION}.{key} must be {wanted}, not {value!r}")
    elif isinstance(value, list):
        found[field] = tuple(value)
    else:
        found[field] = value


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)

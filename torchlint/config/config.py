"""Configuration: from ``[tool.torchlint]`` or ``torchlint.toml`` to a frozen :class:`Config`.

This module knows the keys and how to validate them; ``torchlint.config.files`` reads the files. Callers tell it which
rules exist. Every mistake is one line that names the file, the key and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from torchlint.config.values import (
    WrongValue,
    budget,
    fail_on,
    file,
    flag,
    globs,
    ignores,
    seconds,
    selection,
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

    ``extended`` is the configuration that this one extends. Its values count here already, except for selectors and
    globs, which are those of this file alone: the order of files decides about the first, and their folders about the
    second. ``programs_root`` is the folder that ``world.programs`` is relative to, if that is not ``root``.
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
    extended: Config | None = None
    programs_root: str | None = None

    def chain(self) -> Iterator[Config]:
        """This configuration, the one that it extends, the one that that one extends, and so on."""
        config: Config | None = self
        while config is not None:
            yield config
            config = config.extended

    def rooted(self, folder: str) -> Config:
        """The configuration as if it, and all that it extends, were written in this folder, where the command runs."""
        extended = self.extended.rooted(folder) if self.extended is not None else None
        given = self.given._replace(base=folder)
        return self._replace(root=folder, top=None, given=given, extended=extended, programs_root=None)


class ConfigError(Exception):
    """What is wrong with a configuration: for each mistake one line that names the file, the key and what to do.

    ``rest`` is what the configuration says apart from that, for further checks.
    """

    def __init__(self, *messages: str, rest: Config | None = None) -> None:
        # File names and keys may contain anything; each message stays one escaped line.
        self.messages = tuple("".join(c if c.isprintable() else ascii(c)[1:-1] for c in each) for each in messages)
        self.rest = rest
        super().__init__("\n".join(self.messages))


class Mistakes:
    """Collects the mistakes of a configuration, so that all of them are reported at once."""

    def __init__(self) -> None:
        self.messages: dict[str, None] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after an error."""
        try:
            yield
        except ConfigError as error:
            self.messages.update(dict.fromkeys(error.messages))

    def report(self, rest: Config | None = None) -> None:
        """Raise what was noted, if anything was."""
        if self.messages:
            raise ConfigError(*self.messages, rest=rest)


class Key(NamedTuple):
    """A key of the configuration: its field, the kind of its value, and its description."""

    field: str
    kind: str
    help: str


KEYS: Mapping[str, Key] = {
    "extend": Key(
        "extended", "file", "The configuration file that this one extends, relative to this one; its own keys win."
    ),
    "select": Key("select", "selection", "Rules to run, instead of those that are on by default."),
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
        raise ConfigError(*(f"{where} {each}" for each in wrong.args)) from None


def source_of(config: Config) -> str:
    """The file of the configuration, as errors name it."""
    return config.source or "configuration"


_READERS: Mapping[str, Callable[[object], Any]] = {
    "selection": selection,
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

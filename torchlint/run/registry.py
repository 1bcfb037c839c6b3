"""Finds rules: the modules below ``torchlint.rules``, and the entry points of other packages.

It names no rule. Rule modules do not import LibCST, so that loading them is fast. A rule that cannot be imported or is
malformed stops the run, since a linter must not silently lack a rule.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from torchlint.rule import FACTS, Rule, problems

ENTRY_POINTS = "torchlint.rules"


class RegistryError(Exception):
    """A rule cannot be loaded; a one-line message that names it and the reason."""


@lru_cache(maxsize=1)
def load() -> tuple[type[Rule], ...]:
    """All rules, ordered by id. Raises :class:`RegistryError`."""
    found = [*_own(), *_plugged_in()]
    by_id: dict[str, type[Rule]] = {}
    for rule in found:
        for key in (rule.id, rule.name):
            other = by_id.setdefault(key, rule)
            if other is not rule:
                raise RegistryError(f"{_label(rule)} and {_label(other)} are both called {key}")
    return tuple(sorted(found, key=lambda rule: rule.id))


def _own() -> Iterator[type[Rule]]:
    import torchlint.rules

    for folder in torchlint.rules.__path__:
        for name in _modules(folder, "torchlint.rules"):
            yield from _rules_of(_import(name))


def _modules(folder: str, package: str) -> Iterator[str]:
    """The public modules in and below a folder, like ``pkgutil``, which takes longer to import."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            stem, dot, ending = entry.name.partition(".")
            if dot + ending == ".py" and not stem.startswith("_"):
                yield f"{package}.{stem}"
            elif not dot and not stem.startswith("_") and entry.is_dir():
                yield from _modules(entry.path, f"{package}.{stem}")


def plugins() -> list[str]:
    """The entry points for rules, with the names and versions of their distributions."""
    if not _may_have_plugins():
        return []
    from importlib.metadata import entry_points

    found = entry_points(group=ENTRY_POINTS)
    return sorted(f"{e.value} {e.dist.name} {e.dist.version}" if e.dist else e.value for e in found)


@lru_cache(maxsize=1)
def _may_have_plugins() -> bool:
    """Whether some installed package has entry points for rules.

    The standard library can find them, but takes longer to import than everything else here.
    """
    return any(_names_entry_points(folder) for folder in sys.path)


def _names_entry_points(folder: str) -> bool:
    try:
        with os.scandir(folder or ".") as entries:
            infos = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:
        return True  # an archive, which only the standard library can read
    except OSError:
        return False
    return any(_mentions(os.path.join(info, "entry_points.txt")) for info in infos)  # noqa: PTH118 - pathlib costs start-up


def _mentions(path: str) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - pathlib costs start-up
            return ENTRY_POINTS.encode() in stream.read()
    except OSError:
        return False


def _plugged_in() -> Iterator[type[Rule]]:
    if not _may_have_plugins():
        return
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            loaded = entry.load()
        except Exception as error:
            raise RegistryError(f"the entry point {entry.value!r} cannot be loaded: {_reason(error)}") from error
        rules = list(_rules_of(loaded)) if isinstance(loaded, ModuleType) else [loaded]
        for rule in rules:
            malformed = problems(rule) if isinstance(rule, type) and issubclass(rule, Rule) else ["is no Rule"]
            if malformed:
                raise RegistryError(f"the rule behind the entry point {entry.value!r} {malformed[0]}")
            yield rule


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise RegistryError(f"the rule module {name} cannot be imported: {_reason(error)}") from error


def _rules_of(module: ModuleType) -> Iterator[type[Rule]]:
    for thing in vars(module).values():
        if isinstance(thing, type) and issubclass(thing, Rule) and thing.__module__ == module.__name__:
            lacking = [fact for fact in FACTS if not hasattr(thing, fact)]
            if lacking:
                raise RegistryError(f"{_label(thing)} has no {lacking[0]}")
            yield thing


def _label(rule: type[Rule]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"

"""Rules of other packages: finds and imports them, and knows the package of each.

A package has rules if its metadata has an entry point in the group ``torchlint.rules``, which names a package, a module
or a class. Nothing here is imported or searched for where no such metadata exist.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base.version import REPOSITORY
from torchlint.config.config import ConfigError
from torchlint.rule import FACTS, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "torchlint.rules"
DISABLED = "TORCHLINT_DISABLE_PLUGINS"
ISSUES = f"{REPOSITORY}/issues"
# Labels of project URLs for reports of bugs, without case, spaces and punctuation.
_TRACKERS = ("issues", "issue", "bugs", "bugtracker", "issuetracker", "tracker", "bugreports", "reportissues")


class RegistryError(ConfigError):
    """A rule cannot be loaded; a one-line message that names it and the reason."""


class Package(NamedTuple):
    """A distribution with rules."""

    name: str
    version: str = ""

    def __str__(self) -> str:
        """The name and, unless it is torchlint itself, the version."""
        return f"{self.name} {self.version}".strip()


CORE = Package("torchlint")


def modules(folder: str, package: str) -> Iterator[str]:
    """The public modules in and below a folder, like ``pkgutil``, which takes longer to import."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            stem, dot, ending = entry.name.partition(".")
            if dot + ending == ".py" and not stem.startswith("_"):
                yield f"{package}.{stem}"
            elif not dot and not stem.startswith("_") and entry.is_dir():
                yield from modules(entry.path, f"{package}.{stem}")


def rules_in(module: ModuleType) -> Iterator[type[Rule]]:
    """The rules that a module defines."""
    for thing in vars(module).values():
        if isinstance(thing, type) and issubclass(thing, Rule) and thing.__module__ == module.__name__:
            lacking = [fact for fact in FACTS if not hasattr(thing, fact)]
            if lacking:
                advice = "a base class of rules belongs in a module whose name begins with an underscore"
                raise RegistryError(f"{label(thing)} has no {lacking[0]}; {advice}")
            yield thing


def label(rule: type[Rule]) -> str:
    """The full name of a rule class."""
    return f"{rule.__module__}.{rule.__qualname__}"


def reason(error: BaseException) -> str:
    """An exception on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


# -- finding and importing -----------------------------------------------------------------------


def load() -> dict[type[Rule], Package]:
    """The rules of all other packages. Raises :class:`RegistryError`."""
    found: dict[type[Rule], Package] = {}
    for point, package in _sources():
        try:
            for rule in _rules_of(point.load()):
                found.setdefault(rule, package)
        except RegistryError as error:
            raise RegistryError(_failed(package, str(error))) from None
        except (Exception, SystemExit) as error:
            raise RegistryError(_failed(package, f"{point.value} cannot be imported ({reason(error)})")) from error
    return found


def _failed(package: Package, why: str) -> str:
    advice = f"upgrade or uninstall it, or set {DISABLED}=1 to go on without the rules of other packages"
    return f"the rules of {package} cannot be loaded: {why}; {advice}"


def _rules_of(loaded: object) -> Iterator[type[Rule]]:
    """The rules of what an entry point names: a class, a module, or a package with all of its public modules."""
    from torchlint.run.rules.wellformed import problems

    if not isinstance(loaded, ModuleType):
        found = [loaded]
    else:
        found = list(rules_in(loaded))
        for folder in getattr(loaded, "__path__", ()):
            for name in modules(folder, loaded.__name__):
                found += rules_in(importlib.import_module(name))
        if not found:
            raise RegistryError(f"{loaded.__name__} defines no rule")
    for rule in found:
        if not (isinstance(rule, type) and issubclass(rule, Rule)):
            raise RegistryError(f"{rule!r} is no torchlint.rule.Rule")
        if wrong := problems(rule):
            raise RegistryError(f"{label(rule)} {wrong[0]}")
        yield rule


class _Source(NamedTuple):
    """An entry point, and the package that has it."""

    point: EntryPoint
    package: Package


@cache
def _sources() -> tuple[_Source, ...]:
    """The entry points for rules. Raises :class:`RegistryError` for damaged metadata."""
    places = [] if os.environ.get(DISABLED) else [place for folder in sys.path for place in _places(folder)]
    found: dict[str, list[_Source]] = {}
    for place in places:
        try:
            for package, points in _listed(place):
                found.setdefault(package.name.lower(), [_Source(point, package) for point in points])
        except Exception as error:
            advice = f"reinstall or remove the package, or set {DISABLED}=1"
            raise RegistryError(f"the metadata in {place} cannot be read ({reason(error)}); {advice}") from error
    sources = [source for several in found.values() for source in several]
    return tuple(sorted(sources, key=lambda source: (source.point.value, source.point.name)))


def _listed(place: str) -> Iterator[tuple[Package, list[EntryPoint]]]:
    """The distributions with entry points for rules at a place: a folder with metadata, or an archive."""
    from importlib.metadata import Distribution, distributions

    for distribution in [Distribution.at(place)] if os.path.isdir(place) else distributions(path=[place]):  # noqa: PTH112
        points = [point for point in distribution.entry_points if point.group == GROUP]
        facts = distribution.metadata
        if points:
            name = facts["Name"] if "Name" in facts else os.path.basename(place)  # noqa: PTH119 - as below
            yield Package(name, *(facts[fact] for fact in ("Version",) if fact in facts)), points


def _places(folder: str) -> list[str]:
    """Where in a folder of the module path metadata name entry points for rules.

    The standard library can find them, but takes longer to import than everything else here.
    """
    try:
        with os.scandir(folder or ".") as entries:
            infos = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:
        return [folder]  # an archive, which only the standard library can read
    except OSError:
        return []
    return [info for info in infos if _mentions(os.path.join(info, "entry_points.txt"))]  # noqa: PTH118 - pathlib costs start-up


def _mentions(path: str) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - pathlib costs start-up
            return GROUP.encode() in stream.read()
    except OSError:
        return False


# -- what else is known of a package -------------------------------------------------------------


def forget() -> None:
    """Search again when rules are loaded next."""
    _sources.cache_clear()
    where_to_report.cache_clear()


@lru_cache(maxsize=64)
def where_to_report(package: Package) -> str:
    """Where bugs of the rules of a package are reported: its tracker, if its metadata name one."""
    if package == CORE:
        return f"at {ISSUES}"
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata(package.name).get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    known = {re.sub(r"\W|_", "", name).lower(): url.strip() for name, _, url in (one.partition(",") for one in urls)}
    tracker = next((known[name] for name in _TRACKERS if known.get(name)), None)
    return f"to {package} at {tracker}" if tracker else f"to the authors of {package}"


def stamps() -> list[str]:
    """Changes whenever a package with rules is upgraded, or its code changes, as in a checkout."""
    found = {f"{point.value} {package}" for point, package in _sources()}
    for top in {point.value.partition(":")[0].partition(".")[0].strip() for point, _ in _sources()}:
        found.update(f"{path}:{changed}" for path, changed in _files(sys.modules.get(top)))
    return sorted(found)


def _files(module: ModuleType | None) -> Iterator[tuple[str, int]]:
    """The source files of a module or package, each with the time of its last change."""
    paths = [file for file in [getattr(module, "__file__", None)] if file]
    for root in getattr(module, "__path__", ()):
        for folder, _, names in os.walk(root):
            paths += [os.path.join(folder, name) for name in names if name.endswith(".py")]  # noqa: PTH118 - as above
    for path in dict.fromkeys(paths):
        try:
            yield path, os.stat(path).st_mtime_ns  # noqa: PTH116 - as above
        except OSError:
            continue

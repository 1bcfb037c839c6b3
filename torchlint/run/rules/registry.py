"""Knows all rules: those of the modules below ``torchlint.rules``, and those of other packages.

It names no rule. Rule modules do not import LibCST, so that loading them is fast. A rule that cannot be imported or is
malformed stops the run, since a linter must not silently lack a rule.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from torchlint.config.presets import PRESETS
from torchlint.groups import GROUPS
from torchlint.rule import TOPICS, Rule, is_core, topic_of
from torchlint.run.rules import plugins
from torchlint.run.rules.plugins import Package, RegistryError, label

__all__ = ["RegistryError", "core", "forget", "load", "package_by_id", "package_of"]


@lru_cache(maxsize=1)
def load() -> tuple[type[Rule], ...]:
    """All rules: torchlint's own, then those of other packages, each ordered by id. Raises :class:`RegistryError`."""
    return tuple(_packages())


def core() -> tuple[type[Rule], ...]:
    """Torchlint's own rules, ordered by id. Raises :class:`RegistryError`."""
    return tuple(rule for rule in load() if is_core(rule.id))


def package_of(rule: type[Rule]) -> Package:
    """The distribution that a rule comes from."""
    found = _packages().get(rule)
    return found or (plugins.CORE if is_core(rule.id) else Package(rule.__module__.partition(".")[0]))


def package_by_id(rule_id: str) -> Package:
    """The distribution that the rule with this id comes from."""
    return next((package for rule, package in _packages().items() if rule.id == rule_id), plugins.CORE)


def forget() -> None:
    """Search for rules again when they are loaded next."""
    load.cache_clear()
    _packages.cache_clear()
    plugins.forget()


@lru_cache(maxsize=1)
def _packages() -> dict[type[Rule], Package]:
    found = dict.fromkeys(_own(), plugins.CORE)
    found.update(plugins.load())
    _check_names(found)
    return dict(sorted(found.items(), key=lambda item: (not is_core(item[0].id), item[0].id)))


def _own() -> Iterator[type[Rule]]:
    import torchlint.rules

    for folder in torchlint.rules.__path__:
        for name in plugins.modules(folder, "torchlint.rules"):
            yield from plugins.rules_in(_import(name))


def _check_names(found: dict[type[Rule], Package]) -> None:
    """Raise if two rules share an id or a name, or if a rule is named like a topic, a group or a preset."""
    taken: dict[str, type[Rule]] = {}
    topics = {topic_of(rule): rule for rule in found}
    for rule, package in found.items():
        for key in (rule.id, rule.name):
            other = taken.setdefault(key, rule)
            if other is not rule:
                both = f"{label(rule)} ({package}) and {label(other)} ({found[other]})"
                raise RegistryError(f"{both} are both called {key}; uninstall or rename one of them")
        if rule.name in topics:
            raise RegistryError(f"{label(rule)} ({package}) is called {rule.name}, which is a topic; rename it")
        for what, word in (("name", rule.name), ("topic", topic_of(rule))):
            if word in GROUPS and word not in TOPICS.values():
                raise RegistryError(f"{label(rule)} ({package}) has the {what} {word}, which is a group; rename it")
            if word in PRESETS:
                raise RegistryError(f"{label(rule)} ({package}) has the {what} {word}, which is a preset; rename it")


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise RegistryError(f"the rule module {name} cannot be imported: {plugins.reason(error)}") from error

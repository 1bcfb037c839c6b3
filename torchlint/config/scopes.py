"""The configuration and the enabled rules for each file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.config.config import ConfigError, Mistakes
from torchlint.config.options import check_rule_tables
from torchlint.config.select import check_selectors, chosen

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations
    from torchlint.rule import Rule


class Scope(NamedTuple):
    """A configuration, and the ids of the enabled rules."""

    config: Config
    active: frozenset[str]


def check_against_rules(rules: Sequence[type[Rule]], config: Config) -> None:
    """Raise unless a configuration names rules and options of rules that exist."""
    mistakes = Mistakes()
    with mistakes.noted():
        check_rule_tables(rules, config)
    with mistakes.noted():
        check_selectors(rules, config)
    mistakes.report()


def every_mistake(error: ConfigError, rules: Sequence[type[Rule]]) -> tuple[str, ...]:
    """The messages of an error, and what is wrong in the rest of that configuration: names that are no rules."""
    try:
        if error.rest is not None:
            check_against_rules(rules, error.rest)
    except ConfigError as further:
        return tuple(dict.fromkeys((*error.messages, *further.messages)))
    return error.messages


class Scopes:
    """The scopes of a run. Each configuration is checked against the rules when it is first used."""

    def __init__(self, configurations: Configurations, rules: Sequence[type[Rule]]) -> None:
        self.configurations = configurations
        self._made: dict[tuple[str, str | None, str | None], Scope] = {}
        self._by_folder: dict[str, Scope] = {}
        self.first = self._scope(configurations.first, rules)

    def of(self, path: str, rules: Sequence[type[Rule]]) -> Scope:
        """The scope of a file. Raises ``ConfigError``."""
        folder = os.path.dirname(path)  # noqa: PTH120 - pathlib costs start-up
        found = self._by_folder.get(folder)
        if found is None:
            config = self.configurations.for_folder(os.path.abspath(folder))  # noqa: PTH100
            found = self._by_folder[folder] = self._scope(config, rules)
        return found

    def time_limit(self) -> float:
        """The longest time limit of all files so far; 0 if one has none."""
        limits = [scope.config.time_limit for scope in self._made.values()]
        return max(limits) if all(limits) else 0.0

    def _scope(self, config: Config, rules: Sequence[type[Rule]]) -> Scope:
        key = (config.root, config.source, config.target_torch)
        found = self._made.get(key)
        if found is None:
            check_against_rules(rules, config)
            found = self._made[key] = Scope(config, chosen(rules, config))
        return found

"""Rule selection: from selectors to the ids of the enabled rules.

A selector is a rule's id or name, a topic (``copies``), a prefix of an id (``TL3``) or ``ALL``. The most specific
selector that matches a rule decides; ``ignore`` wins a tie.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from torchlint.base.globs import GlobProblem, compiled, path_matches
from torchlint.config.config import Config, ConfigError, source_of
from torchlint.config.values import nearest
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION
from torchlint.rule import topic_of

ALL = "ALL"


class Facts(Protocol):
    """The facts about a rule that selection needs; rule classes and their records have them."""

    @property
    def id(self) -> str:
        """``TL`` and three digits."""

    @property
    def name(self) -> str:
        """The kebab-case name."""

    @property
    def default(self) -> bool:
        """Whether the rule is enabled without being selected."""


# : The ids of torchlint's built-in findings, which have no rule class.
BUILT_IN = {SYNTAX_ERROR: "syntax-error", UNUSED_SUPPRESSION: "unused-suppression"}


def names(rules: Sequence[Facts]) -> dict[str, str]:
    """The names of all rules by id, including torchlint's built-in findings."""
    return {**BUILT_IN, **{rule.id: rule.name for rule in rules}}


def selectors(rules: Sequence[Facts]) -> list[str]:
    """Every valid selector, for validation, completion and the schema."""
    known = names(rules)
    topics = dict.fromkeys(topic_of(rule_id) for rule_id in sorted(known))
    prefixes = {rule_id[:length] for rule_id in known for length in (2, 3, 4)}
    return [ALL, *topics, *sorted(prefixes), *sorted(known), *(known[rule_id] for rule_id in sorted(known))]


def check(given: Iterable[str], rules: Sequence[Facts], where: str) -> None:
    """Raise for a selector that matches nothing; ``where`` names the file and key, or the option."""
    valid = selectors(rules)
    for selector in given:
        if selector not in valid:
            close = nearest(selector, valid)
            advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
            raise ConfigError(f"{where}: {selector!r} is not a rule, topic or prefix; {advice}")


def chosen(rules: Sequence[Facts], config: Config) -> frozenset[str]:
    """The ids of the enabled rules. A selector that matches nothing is an error."""
    _check_all(rules, config)
    wanted = (*(config.select or ()), *config.extend_select)
    off = {rule.id for rule in rules if not rule.default}
    on = {SYNTAX_ERROR}
    for rule_id, name in names(rules).items():
        by_default = 0 if config.select is None and rule_id not in off else -1
        if max(by_default, _weight(wanted, rule_id, name)) > _weight(config.ignore, rule_id, name):
            on.add(rule_id)
    return frozenset(on)


def left_on(
    path: str, active: frozenset[str], config: Config, rules: Sequence[Facts]
) -> tuple[frozenset[str], str | None]:
    """The ids of the rules enabled for the file at ``path``, and why they cannot be determined if so."""
    try:
        return active - ignored_for(path, config, rules), None
    except GlobProblem as problem:
        return active, f"{source_of(config)}: per-file-ignores: {problem}"


def ignored_for(path: str, config: Config, rules: Sequence[Facts]) -> frozenset[str]:
    """The ids that ``per-file-ignores`` disables in the file at ``path``. Raises :class:`GlobProblem`."""
    given = [
        *_matching(config.per_file_ignores, path, config.root),
        *_matching(config.given.per_file_ignores, path, config.given.base),
    ]
    if not given:
        return frozenset()
    known = names(rules).items()
    silenced = {rule_id for rule_id, name in known if _weight(given, rule_id, name) >= 0}
    return frozenset(silenced - {SYNTAX_ERROR})


def _matching(table: Sequence[tuple[str, tuple[str, ...]]], path: str, base: str) -> Iterable[str]:
    """The selectors in a table of globs that apply to a file."""
    if not table:
        return ()
    relative = relative_to(base, path)
    return [selector for glob, listed in table if path_matches((glob,), relative) for selector in listed]


def relative_to(base: str, path: str) -> str:
    """``path`` relative to a folder, for matching globs, with ``/``."""
    try:
        return os.path.relpath(path, base).replace(os.sep, "/")
    except ValueError:  # a path on another drive
        return path.replace(os.sep, "/")


def _check_all(rules: Sequence[Facts], config: Config) -> None:
    source = source_of(config)
    check(config.select or (), rules, f"{source}: select")
    check(config.extend_select, rules, f"{source}: extend-select")
    check(config.ignore, rules, f"{source}: ignore")
    for glob, given in config.per_file_ignores:
        check(given, rules, f"{source}: per-file-ignores at {glob!r}")
    _check_globs(config.per_file_ignores, f"{source}: per-file-ignores")
    _check_globs(config.given.per_file_ignores, "--per-file-ignores")


def _check_globs(table: Iterable[tuple[str, tuple[str, ...]]], where: str) -> None:
    try:
        for glob, _ in table:
            compiled((glob,))
    except GlobProblem as problem:
        raise ConfigError(f"{where} {problem}") from None


def _weight(given: Iterable[str], rule_id: str, name: str) -> int:
    """How specific the most specific matching selector is; -1 if none matches."""
    weights = {ALL: 0, topic_of(rule_id): 3, **{rule_id[:n]: n for n in range(2, 6)}, name: 5}
    return max((weights.get(selector, -1) for selector in given), default=-1)

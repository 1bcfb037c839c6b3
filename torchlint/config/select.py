"""Rule selection: from selectors to the ids of the enabled rules.

A selector is a rule's id or name, a topic (``copies``), a group (``waste``), a prefix of an id (``TL3``), a preset
(``ci``) or ``ALL``. A prefix has all letters of the id, so that ``AC`` does not select the rules of ``ACME``. The most
specific selector that matches a rule decides; ``ignore`` wins a tie. Unless ``preview`` is set, only ids, names and the
group itself select rules of the group ``preview``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from torchlint.base.globs import GlobProblem, compiled, path_matches
from torchlint.base.paths import relative_to
from torchlint.config.config import Config, ConfigError, Mistakes, source_of
from torchlint.config.presets import PRESETS, Facts, presets_of
from torchlint.config.values import nearest
from torchlint.groups import ADVICE, DEAD, GROUPS, PREVIEW, group_of, on_by_default
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION
from torchlint.retired import why_retired
from torchlint.rule import CORE_PREFIX, FORMER_TOPICS, TOPICS, prefix_of, topic_by_id, topic_of

ALL = "ALL"
_LIKE_AN_ID = re.compile(r"[A-Za-z]{2,12}[0-9]+|[A-Z]{2,12}")
_NEAR = 10  # ids that a message names


F = TypeVar("F", bound=Facts)
V = TypeVar("V")
# : The ids of torchlint's built-in findings, which have no rule class.
BUILT_IN = {SYNTAX_ERROR: "syntax-error", UNUSED_SUPPRESSION: "unused-suppression"}
_INVALID = (SYNTAX_ERROR, BUILT_IN[SYNTAX_ERROR])


def names(rules: Sequence[Facts]) -> dict[str, str]:
    """The names of all rules by id, including torchlint's built-in findings."""
    return {**BUILT_IN, **{rule.id: rule.name for rule in rules}}


def _topics(rules: Sequence[Facts]) -> dict[str, str]:
    """The topics of all rules by id, including torchlint's built-in findings."""
    return {**{rule_id: topic_by_id(rule_id) for rule_id in BUILT_IN}, **{rule.id: topic_of(rule) for rule in rules}}


def _groups(rules: Sequence[Facts]) -> dict[str, str]:
    """The groups of all rules by id, including torchlint's built-in findings."""
    return {SYNTAX_ERROR: DEAD, UNUSED_SUPPRESSION: ADVICE, **{rule.id: group_of(rule) for rule in rules}}


def _presets(rules: Sequence[Facts]) -> dict[str, list[str]]:
    """The presets of all rules by id; torchlint's built-in findings belong to all of them."""
    return {**{rule_id: list(PRESETS) for rule_id in BUILT_IN}, **{rule.id: presets_of(rule) for rule in rules}}


def selected(given: Sequence[str], rules: Sequence[F]) -> list[F]:
    """Those of the rules that at least one selector matches."""
    weights = _all_weights([rule for rule in rules if rule.id not in BUILT_IN])
    return [rule for rule in rules if _weight(given, weights[rule.id]) >= 0]


def _prefixes(rule_id: str) -> list[str]:
    """The prefixes of an id that select it: its letters, alone or with some of its digits."""
    return [rule_id[:length] for length in range(len(prefix_of(rule_id)), len(rule_id))]


def selectors(rules: Sequence[Facts]) -> list[str]:
    """Every valid selector, for validation, completion and the schema."""
    known, by_id = names(rules), _topics(rules)
    topics = dict.fromkeys(by_id[rule_id] for rule_id in sorted(known))
    prefixes = {prefix for rule_id in known for prefix in _prefixes(rule_id)}
    return [
        ALL,
        *PRESETS,
        *dict.fromkeys((*GROUPS, *topics)),
        *sorted(prefixes),
        *sorted(known),
        *(known[rule_id] for rule_id in sorted(known)),
    ]


def check(given: Iterable[str], rules: Sequence[Facts], where: str) -> None:
    """Raise for selectors that match nothing; ``where`` names the file and key, or the option."""
    valid = selectors(rules)
    unknown = [selector for selector in given if FORMER_TOPICS.get(selector, selector) not in valid]
    if unknown:
        raise ConfigError(*(f"{where}: {_unknown(selector, valid)}" for selector in unknown))


def _unknown(selector: str, valid: Sequence[str]) -> str:
    """The message for a selector that matches nothing, with what was probably meant."""
    if (retired := why_retired(selector)) is not None:
        return f"{retired}; remove it"
    if _LIKE_AN_ID.fullmatch(selector) and selector.upper() not in valid:
        return _no_such_id(selector.upper(), valid)
    if selector in TOPICS.values():
        return f"the topic {selector!r} has no rules; `torchlint rules` lists those that there are"
    close = nearest(selector, valid)
    advice = f"did you mean {close!r}?" if close else "`torchlint rules` lists them"
    return f"there is no rule, topic, group, prefix or preset {selector!r}; {advice}"


def _no_such_id(selector: str, valid: Sequence[str]) -> str:
    """The message for the id or prefix of no rule, with the existing ones that begin alike."""
    letters = prefix_of(selector)
    what = f"no rule has the id {selector!r}, or one that begins with it"
    if letters not in valid:
        installed = "" if letters == CORE_PREFIX else "; is the package that has it installed?"
        return f"{what}; `torchlint rules` lists them{installed}"
    stem = next(selector[:n] for n in range(len(selector) - 1, 1, -1) if selector[:n] in valid)
    near = sorted(each for each in valid if each.startswith(stem) and len(each) == len(stem) + 1)
    return f"{what}; there {'are' if len(near) > 1 else 'is'} {', '.join(near[:_NEAR])}"


def chosen(rules: Sequence[Facts], config: Config) -> frozenset[str]:
    """The ids of the enabled rules. A selector that matches nothing is an error."""
    check_selectors(rules, config)
    previews = {rule.id for rule in rules if group_of(rule) == PREVIEW}
    off = {rule.id for rule in rules if not (on_by_default(rule) or (config.preview and rule.id in previews))}
    on = {SYNTAX_ERROR}
    for rule_id, weights in _all_weights(rules).items():
        selecting = _explicit(weights) if rule_id in previews and not config.preview else weights
        if _is_on(selections(config), weights, selecting, by_default=rule_id not in off):
            on.add(rule_id)
    return frozenset(on)


def selections(config: Config) -> list[Config]:
    """The configurations whose selectors count, in the order in which they apply: a ``select`` undoes those before."""
    found: list[Config] = []
    for each in config.chain():
        found.insert(0, each)
        if each.select is not None:
            break
    return found


def is_named(rule: Facts, config: Config) -> bool:
    """Whether a selector names a rule, its topic or a prefix of its id with digits, rather than many kinds of rules."""
    given = {one for each in selections(config) for one in (*(each.select or ()), *each.extend_select)}
    return not given.isdisjoint((rule.id, rule.name, topic_of(rule), *_prefixes(rule.id)[1:]))


def _is_on(
    given: Iterable[Config], weights: Mapping[str, int], selecting: Mapping[str, int], *, by_default: bool
) -> bool:
    """Whether a rule is on: the last configuration with a selector that matches it decides."""
    on = by_default
    for config in given:
        wanted = _weight((*(config.select or ()), *config.extend_select), selecting)
        ignored = _weight(config.ignore, weights)
        if config.select is not None or max(wanted, ignored) >= 0:
            on = wanted > ignored
    return on


def _explicit(weights: Mapping[str, int]) -> dict[str, int]:
    """The selectors that select a rule of the group ``preview`` where previews are off, and how specific they are."""
    return {selector: weight for selector, weight in weights.items() if weight == _EXACT or selector == PREVIEW}


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
    given = list(_matching(config.given.per_file_ignores, path, config.given.base))
    replaced: set[str] = set()
    for each in config.chain():
        given += _matching([entry for entry in each.per_file_ignores if entry[0] not in replaced], path, each.root)
        replaced.update(glob for glob, _ in each.per_file_ignores)
    if not given:
        return frozenset()
    silenced = {rule_id for rule_id, weights in _all_weights(rules).items() if _weight(given, weights) >= 0}
    return frozenset(silenced - {SYNTAX_ERROR})


def _matching(table: Sequence[tuple[str, tuple[str, ...]]], path: str, base: str) -> Iterable[str]:
    """The selectors in a table of globs that apply to a file."""
    if not table:
        return ()
    relative = relative_to(base, path)
    return [selector for glob, listed in table if path_matches((glob,), relative) for selector in listed]


def most_specific(table: Iterable[tuple[str, V]], rules: Sequence[Facts]) -> dict[str, V]:
    """The value of each rule by id, for rules that a selector of the table matches.

    The most specific selector decides, and the last of equally specific ones.
    """
    table = tuple(table)
    if not table:
        return {}
    found: dict[str, V] = {}
    for rule_id, weights in _all_weights(rules).items():
        matching = [(weights[selector], number) for number, (selector, _) in enumerate(table) if selector in weights]
        if matching:
            found[rule_id] = table[max(matching)[1]][1]
    return found


def check_selectors(rules: Sequence[Facts], config: Config) -> None:
    """Raise unless every selector of a configuration, and of those that it extends, matches some of the rules."""
    mistakes = Mistakes()
    for each in reversed(list(config.chain())):
        source = source_of(each)
        given = {"select": each.select or (), "extend-select": each.extend_select, "ignore": each.ignore}
        given |= {"severity": [selector for selector, _ in each.severity]}
        given |= {f"per-file-ignores at {glob!r}": listed for glob, listed in each.per_file_ignores}
        for key, listed in given.items():
            with mistakes.noted():
                check(listed, rules, f"{source}: {key}")
        with mistakes.noted():
            if wrong := [selector for selector, _ in each.severity if selector in _INVALID]:
                raise ConfigError(f"{source}: severity: invalid Python is always an error; remove {wrong[0]}")
        for glob, _ in each.per_file_ignores:
            with mistakes.noted():
                _check_glob(glob, f"{source}: per-file-ignores")
    for glob, _ in config.given.per_file_ignores:
        with mistakes.noted():
            _check_glob(glob, "--per-file-ignores")
    mistakes.report()


def _check_glob(glob: str, where: str) -> None:
    try:
        compiled((glob,))
    except GlobProblem as problem:
        raise ConfigError(f"{where} {problem}") from None


_EXACT = 9


def _all_weights(rules: Sequence[Facts]) -> dict[str, dict[str, int]]:
    """For each rule by id, the selectors that match it, and how specific they are.

    A topic counts like the hundred of an id, a group like the letters of one, and a preset is more specific than
    ``ALL``. Where a group and a topic have the same name, it is the topic.
    """
    topics, presets, groups = _topics(rules), _presets(rules), _groups(rules)
    return {
        rule_id: {
            ALL: 0,
            **dict.fromkeys(presets[rule_id], 1),
            groups[rule_id]: 2,
            topics[rule_id]: 3,
            **{former: 3 for former, topic in FORMER_TOPICS.items() if topic == topics[rule_id]},
            **{prefix: 2 + count for count, prefix in enumerate(_prefixes(rule_id))},
            rule_id: _EXACT,
            name: _EXACT,
        }
        for rule_id, name in names(rules).items()
    }


def _weight(given: Iterable[str], weights: Mapping[str, int]) -> int:
    """How specific the most specific matching selector is; -1 if none matches."""
    return max((weights.get(selector, -1) for selector in given), default=-1)

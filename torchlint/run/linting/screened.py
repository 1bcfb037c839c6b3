"""Prefiltering of one file: which rules may find something in it, and whether it must be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base.timings import phase
from torchlint.config.select import names
from torchlint.prefilter.facts import from_bytes, needs_parsing
from torchlint.prefilter.needs import compiled
from torchlint.run.linting.parsable import is_parsable
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.normalization import has_unnormalized_names

_NOQA = rb"noqa[ \t]*:([^#\r\n]*)"
_CODE = rb"[\w-]+"

if TYPE_CHECKING:
    from torchlint.prefilter.text_index import TextIndex
    from torchlint.project.facts import FileFacts
    from torchlint.rule import Rule


class Screened(NamedTuple):
    """The result of prefiltering one file: facts that need no parsing, and the ids of rules that may find something.

    ``may_suppress``: the file may contain suppressions of torchlint's rules, to be checked for unused ones.
    ``needs_facts``: other files may need facts that only parsing shows. ``unnormalized``: identifiers are not in NFKC
    form, so a text search may miss them. ``may_not_parse``: the file mentions torch and has a syntax error.
    """

    facts: FileFacts
    candidates: frozenset[str]
    may_suppress: bool
    needs_facts: bool
    unnormalized: bool = False
    may_not_parse: bool = False

    @property
    def parses(self) -> bool:
        """Whether the file must be parsed."""
        return bool(self.candidates) or self.needs_facts or self.may_not_parse


def screened(
    data: bytes,
    text_index: TextIndex,
    rules: Sequence[type[Rule]],
    active: frozenset[str],
    *,
    alone: bool = True,
    exhaustive: bool = False,
) -> Screened:
    """Prefilter the bytes of one file for its active rules, without importing LibCST.

    Facts are collected only for a file that is linted ``alone``. With ``exhaustive``, or if the file has identifiers
    that are not in NFKC form, every active rule is a candidate.
    """
    with phase("screen"):
        on = [rule for rule in rules if rule.id in active]
        unnormalized = exhaustive or has_unnormalized_names(data, lambda: _text(data, text_index))
        found = Screened(
            from_bytes(text_index),
            frozenset(rule.id for rule in on if unnormalized or any(map(text_index.all, rule.alternatives()))),
            may_suppress=_may_suppress(data, rules),
            needs_facts=alone and (unnormalized or needs_parsing(text_index)),
            unnormalized=unnormalized,
        )
    if found.parses or not alone or b"torch" not in data:
        return found
    with phase("syntax"):
        return found._replace(may_not_parse=not is_parsable(data))


def _text(data: bytes, text_index: TextIndex) -> str | None:
    if text_index.text is not None:
        return text_index.text
    try:
        return decode(data)
    except DecodeProblem:
        return None


def _may_suppress(data: bytes, rules: Sequence[type[Rule]]) -> bool:
    """Whether some comment may be a suppression for torchlint, including a ``noqa`` with one of its codes."""
    if b"torchlint:" in data:
        return True
    lowered = data.lower()
    if b"noqa" not in lowered:
        return False
    from torchlint.run.linting.suppress import is_ours

    known = names(rules)
    codes = {code for noqa in compiled(_NOQA).finditer(lowered) for code in compiled(_CODE).findall(noqa[1])}
    return any(is_ours(code.decode(), known) for code in codes)

"""What the bytes of one file tell by themselves: which rules may fire in it, and whether it has to be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base.timings import phase
from torchlint.config.select import names
from torchlint.prefilter.facts import from_bytes, needs_parsing
from torchlint.prefilter.needs import compiled
from torchlint.run.parsable import is_parsable
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.spelling import is_odd

_NOQA = rb"noqa[ \t]*:([^#\r\n]*)"
_CODE = rb"[\w-]+"

if TYPE_CHECKING:
    from torchlint.prefilter.contents import Contents
    from torchlint.project import FileFacts
    from torchlint.rule import Rule


class Screened(NamedTuple):
    """The facts that need no parsing, the ids of the rules that may fire, and what else matters.

    ``commented``: there may be suppressions that are torchlint's own, and to be judged. ``offers``: other files may
    want to know more of this one. ``odd``: searches may not find what stands there. ``broken``: the file names torch,
    and may be no program.
    """

    facts: FileFacts
    survivors: frozenset[str]
    commented: bool
    offers: bool
    odd: bool = False
    broken: bool = False

    @property
    def parses(self) -> bool:
        """The file has to be parsed."""
        return bool(self.survivors) or self.offers or self.broken


def screened(
    data: bytes,
    contents: Contents,
    rules: Sequence[type[Rule]],
    active: frozenset[str],
    *,
    alone: bool = True,
    exhaustive: bool = False,
) -> Screened:
    """Screen the bytes of one file for the rules whose ids are on for it, without importing LibCST.

    Unless the file is linted ``alone``, its facts are known already. ``exhaustive`` has every rule survive, and so has
    a file with odd spellings.
    """
    with phase("screen"):
        on = [rule for rule in rules if rule.id in active]
        odd = exhaustive or is_odd(data, lambda: _text(data, contents))
        found = Screened(
            from_bytes(contents),
            frozenset(rule.id for rule in on if odd or any(map(contents.all, rule.alternatives()))),
            commented=_is_commented(data, rules),
            offers=alone and (odd or needs_parsing(contents)),
            odd=odd,
        )
    if found.parses or not alone or b"torch" not in data:
        return found
    with phase("syntax"):
        return found._replace(broken=not is_parsable(data))


def _text(data: bytes, contents: Contents) -> str | None:
    if contents.text is not None:
        return contents.text
    try:
        return decode(data)
    except DecodeProblem:
        return None


def _is_commented(data: bytes, rules: Sequence[type[Rule]]) -> bool:
    """Some comment may speak of torchlint, also as a ``noqa`` with one of its codes."""
    if b"torchlint:" in data:
        return True
    lowered = data.lower()
    if b"noqa" not in lowered:
        return False
    from torchlint.run.suppress import is_ours

    known = names(rules)
    codes = {code for noqa in compiled(_NOQA).finditer(lowered) for code in compiled(_CODE).findall(noqa[1])}
    return any(is_ours(code.decode(), known) for code in codes)

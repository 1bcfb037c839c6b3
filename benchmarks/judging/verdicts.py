"""Verdicts about findings: asked for one by one, or from a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from judging.readings import VERDICTS, Reading
from judging.wild import Found, shown

_KEYS = {word[0]: word for word in VERDICTS}
_FILE = ("repository", "rule", "place", "verdict", "why")
_PROMPT = "right, pointless, wrong, skip or quit (r/p/w/s/q)? "


class WrongFile(ValueError):
    """A file with verdicts that cannot be read, and why."""


def reading(found: Found, verdict: str, why: str, *, day: str, sight: str, run: str) -> Reading:
    """The reading of a finding."""
    repository, finding = found.repository, found.finding
    return Reading(
        rule=finding.rule,
        repository=repository.name,
        commit=repository.commit,
        place=found.place,
        day=day,
        severity=finding.severity.value,
        verdict=verdict,
        why=why,
        sight=sight,
        run=run,
    )


def asked(
    found: Sequence[Found], ask: Callable[[str], str], say: Callable[[str], object]
) -> Iterator[tuple[Found, str, str]]:
    """Each finding with the verdict and the reason that somebody gives at the keyboard, until they quit."""
    for number, each in enumerate(found, 1):
        say(f"\n[{number} of {len(found)}] {shown(each)}")
        key = ""
        while key not in (*_KEYS, "s", "q"):
            key = ask(_PROMPT).strip().lower()[:1]
        if key == "q":
            return
        if key != "s":
            yield each, _KEYS[key], ask("why? ").strip()


def from_file(found: Sequence[Found], path: Path) -> Iterator[tuple[Found, str, str]]:
    """Each finding with its verdict and reason in a file.

    A line is JSON with ``repository``, ``rule``, ``place``, ``verdict`` and ``why``.
    Raises :class:`WrongFile` for a verdict that does not exist, or about what was not found.
    """
    by_key = {(each.repository.name, each.finding.rule, each.place): each for each in found}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = _row(line, f"{path}:{number}")
        key = (row["repository"], row["rule"], row["place"])
        if key not in by_key:
            raise WrongFile(f"{path}:{number}: {key[1]} is not found at {key[0]} {key[2]}, or was read before")
        if row["verdict"] not in VERDICTS:
            raise WrongFile(f"{path}:{number}: the verdict {row['verdict']!r} is none of {', '.join(VERDICTS)}")
        yield by_key[key], row["verdict"], row["why"]


def _row(line: str, where: str) -> dict[str, str]:
    try:
        row: dict[str, str] = json.loads(line)
    except ValueError as error:
        raise WrongFile(f"{where}: {error}") from None
    lacking = [key for key in _FILE if key not in row]
    if lacking:
        raise WrongFile(f"{where}: lacks {', '.join(lacking)}")
    return row

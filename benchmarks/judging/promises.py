"""What the readings must show for a rule to be in its group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from judging.readings import Reading, Tally, tally
from torchlint.groups import ADVICE, DEAD, PREVIEW, WASTE
from torchlint.model import RuleInfo

SHARE = 0.9
# Enough readings in enough repositories; fewer will do for what is rarer.
ENOUGH = ((30, 10), (10, 5))
# So much of what a rule says that is not a preview is true, whether or not it is worth following.
TRUE = 0.75
FEW = 5  # readings; of fewer a share says nothing


def provisional(path: Path) -> dict[str, str]:
    """The rules that are in the group ``waste`` although their readings do not decide it yet, and why."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {row["rule"]: row["why"] for row in rows}


def first(readings: Sequence[Reading], rule: str) -> list[Reading]:
    """The readings of a rule's findings at first sight, where all that were read are known."""
    return [each for each in readings if each.rule == rule and each.sight != "seen" and not each.partial]


def keeps(counted: Tally) -> bool:
    """Whether readings of warnings at first sight keep what the group ``waste`` promises."""
    enough = any(counted.read >= read and counted.repositories >= places for read, places in ENOUGH)
    return enough and counted.share >= SHARE


def broken(info: RuleInfo, readings: Sequence[Reading], excused: bool) -> str | None:
    """Why the readings do not allow a rule to be in its group; None if they do.

    A rule of the group ``waste`` that is ``excused`` is there provisionally: of all its readings, enough must be true.
    """
    mine = [each for each in readings if each.rule == info.id]
    counted = tally(first(readings, info.id))
    if excused and info.group != WASTE:
        return f"is called provisional, and is not `{WASTE}`"
    if info.group == DEAD and any(each.verdict in (None, "wrong") for each in mine):
        return f"a false alarm is known, so it is not `{DEAD}`"
    if info.group == WASTE:
        return _wasteful(mine, excused)
    if info.group == ADVICE and not _true(counted):
        return f"{said(counted)}, so it is `{PREVIEW}`"
    return None


def _wasteful(mine: Sequence[Reading], excused: bool) -> str | None:
    loud = tally([each for each in mine if each.loud and each.sight != "seen" and not each.partial])
    if keeps(loud) == excused:
        return "keeps its promise and is called provisional" if excused else f"{said(loud)}, so it is not `{WASTE}`"
    if not _true(tally(mine)):
        return f"{said(tally(mine))}, so it is `{PREVIEW}`"
    return None


def _true(counted: Tally) -> bool:
    return counted.read < FEW or (counted.right + counted.pointless) / counted.read >= TRUE


def said(counted: Tally) -> str:
    """Counts in words."""
    if not counted.read:
        return "nothing read"
    untold = f", {counted.untold} pointless or wrong" if counted.untold else ""
    places = f"{counted.repositories} {'repository' if counted.repositories == 1 else 'repositories'}"
    return f"{counted.right} right, {counted.pointless} pointless, {counted.wrong} wrong{untold} in {places}"

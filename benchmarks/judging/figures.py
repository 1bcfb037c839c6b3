"""Tables of the readings, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from judging import promises
from judging.readings import Reading, Tally, tally
from torchlint.groups import WASTE
from torchlint.model import RuleInfo

_COLUMNS = "read | right | pointless | wrong |"


def headline(readings: Sequence[Reading]) -> str:
    """One sentence: the figures of the last run on fresh repositories, and of all."""
    loud = _unseen(readings)
    if not loud:
        return "Nothing has been read in fresh repositories.\n"
    every = tally(loud)
    last = loud[-1].day
    return (
        f"Of {every.read} warnings and errors that were read in repositories at their first run, up to {last}, "
        f"{_part(every.right, every)} are right, {_part(every.pointless, every)} pointless and "
        f"{_part(every.wrong, every)} wrong{_untold(every)}.\n"
    )


def unseen(readings: Sequence[Reading]) -> str:
    """The table of fresh repositories at their first run, by day and rule."""
    rows = [f"| day | repositories | rule | {_COLUMNS}", "| --- | --- | --- | --- | --- | --- | --- |"]
    loud = _unseen(readings)
    for run in dict.fromkeys(each.run for each in loud):
        here = [each for each in loud if each.run == run]
        rules = sorted({each.rule or "" for each in here}, key=lambda rule: (not rule, rule))
        for rule in rules:
            those = [each for each in here if (each.rule or "") == rule]
            name = f"{rule}, in part" if those[0].partial else rule or ("all" if rules == [""] else "others")
            rows.append(f"| {those[0].day} | {run} | {name} | {_cells(tally(those))} |")
    rows.append(f"| | | all | {_cells(tally(loud))} |")
    return "\n".join(rows) + "\n"


def by_rule(readings: Sequence[Reading], infos: Iterable[RuleInfo], provisional: Mapping[str, str]) -> str:
    """The table of what was read of each rule at first sight, with its group."""
    rows = [f"| rule | group | findings | {_COLUMNS}", "| --- | --- | --- | --- | --- | --- | --- |"]
    for info in infos:
        mine = promises.first(readings, info.id)
        for kind in (True, False):
            those = [each for each in mine if each.loud is kind]
            if those:
                what = "warnings" if kind else "infos"
                group = _group(info, provisional)
                rows.append(f"| {info.id} {info.name} | {group} | {what} | {_cells(tally(those))} |")
    return "\n".join(rows) + "\n"


def undecided(readings: Sequence[Reading], infos: Iterable[RuleInfo], provisional: Mapping[str, str]) -> str:
    """The rules whose group is provisional, why, and what was ever read of them, at whichever sight."""
    rows = ["| provisional | why | right | pointless | wrong |", "| --- | --- | --- | --- | --- |"]
    for info in infos:
        if info.id in provisional:
            counted = tally([each for each in readings if each.rule == info.id])
            counts = f"{counted.right} | {counted.pointless} | {counted.wrong}"
            rows.append(f"| {info.id} {info.name} | {provisional[info.id]} | {counts} |")
    return "\n".join(rows) + "\n"


def summary(readings: Sequence[Reading]) -> str:
    """For each rule that was read, one line."""
    rules = sorted({each.rule for each in readings if each.rule})
    return "".join(f"{rule}  {promises.said(tally([r for r in readings if r.rule == rule]))}\n" for rule in rules)


def _unseen(readings: Sequence[Reading]) -> list[Reading]:
    return sorted((each for each in readings if each.sight == "fresh" and each.loud), key=lambda each: each.day)


def _group(info: RuleInfo, provisional: Mapping[str, str]) -> str:
    return f"{info.group}, provisionally" if info.group == WASTE and info.id in provisional else info.group


def _cells(counted: Tally) -> str:
    untold = f" + {counted.untold} not told apart" if counted.untold else ""
    parts = (
        _part(counted.right, counted),
        f"{_part(counted.pointless, counted)}{untold}",
        _part(counted.wrong, counted),
    )
    return " | ".join((str(counted.read), *parts))


def _part(count: int, counted: Tally) -> str:
    return f"{count} ({100 * count / counted.read:.0f} %)" if count else "0"


def _untold(counted: Tally) -> str:
    return (
        f"; of {counted.untold} more that are not right, nobody wrote down which of the two they are"
        if counted.untold
        else ""
    )

"""The scripted programs, whose verdicts on the simulated device are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.gpu.common import ROOT, Row, Settings, difference, differs

_MARK = re.compile(r'# (TL\d{3}) (confirmed|refuted|not reached|unknown) "')
_CHEAP = ("below", "too little")  # words of a refutation because of what it costs


def scripted(_: Settings) -> list[str]:
    """The programs that run on a device."""
    every = sorted([*ROOT.glob("tests/programs/*.py"), *ROOT.glob("fixtures/*/programs/*.py")])
    return [str(path.relative_to(ROOT)) for path in every if "# on: cpu" not in path.read_text("utf-8")]


def programs(settings: Settings, items: Iterator[str]) -> Iterator[Row]:
    """Their verdicts here."""
    from tests import programs_runner

    for item in items:
        path = str(ROOT / item)
        try:
            given = programs_runner.verdicts(path, settings.mode)
        except Exception as error:  # a program may raise anything, and the others are to be run
            yield differs(item, "failed", f"{type(error).__name__}: {error}"[-500:])
            _usable(settings)
        else:
            yield judged_all(item, Path(path).read_text("utf-8"), given)


def _usable(settings: Settings) -> None:
    """Raise an error if the device is of no use any more, as after a failed assertion: the rest needs a new process."""
    if settings.mode == "gpu":
        import torch

        torch.cuda.synchronize()


def judged_all(name: str, text: str, given: Sequence[Mapping[str, Any]]) -> Row:
    """A row about a program, from the comments of its lines and the verdicts here."""
    same, different = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.search(line)
        if mark is None:
            continue
        found = next((v for v in given if (v["rule"], v["line"]) == (mark[1], number)), None)
        if found is not None and found["status"] == mark[2]:
            same += 1
        else:
            what = f"{Path(name).name}:{number} {mark[1]} {mark[2]}"
            different.append(difference(what, *judged(mark[2], found, line)))
    return {"same": same, "differences": different}


def judged(expected: str, given: Mapping[str, Any] | None, line: str) -> tuple[str, str]:
    """The verdict on a verdict that is not the one on the simulated device, which ``line`` gives with its reason."""
    if given is None:
        return "fault", "no verdict"
    said = f"{given['status']}: {given['reason']}"
    if given["status"] == "unknown":
        return "undecided", said
    if expected == "unknown":
        return "measured", f"decided here: {said}"
    cheap = expected == "refuted" and any(words in line for words in _CHEAP)
    if given["basis"] == "measured" and (cheap or (expected, given["status"]) == ("confirmed", "refuted")):
        return "measured", said
    return "fault", said

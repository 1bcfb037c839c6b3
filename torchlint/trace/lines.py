"""Adds up what a recording shows by lines of the linted files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchlint.model import Observed
from torchlint.trace.files import Files
from torchlint.trace.frames import Frame, Site, called_by, innermost
from torchlint.trace.moments import Moment
from torchlint.trace.steps import Steps


class Lines:
    """Sums for each kind and place; what no linted file has is counted by the function that it was in.

    ``idle_us`` is how long all of it left the GPU without work.
    """

    def __init__(self, files: Files, *, exact: bool) -> None:
        self._files, self._exact = files, exact
        self._sums: dict[tuple[str, Site], tuple[int, float, float]] = {}
        self._details: dict[tuple[str, Site], str] = {}
        self._kinds: dict[str, tuple[int, float]] = {}
        self._unmatched: dict[str, None] = {}
        self.idle_us = 0.0

    def add(self, moment: Moment, stack: Sequence[Frame], detail: str = "", lines: tuple[int, ...] = ()) -> None:
        """Something that happened while these functions were running, the outermost first.

        ``lines`` are those of the innermost that is linted at which it can have happened, if that is known.
        """
        self.idle_us += moment.idle_us
        known, spent = self._kinds.get(moment.kind, (0, 0.0))
        self._kinds[moment.kind] = known + 1, spent + moment.microseconds
        if not stack:
            return
        found = innermost(stack, self._files.find)
        if found is None:
            outer = [frame for frame in stack if not frame.is_installed]
            if outer:
                self._unmatched[f"{outer[-1].path}:{outer[-1].line}"] = None
            return
        place = Site(found.path, stack[found.at], called_by(stack, found.at), lines)
        self._details.setdefault((moment.kind, place), detail)
        count, time, idle = self._sums.get((moment.kind, place), (0, 0.0, 0.0))
        self._sums[moment.kind, place] = count + 1, time + moment.microseconds, idle + moment.idle_us

    @property
    def totals(self) -> tuple[tuple[str, int, float], ...]:
        """The count and the microseconds of each kind, the longest first."""
        rows = ((kind, count, time) for kind, (count, time) in self._kinds.items())
        return tuple(sorted(rows, key=lambda row: -row[2]))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The lines without a linted file, as the recording names them."""
        return tuple(self._unmatched)

    def observed(self, source: str, steps: Steps) -> Iterable[Observed]:
        """What happened at each line, the longest first; what may be one of the same lines is one."""
        found: dict[tuple[str, str, tuple[int, ...]], Observed] = {}
        for (kind, place), (count, time, idle) in self._sums.items():
            lines, function = self._lines(place)
            several = lines if len(lines) > 1 else ()
            detail = self._details[kind, place]
            new = Observed(kind, place.path, lines[0], 0, len(steps), 0.0, source, several, function, detail=detail)
            known = found.get((kind, place.path, lines), new)
            found[kind, place.path, lines] = known._replace(
                times=known.times + count,
                microseconds=known.microseconds + time,
                idle_us=known.idle_us + idle,
            )
        for one in sorted(found.values(), key=lambda one: (-one.microseconds, -one.times)):
            yield one._replace(share=one.microseconds / steps.time if steps.time and one.microseconds else None)

    def _lines(self, place: Site) -> tuple[tuple[int, ...], str]:
        """The lines that a place may be, and the function unless that is one line; else the function's first line."""
        frame = place.frame
        function = self._files.function(place.path, frame)
        if self._exact or function is None:
            return (frame.line,), ""
        lines = place.lines or function.lines(place.called)
        return lines or (function.first,), "" if len(lines) == 1 else frame.function

"""Reads reports of Nsight Systems that were exported to SQLite.

Stacks are those of ``CUDA_CALLCHAINS``; of their frames, those count that name a Python file.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from torchlint.trace.frames import Frame
from torchlint.trace.moments import DOWNLOAD, IDLE, UPLOAD, WAIT, WAITS, Moment, gaps
from torchlint.trace.problem import Unreadable
from torchlint.trace.steps import OPTIMIZER, STEP, Steps, steps_of

_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_WORK = ("CUPTI_ACTIVITY_KIND_KERNEL", _COPIES, "CUPTI_ACTIVITY_KIND_MEMSET")
_CHAINS = "CUDA_CALLCHAINS"
_DIRECTIONS = {1: (UPLOAD, "srcKind"), 2: (DOWNLOAD, "dstKind")}  # CUPTI's numbers of copies to and from the device
_THREADS = 1 << 24  # numbers of threads and more, which global ids have below that of the process
_STACKS = 4096  # that are kept in memory
_ODD = (sqlite3.Error, TypeError, ValueError, OverflowError)  # also values of another type than the column's
# `train.py:12`, `train.py(12): main`, or a function with its file as the module.
_PLACE = re.compile(r"(?P<end>\.pyw?)[:(](?P<line>\d+)\)?(?:[:\s]+(?P<function>[\w<>]+))?")


class Report:
    """An open export; times are in microseconds. Raises :class:`Unreadable` if it has no calls of CUDA's runtime."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        self._database.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            rows = self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            self._tables = {name for (name,) in rows}
            if not {_RUNTIME, "StringIds"} <= self._tables:
                raise Unreadable("has no calls of CUDA: record with nsys profile --trace=cuda, and export to sqlite")
            self.steps = self._steps()
        except _ODD as error:
            self._database.close()
            raise _damaged(error) from None
        except Unreadable:
            self._database.close()
            raise
        self.stack = lru_cache(maxsize=_STACKS)(self._stack)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @property
    def has_stacks(self) -> bool:
        """Whether any call has a stack with a Python file in it."""
        if _CHAINS not in self._tables:
            return False
        named = (
            f"SELECT 1 FROM {_CHAINS} AS frame JOIN StringIds AS name ON name.id IN (frame.symbol, frame.module) "
            "WHERE name.value LIKE '%.py%' LIMIT 1"
        )
        return self._database.execute(named).fetchone() is not None

    def moments(self) -> Iterator[tuple[Moment, tuple[Frame, ...]]]:
        """What took time in the steps, with the functions that were running, the outermost first."""
        try:
            for moment, chain in (*self._waits(), *self._copies(), *self._gaps()):
                if self.steps.has(moment.time):
                    yield moment, self.stack(chain)
        except _ODD as error:
            raise _damaged(error) from None

    def _steps(self) -> Steps:
        """The steps that the profiler's annotations name, which are ranges of NVTX."""
        if "NVTX_EVENTS" not in self._tables:
            return Steps(())
        ranges = self._database.execute(
            "SELECT range.start, range.end, COALESCE(range.text, name.value) AS said FROM NVTX_EVENTS AS range "
            "LEFT JOIN StringIds AS name ON name.id = range.textId "
            "WHERE range.end IS NOT NULL AND (said LIKE ? OR said LIKE ?)",
            (f"{STEP}%", f"{OPTIMIZER}%"),
        )
        found = [(begin / 1e3, end / 1e3, said) for begin, end, said in ranges]
        return steps_of(
            [(begin, end) for begin, end, said in found if said.startswith(STEP)],
            [end for _, end, said in found if said.startswith(OPTIMIZER)],
        )

    def _waits(self) -> Iterator[tuple[Moment, int | None]]:
        calls = self._database.execute(
            f"SELECT call.start, call.end, call.callchainId, name.value FROM {_RUNTIME} AS call "
            "JOIN StringIds AS name ON name.id = call.nameId WHERE name.value LIKE '%Synchronize%'"
        )
        for begin, end, chain, name in calls:
            if WAITS.match(name):
                yield Moment(WAIT, begin / 1e3, (end - begin) / 1e3), chain

    def _copies(self) -> Iterator[tuple[Moment, int | None]]:
        if not {_COPIES, "ENUM_CUDA_MEM_KIND"} <= self._tables:
            return
        for number, (kind, side) in _DIRECTIONS.items():
            copies = self._database.execute(
                f"SELECT call.start, call.end, call.callchainId FROM {_COPIES} AS copy "
                f"JOIN ENUM_CUDA_MEM_KIND AS memory ON memory.id = copy.{side} AND memory.label = 'Pageable' "
                f"JOIN {_RUNTIME} AS call ON call.correlationId = copy.correlationId "
                f"AND call.globalTid / {_THREADS} = copy.globalPid / {_THREADS} WHERE copy.copyKind = ?",
                (number,),
            )
            for begin, end, chain in copies:
                yield Moment(kind, begin / 1e3, (end - begin) / 1e3), chain

    def _gaps(self) -> Iterator[tuple[Moment, int | None]]:
        tables = [table for table in _WORK if table in self._tables]
        if not tables:
            return
        union = " UNION ALL ".join(
            f"SELECT start / 1e3 AS begin, end / 1e3, {_key('globalPid')}, deviceId FROM {table}" for table in tables
        )
        idle: dict[int, tuple[float, float]] = {}
        for device in self._database.execute(f"SELECT DISTINCT deviceId FROM ({union})").fetchall():
            work = self._database.execute(f"SELECT * FROM ({union}) WHERE deviceId IS ? ORDER BY begin", device)
            idle |= {gap.after: (gap.end, gap.microseconds) for gap in gaps(row[:3] for row in work) if gap.is_long}
        calls = self._database.execute(f"SELECT {_key('globalTid')}, start / 1e3, callchainId FROM {_RUNTIME}")
        called = {which: (begin, chain) for which, begin, chain in calls if which in idle}
        for which, (begin, length) in idle.items():
            time, chain = called.get(which, (begin, None))
            yield Moment(IDLE, time, length), chain

    def _stack(self, chain: int | None) -> tuple[Frame, ...]:
        if chain is None or _CHAINS not in self._tables:
            return ()
        rows = self._database.execute(
            f"SELECT symbol.value, module.value FROM {_CHAINS} AS frame "
            "LEFT JOIN StringIds AS symbol ON symbol.id = frame.symbol "
            "LEFT JOIN StringIds AS module ON module.id = frame.module "
            "WHERE frame.id = ? ORDER BY frame.stackDepth DESC",
            (chain,),
        )
        frames = (_frame(symbol or "", module or "") for symbol, module in rows)
        return tuple(frame for frame in frames if frame is not None)


def _damaged(error: Exception) -> Unreadable:
    return Unreadable(f"is a damaged SQLite file ({error}); export it again")


def _key(process: str) -> str:
    """The number that a call and the work it gave to the device share, in all processes."""
    return f"({process} / {_THREADS} % {1 << 24}) * {1 << 32} + correlationId"


def _frame(symbol: str, module: str) -> Frame | None:
    """The Python function with this symbol and module; None for any other."""
    for text in (symbol, module):
        if (found := _PLACE.search(text)) is not None:
            function = found["function"] or (symbol if text is module else "")
            return Frame(_path(text[: found.end("end")]), int(found["line"]), function)
    return None


def _path(text: str) -> str:
    """The path at the end of a text, perhaps with a drive."""
    text = text.rpartition("(")[2]
    before, colon, after = text.rpartition(":")
    drive = before[-1:] if after.startswith(("/", "\\")) and before[-1:].isalpha() else ""
    return f"{drive}{colon}{after}".strip() if drive else after.strip()

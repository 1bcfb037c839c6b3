"""Reads traces of torch.profiler: Kineto's JSON, in Chrome's trace event format."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeGuard

from torchlint.trace.frames import Frame, frame_of
from torchlint.trace.functions import CONVERSIONS
from torchlint.trace.moments import DATA, DOWNLOAD, IDLE, READ, UPLOAD, WAIT, WAITS, Moment, gaps
from torchlint.trace.stacks import Names, Stacks
from torchlint.trace.steps import OPTIMIZER, STEP, Steps, steps_of

# Categories of events; the profiler of PyTorch 1 used the shorter names.
_PYTHON = "python_function"
_CALLS = ("runtime", "driver")  # `cuda_runtime`, and the same of other devices
_WORK = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_COPIES = {"HtoD (Pageable": UPLOAD, "DtoH (Device -> Pageable": DOWNLOAD}
_LOADING = "enumerate(DataLoader)#"
_READ = "aten::_local_scalar_dense"
_LONGEST = 1e17
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BACKWARD = "run_backward"
_Thread = tuple[Any, Any]


class Timeline:
    """What was collected from the events of one trace, as numbers in arrays. Times are in microseconds."""

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self._names, self._frames = Names(), dict[int, Frame]()
        self._stacks: defaultdict[_Thread, Stacks] = defaultdict(Stacks)
        self._conversions: defaultdict[_Thread, Stacks] = defaultdict(Stacks)
        self._threads = dict[_Thread, int]()
        self._moments: list[tuple[_Thread, Moment]] = []
        self._reads: list[tuple[_Thread, Moment]] = []
        # Calls that gave work to the device: correlation, beginning, length, thread.
        self._calls = array("q"), array("d"), array("d"), array("I")
        self._work: defaultdict[object, tuple[array[float], array[float], array[int]]] = defaultdict(
            lambda: (array("d"), array("d"), array("q"))
        )
        self._pageable: list[tuple[int, str, float, float]] = []
        self._annotated: list[tuple[float, float]] = []
        self._optimized: list[float] = []
        for event in events:
            self._add(event)
        self.steps: Steps = steps_of(self._annotated, self._optimized)

    @property
    def has_stacks(self) -> bool:
        """Whether Python functions were recorded."""
        return bool(self._stacks)

    @property
    def has_device(self) -> bool:
        """Whether anything of a device was recorded."""
        return bool(self._work) or bool(self._calls[0])

    def moments(self) -> Iterator[tuple[Moment, tuple[Frame, ...]]]:
        """What took time in the steps, with the functions that were running, the outermost first."""
        found: defaultdict[_Thread, list[Moment]] = defaultdict(list)
        for thread, moment in self._all():
            if self.steps.has(moment.time):
                found[thread].append(moment)
        for thread, moments in found.items():
            moments.sort(key=lambda moment: moment.time)
            yield from self._with_stacks(thread, moments)

    # -- collecting ------------------------------------------------------------------------------

    def _add(self, event: dict[str, Any]) -> None:
        begin, length, name = event.get("ts"), event.get("dur"), event.get("name")
        if event.get("ph") != "X" or not isinstance(name, str):
            return
        if not _is_time(begin) or not _is_time(length):
            return
        category, thread = str(event.get("cat", "")).lower(), _thread(event)
        if category == _PYTHON:
            number = self._names.number(_ADDRESS.sub("", name))
            self._stacks[thread].add(begin, begin + length, number)
        elif category.endswith(_CALLS):
            self._call(thread, name, Moment(WAIT, begin, length), _correlation(event))
        elif category in _WORK:
            self._device(event, name, begin, length)
        elif name.startswith(STEP):
            self._annotated.append((begin, begin + length))
        elif name.startswith(OPTIMIZER):
            self._optimized.append(begin + length)
        elif name.startswith(_LOADING):
            self._moments.append((thread, Moment(DATA, begin, length)))
        elif name in CONVERSIONS:
            self._conversions[thread].add(begin, begin + length, self._names.number(name))
        elif name == _READ:
            self._reads.append((thread, Moment(READ, begin, 0.0)))  # what it takes on the CPU says nothing

    def _call(self, thread: _Thread, name: str, moment: Moment, correlation: int) -> None:
        if WAITS.match(name):
            self._moments.append((thread, moment))
        if correlation >= 0:
            correlations, begins, lengths, threads = self._calls
            correlations.append(correlation)
            begins.append(moment.time)
            lengths.append(moment.microseconds)
            threads.append(self._threads.setdefault(thread, len(self._threads)))

    def _device(self, event: dict[str, Any], name: str, begin: float, length: float) -> None:
        correlation = _correlation(event)
        begins, ends, which = self._work[event.get("pid")]
        begins.append(begin)
        ends.append(begin + length)
        which.append(correlation)
        for sign, kind in _COPIES.items():
            if sign in name:
                self._pageable.append((correlation, kind, begin, length))

    # -- what they show --------------------------------------------------------------------------

    def _all(self) -> Iterator[tuple[_Thread, Moment]]:
        yield from self._moments
        if not self.has_device:
            yield from self._reads
        idle = [gap for columns in self._work.values() for gap in gaps(_by_beginning(*columns))]
        calls = self._calls_of({which for _, _, which in idle} | {which for which, *_ in self._pageable})
        for which, kind, begin, length in self._pageable:
            thread, called, took = calls.get(which, (("", ""), begin, length))
            yield thread, Moment(kind, called, took)
        for begin, length, which in idle:
            thread, called, _ = calls.get(which, (("", ""), begin, 0.0))
            yield thread, Moment(IDLE, called, length)

    def _calls_of(self, wanted: set[int]) -> dict[int, tuple[_Thread, float, float]]:
        """The calls with these correlations: thread, beginning, length."""
        threads = list(self._threads)
        return {
            which: (threads[thread], begin, length)
            for which, begin, length, thread in zip(*self._calls, strict=True)
            if which in wanted
        }

    def _with_stacks(self, thread: _Thread, moments: list[Moment]) -> Iterator[tuple[Moment, tuple[Frame, ...]]]:
        times = [moment.time for moment in moments]
        behind = thread not in self._stacks
        stacks = self._stacks.get(self._main(thread[0]) if behind else thread, Stacks())
        conversions = self._conversions.get(thread, Stacks())
        for moment, *running in zip(moments, stacks.at(times), conversions.at(times), strict=True):
            frames = tuple(map(self._frame, chain.from_iterable(running)))
            if any(frame.is_profiler for frame in frames):
                continue
            # A backward pass runs on threads of its own, while the one that has called it waits.
            yield moment, frames if not behind or (frames and frames[-1].function == _BACKWARD) else ()

    def _main(self, process: object) -> _Thread:
        """The thread of a process with the most calls of Python functions."""
        threads = [thread for thread in self._stacks if thread[0] == process]
        return max(threads, key=lambda thread: len(self._stacks[thread]), default=("", ""))

    def _frame(self, number: int) -> Frame:
        if number not in self._frames:
            self._frames[number] = frame_of(self._names.texts[number])
        return self._frames[number]


def _is_time(value: object) -> TypeGuard[float]:
    """Whether this is a number of microseconds; NaN is none, and nothing takes a thousand years."""
    return isinstance(value, int | float) and abs(value) < _LONGEST


def _thread(event: dict[str, Any]) -> _Thread:
    process, thread = event.get("pid"), event.get("tid")
    return str(process), str(thread)


def _correlation(event: dict[str, Any]) -> int:
    arguments = event.get("args")
    found = arguments.get("correlation") if isinstance(arguments, dict) else None
    return found if isinstance(found, int) and 0 <= found < 2**63 else -1


def _by_beginning(begins: array[float], ends: array[float], which: array[int]) -> Iterator[tuple[float, float, int]]:
    order = sorted(range(len(begins)), key=begins.__getitem__)
    return ((begins[at], ends[at], which[at]) for at in order)

"""Reads traces of torch.profiler: Kineto's JSON, in Chrome's trace event format."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Any, NamedTuple, TypeGuard

from torchlint.trace.device import Device, Thread
from torchlint.trace.frames import Frame, frame_of, is_wrapper
from torchlint.trace.functions import OPERATORS
from torchlint.trace.host import is_on_host
from torchlint.trace.moments import DATA, READ, WAIT, WAITS, Moment
from torchlint.trace.stacks import Names, Stacks
from torchlint.trace.steps import OPTIMIZER, STEP, Steps, steps_of

# Categories of events; the profiler of PyTorch 1 used the shorter names.
_PYTHON = "python_function"
_CALLS = ("runtime", "driver")  # `cuda_runtime`, and the same of other devices
_WORK = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_LOADING = "enumerate(DataLoader)#"
_READ = "aten::_local_scalar_dense"
_LONGEST = 1e17
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BACKWARD = "run_backward"
_ON_DEVICE = "gpu_"  # categories of copies of annotations, beside work: when the device did what the host has annotated


class Seen(NamedTuple):
    """Something that took time, with what was running on which thread, the outermost first.

    ``calls`` are numbers of calls of Python functions there, and ``operators`` of operators below the last of them.
    """

    moment: Moment
    thread: Thread
    calls: tuple[int, ...]
    operators: tuple[int, ...]
    stack: tuple[Frame, ...]


class Called(NamedTuple):
    """A call of a Python function, or of an operator of :data:`torchlint.trace.functions.OPERATORS`, by its number.

    The number is negative for what happened while nothing was called.
    """

    time: float
    is_operator: bool
    number: int


class Timeline:
    """What was collected from the events of one trace, as numbers in arrays. Times are in microseconds."""

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self._names, self._frames = Names(), dict[int, Frame]()
        self._stacks: defaultdict[Thread, Stacks] = defaultdict(Stacks)
        self._operators: defaultdict[Thread, Stacks] = defaultdict(Stacks)
        self._known: dict[tuple[int, ...], tuple[Frame, ...]] = {}
        self._moments: list[tuple[Thread, Moment]] = []
        self._reads: list[tuple[Thread, Moment]] = []
        self._device = Device()
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
        return bool(self._device)

    def seen(self) -> Iterator[Seen]:
        """What took time in the steps, with the functions that were running."""
        found: defaultdict[Thread, list[Moment]] = defaultdict(list)
        for thread, moment in self._all():
            if self.steps.has(moment.time):
                found[thread].append(moment)
        for thread, moments in found.items():
            moments.sort(key=lambda moment: moment.time)
            yield from self._with_stacks(thread, moments)

    def called(self, thread: Thread, call: int) -> Iterator[Called]:
        """What a call of a Python function has called itself, in order."""
        functions, operators = self._stacks[thread], self._operators[thread]
        begin, until = functions.span(call)
        direct = (self.call(thread, number) for number in functions.within(begin, until, call + 1))
        among = (self.call(thread, number, is_operator=True) for number in operators.within(begin, until))
        until = begin
        for one in merge(direct, among):
            if not one.is_operator:
                until = functions.span(one.number)[1]
            if not one.is_operator or one.time >= until:
                yield one

    def call(self, thread: Thread, number: int, *, is_operator: bool = False) -> Called:
        """The call with this number."""
        stacks = self._operators if is_operator else self._stacks
        return Called(stacks[thread].span(number)[0], is_operator, number)

    def name(self, thread: Thread, called: Called) -> str:
        """The name of what was called; that of a function around which a decorator has put another."""
        if called.is_operator:
            return self._frames_of(self._operators[thread].names([called.number]))[0].function
        functions, call = self._stacks[thread], called.number
        while is_wrapper(name := self._frames_of(functions.names([call]))[0].function):
            begin, end = functions.span(call)
            longest = max(functions.within(begin, end, call + 1), key=functions.length, default=None)
            if longest is None:
                break
            call = longest
        return name

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
            self._device.work(event.get("pid"), name, begin, length, _correlation(event))
        elif category.startswith(_ON_DEVICE):
            return
        elif name.startswith(STEP):
            self._annotated.append((begin, begin + length))
        elif name.startswith(OPTIMIZER):
            self._optimized.append(begin + length)
        elif name.startswith(_LOADING):
            self._moments.append((thread, Moment(DATA, begin, length)))
        elif name in OPERATORS:
            self._operators[thread].add(begin, begin + length, self._names.number(name))
        elif name == _READ:
            self._reads.append((thread, Moment(READ, begin, 0.0)))  # what it takes on the CPU says nothing

    def _call(self, thread: Thread, name: str, moment: Moment, correlation: int) -> None:
        if WAITS.match(name):
            self._moments.append((thread, moment))
        if correlation >= 0:
            self._device.call(thread, moment, correlation)

    # -- what they show --------------------------------------------------------------------------

    def _all(self) -> Iterable[tuple[Thread, Moment]]:
        return self._device.moments(self._moments) if self._device else [*self._moments, *self._reads]

    def _with_stacks(self, thread: Thread, moments: list[Moment]) -> Iterator[Seen]:
        times = [moment.time for moment in moments]
        # A backward pass runs on threads of its own, while the one that has called it waits.
        behind = thread not in self._stacks
        where = self._main(thread[0]) if behind else thread
        stacks, operators = self._stacks.get(where, Stacks()), self._operators.get(thread, Stacks())
        for moment, calls, below in zip(moments, stacks.at(times), operators.at(times), strict=True):
            frames = self._frames_of(stacks.names(calls))
            # The beginning of an annotation is the profiler's own.
            if moment.kind != DATA and any(frame.is_profiler for frame in frames):
                continue
            if moment.kind == READ and is_on_host(frames):
                continue
            if not behind:
                stack = self._frames_of(stacks.names(calls) + operators.names(below))
                yield Seen(moment, where, calls, below, stack)
            elif frames and frames[-1].function == _BACKWARD:
                yield Seen(moment, where, calls, (), frames)
            else:
                yield Seen(moment, where, (), (), ())

    def _main(self, process: object) -> Thread:
        """The thread of a process with the most calls of Python functions."""
        threads = [thread for thread in self._stacks if thread[0] == process]
        return max(threads, key=lambda thread: len(self._stacks[thread]), default=("", ""))

    def _frames_of(self, names: tuple[int, ...]) -> tuple[Frame, ...]:
        """The functions with these names, of which a trace has the same again and again."""
        if names not in self._known:
            self._known[names] = tuple(map(self._frame, names))
        return self._known[names]

    def _frame(self, number: int) -> Frame:
        if number not in self._frames:
            self._frames[number] = frame_of(self._names.texts[number])
        return self._frames[number]


def _is_time(value: object) -> TypeGuard[float]:
    """Whether this is a number of microseconds; NaN is none, and nothing takes a thousand years."""
    return isinstance(value, int | float) and abs(value) < _LONGEST


def _thread(event: dict[str, Any]) -> Thread:
    process, thread = event.get("pid"), event.get("tid")
    return str(process), str(thread)


def _correlation(event: dict[str, Any]) -> int:
    arguments = event.get("args")
    found = arguments.get("correlation") if isinstance(arguments, dict) else None
    return found if isinstance(found, int) and 0 <= found < 2**63 else -1

"""Sites: the expression of user code that is running, from the frames of the interpreter."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple


class Site(NamedTuple):
    """An expression in user code. Columns count UTF-8 bytes from 0, like Python's own; -1 is unknown."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Site("", 0, -1, 0, -1)
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CALLERS = 4
# What Python does for the header of such a statement is at all of its lines.
_COMPOUND = ("for ", "async for ", "with ", "async with ")
_STARTED: CodeType = threading.Thread._bootstrap.__code__  # type: ignore[attr-defined]
_BACKWARD = "_engine_run_backward"  # the function of torch.autograd that calls C++
_LIBRARY = os.path.join(os.path.realpath(sysconfig.get_paths()["stdlib"]), "")


def is_own(name: str) -> bool:
    """Whether this is a file of the runtime itself."""
    return name.startswith(OWN)


class Sites:
    """Finds the innermost frame in files below ``roots``, and its current expression.

    Installed packages below a root do not count, unless the root is inside them. Notebook cells count.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = tuple(os.path.join(os.path.realpath(root), "") for root in roots)
        # By identity, since hashing code objects takes microseconds; they are kept alive, so that no id is reused.
        self._mine: dict[int, tuple[bool, CodeType]] = {}
        self._known: dict[tuple[int, int], Site] = {}

    def here(self, depth: int = 1) -> Site:
        """The site of the caller, ``depth`` frames above this one.

        In a thread that C++ has started, the call of ``backward`` for which it works.
        """
        first = sys._getframe(depth)
        found = self._around(first)
        return found if found is not NOWHERE else self._of_backward(first)

    def callers(self, depth: int = 1) -> list[tuple[str, int, str]]:
        """The innermost frames of user code, up to four: path, line, and qualified name of the function."""
        mine = (frame for frame in _outward(sys._getframe(depth)) if self._is_user_code(frame.f_code))
        return [
            (os.path.realpath(frame.f_code.co_filename), frame.f_lineno, _name(frame.f_code))
            for frame in islice(mine, _CALLERS)
        ]

    def directly(self, depth: int = 1) -> bool:
        """Whether the caller, ``depth`` frames above this one, is user code itself, not a library."""
        return self._is_user_code(sys._getframe(depth).f_code)

    def _is_user_code(self, code: CodeType) -> bool:
        mine = self._mine.get(id(code))
        if mine is None:
            mine = self._mine[id(code)] = (self._is_mine(code.co_filename), code)
        return mine[0]

    def _around(self, frame: FrameType | None) -> Site:
        while frame is not None:
            code = frame.f_code
            if self._is_user_code(code):
                key = (id(code), frame.f_lasti)
                found = self._known.get(key)
                if found is None:
                    found = self._known[key] = _position(frame)
                return found
            frame = frame.f_back
        return NOWHERE

    def _of_backward(self, frame: FrameType) -> Site:
        """Autograd runs the operations of a GPU in a thread of its own: the site of the thread that waits for it."""
        main = threading.get_ident() == threading.main_thread().ident
        if main or list(_outward(frame))[-1].f_code is _STARTED:
            return NOWHERE
        waiting = [_of_engine(top) for top in sys._current_frames().values()]
        found = {self._around(frame) for frame in waiting} - {NOWHERE}
        return found.pop() if len(found) == 1 else NOWHERE

    def raised(self, error: BaseException) -> Site:
        """The innermost line of user code in a traceback."""
        found = NOWHERE
        trace = error.__traceback__
        while trace is not None:
            if self._is_mine(trace.tb_frame.f_code.co_filename):
                path = os.path.realpath(trace.tb_frame.f_code.co_filename)
                found = Site(path, trace.tb_lineno, -1, trace.tb_lineno, -1)
            trace = trace.tb_next
        return found

    def _is_mine(self, name: str) -> bool:
        if name.startswith("<"):
            return name.startswith("<ipython-input-")
        if f"{os.sep}ipykernel_" in name:
            return True
        path = os.path.realpath(name)
        root = next((root for root in self._roots if path.startswith(root)), None)
        if root is None or (path.startswith((OWN, _LIBRARY)) and not root.startswith(_LIBRARY)):
            return False
        rest = path[len(root) :]
        return "site-packages" + os.sep not in rest and "dist-packages" + os.sep not in rest


def _name(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)  # qualified since Python 3.11


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _of_engine(top: FrameType) -> FrameType | None:
    """The frame in which a thread calls autograd's engine; the outermost if there are several."""
    return next((frame for frame in reversed(list(_outward(top))) if frame.f_code.co_name == _BACKWARD), None)


def _position(frame: FrameType) -> Site:
    name = frame.f_code.co_filename
    path = name if name.startswith("<") else os.path.realpath(name)
    if sys.version_info >= (3, 11):
        line, end_line, column, end_column = next(
            islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None)
        )
        if line is not None:
            last = end_line if end_line is not None else line
            if last > line and (header := linecache.getline(name, line)).lstrip().startswith(_COMPOUND):
                last, end_column = line, len(header.rstrip().encode())
            return Site(path, line, -1 if column is None else column, last, -1 if end_column is None else end_column)
    return Site(path, frame.f_lineno, -1, frame.f_lineno, -1)

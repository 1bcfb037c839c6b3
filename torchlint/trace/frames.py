"""Functions in stacks, and which of them belong to the linted files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

# `train.py(12): main`, as the profiler writes it.
_PYTHON = re.compile(r"(?P<path>.+)\((?P<line>\d+)\): (?P<function>.+)", re.DOTALL)
_BUILTIN = re.compile(r"<(?:built-in )?(?:method|function) '?(\w+)")
_PROFILER = ("torch/profiler/", "torch/autograd/profiler.py")
_WRAPPER = re.compile(r"wrap|decorate|^(?:inner|_fn|_use_grad)$")
# What builds a file's own paths on the machine that recorded it.
_INSTALLED = ("site-packages", "dist-packages")


class Frame(NamedTuple):
    """A function that was running: ``line`` is its first line, or the line that it had got to.

    ``path`` is empty for functions that are not written in Python.
    """

    path: str
    line: int
    function: str

    @property
    def is_profiler(self) -> bool:
        """Whether it belongs to the profiler, whose own waits are not those of the program."""
        return self.path.replace("\\", "/").startswith(_PROFILER)

    @property
    def is_installed(self) -> bool:
        """Whether it belongs to an installed package."""
        return not self.path or self.path.startswith("<") or any(part in self.path for part in _INSTALLED)


def frame_of(text: str) -> Frame:
    """The function that the profiler has written like this."""
    if (found := _PYTHON.fullmatch(text)) is not None:
        return Frame(found["path"], int(found["line"]), found["function"])
    built_in = _BUILTIN.match(text)
    return Frame("", 0, built_in[1] if built_in else text)


def is_wrapper(function: str) -> bool:
    """Whether a function has the name of one that decorators put around others, such as that of `torch.no_grad`."""
    return _WRAPPER.search(function) is not None


class Site(NamedTuple):
    """A place in the linted files: a function, and the name of what it called there, if that is known.

    ``lines`` are all that it can be, if more than this name says it.
    """

    path: str
    frame: Frame
    called: str
    lines: tuple[int, ...] = ()


class Innermost(NamedTuple):
    """A function in the linted files: which one of a stack, and the file."""

    at: int
    path: str


Find = Callable[[Frame], "str | None"]


def innermost(stack: Sequence[Frame], find: Find) -> Innermost | None:
    """The innermost function of a stack, which begins outside, that is in the linted files; ``find`` names its file."""
    for at in range(len(stack) - 1, -1, -1):
        path = find(stack[at])
        if path is not None:
            return Innermost(at, path)
    return None


def called_by(stack: Sequence[Frame], at: int) -> str:
    """The name of what a function of a stack has called; empty if it runs itself."""
    return stack[at + 1].function if at + 1 < len(stack) else ""

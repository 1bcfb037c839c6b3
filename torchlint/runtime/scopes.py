"""Calls of operators, ``torch.ops``, in a scope in which C++ gives warnings to Python.

Functions and methods of torch are such scopes. Operators are not: C++ writes their warnings to the standard error
output, also those about synchronizations, which the program would see. So they are called in ``torch.Size``, which is
such a scope and calls ``__index__`` of what it gets.
"""

from __future__ import annotations

import functools
import sys
import time
from types import CodeType, FrameType
from typing import Any

import torch

from torchlint.runtime.patches import Patches

_SIZE = torch.Size
_INSIDE = " (Triggered internally at "
_is_compiling = torch.compiler.is_compiling


class _Call:
    """A call that is made when its index is asked for."""

    __slots__ = ("args", "error", "kwargs", "made", "real")

    def __init__(self, real: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.real, self.args, self.kwargs = real, args, kwargs
        self.error: BaseException | None = None
        self.made: Any = None

    def __index__(self) -> int:
        try:
            self.made = self.real(*self.args, **self.kwargs)
        except BaseException as error:  # raised again outside of the scope, which would replace it
            self.error = error
        return 0


def install(patches: Patches) -> None:
    """Call operators in scopes."""
    for kind in (torch._ops.OpOverload, torch._ops.OpOverloadPacket):
        patches.set(kind, "__call__", _scoped(kind.__call__))


def _scoped(real: Any) -> Any:
    @functools.wraps(real)
    def __call__(*args: Any, **kwargs: Any) -> Any:  # noqa: N807 - the method's name
        return real(*args, **kwargs) if _is_compiling() else in_scope(real, args, kwargs)

    return __call__


def in_scope(real: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call. Warnings of C++ in it, and only these, are given while this function is running."""
    call = _Call(real, args, kwargs)
    _SIZE((call,))
    if call.error is not None:
        raise call.error
    return call.made


_CODE: CodeType = in_scope.__code__


def is_scope(frame: FrameType | None) -> bool:
    """Whether C++ has given a warning to this frame only because of the scope."""
    return frame is not None and frame.f_code is _CODE


def printed(text: str) -> bool:
    """Write a warning to the standard error output, like C++ without a scope. True, as an answer to who has it."""
    said, _, place = text.rpartition(_INSIDE)
    path, _, line = place.removesuffix(".)").rpartition(":")
    now = time.localtime()
    moment = time.strftime("%m%d %H:%M:%S", now)
    sys.stderr.write(f"[W{moment} {path.rpartition('/')[2]}:{line}] Warning: {said}\n")
    return True

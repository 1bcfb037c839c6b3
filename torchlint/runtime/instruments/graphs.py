"""Reads where the graphs of ``torch.compile`` ended, and what compiled functions were compiled again for."""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument
from torchlint.runtime.patches import Patches
from torchlint.runtime.sites import NOWHERE, Site, is_own

_LIMIT = 160
_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')


class Graphs(Instrument):
    """Records compilations, recompilations and the breaks of graphs that Dynamo has noted, at the end of the program.

    The simulated GPU runs compiled regions eagerly, so there are none.
    """

    modes = frozenset(("gpu", "cpu"))

    def install(self, patches: Patches) -> None:
        """Before anything is compiled, let Dynamo compile what the observed ``Module.__call__`` calls instead of it.

        Dynamo does so with the method of torch itself. Otherwise all compiled modules would be one function to it, and
        share its limit of recompilations.
        """
        real = torch.compile

        @functools.wraps(real)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            made = real(*args, **kwargs)
            called = torch.nn.Module.__call__.__code__
            skip = getattr(sys.modules.get("torch._dynamo.eval_frame"), "skip_code", None)
            if skip is not None and is_own(called.co_filename):
                skip(called)
            return made

        patches.set(torch, "compile", compiling)

    def finish(self) -> None:
        """Read what Dynamo has noted."""
        noted = sys.modules.get("torch._dynamo.utils")
        for reason in getattr(noted, "graph_break_reasons", ()):
            self._recorder.add("break", _innermost(reason.user_stack), reason=_first_line(reason.reason))
        for compilation in getattr(noted, "get_compilation_metrics", list)():
            path, line = getattr(compilation, "co_filename", None), getattr(compilation, "co_firstlineno", None)
            if path and line:
                self._recorder.add("compilation", Site(os.path.realpath(path), line, -1, line, -1))
            why = getattr(compilation, "recompile_reason", None)
            if why:
                self._recorder.add("recompilation", _last_line(why), reason=_guard(why))
            failed = getattr(compilation, "fail_user_frame_filename", None)
            if failed and compilation.fail_reason:
                line = compilation.fail_user_frame_lineno or 0
                reason = f"{_first_line(compilation.fail_reason)}; the whole function runs uncompiled"
                self._recorder.add("break", Site(os.path.realpath(failed), line, -1, line, -1), reason=reason)


def _first_line(reason: str) -> str:
    return reason.partition("\n")[0][:_LIMIT]


def _guard(reason: str) -> str:
    """The condition that failed: ``self.step == 3`` of ``2/1: self.step == 3   # comment``."""
    return _first_line(reason).partition(": ")[2].partition("  #")[0].strip()


def _innermost(stack: Any) -> Site:
    """The expression of the innermost frame."""
    if not stack:
        return NOWHERE
    frame = stack[-1]
    places = [getattr(frame, name, None) for name in ("colno", "end_lineno", "end_colno")]
    column, end_line, end_column = (place if place is not None else -1 for place in places)
    line = frame.lineno or 0
    path = os.path.realpath(frame.filename)
    if min(column, end_line, end_column) < 0:
        return Site(path, line, -1, line, -1)
    return Site(path, line, column, end_line, end_column)


def _last_line(reason: str) -> Site:
    """The innermost line of the stack that Dynamo writes below a reason."""
    frames = _FRAME.findall(reason)
    if not frames:
        return NOWHERE
    path, line = frames[-1]
    return Site(os.path.realpath(path), int(line), -1, int(line), -1)

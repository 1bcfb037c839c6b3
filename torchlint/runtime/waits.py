"""Synchronizations as torch reports them: its debug mode for synchronizations, while a program is observed.

In this mode C++ warns at the end of each Python call that has waited for the device, in the thread of the call; what a
backward pass waits for, at the end of the call that has started it. A warning is heard by a filter, the first one of
all: its pattern is a :class:`_Listener`, and it lets no warning through. So the filters of the program, what it does
with warnings, and its own debug mode are not affected.

Torch does not report waits for a whole device or an event; these are counted at their calls.
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torchlint.runtime import scopes
from torchlint.runtime.patches import Patches

_SAYS = "called a synchronizing CUDA operation"
_PROTOTYPE = "Synchronization debug mode is a prototype feature"
_QUIET, _WARNS = 0, 1
# Python's instructions for it; since 3.14 reading is an operator with this argument.
_SUBSCRIPTS = frozenset(("BINARY_SUBSCR", "STORE_SUBSCR"))
_OPERATOR = next((at for at, (name, _) in enumerate(getattr(dis, "_nb_ops", ())) if name == "NB_SUBSCR"), None)
_is_compiling = torch.compiler.is_compiling

# What torch says once in a process, when the mode is first set: the program hears it when it sets the mode itself.
_unsaid: str | None = None


class Waits:
    """Calls ``called`` with the kind of each wait: ``stream``, ``index``, ``synchronize`` or ``event``.

    The kind ``index`` is a wait of ``x[i]`` or ``x[i] = y``: for a copy of an index or of a value of the host, or for
    the number of elements that a mask selects. Neither is wrapped: a Python ``__getitem__`` of a type makes it a
    sequence for CPython, so that ``torch.tensor([x, y])`` would take the length of ``x`` and ``y``.
    """

    def __init__(self, called: Callable[[str], None]) -> None:
        self._called = called
        self._own = threading.local()  # ``heard``: how many waits this thread was told of; ``passing``: see `_pass`
        self._listener = _Listener(self._heard)
        self._filter = ("ignore", self._listener, UserWarning, None, 0)
        self._asked = _QUIET
        self._registries: dict[int, dict[Any, Any]] = {}

    def on(self, patches: Patches) -> None:
        """Report from now on. Raises ``AttributeError`` if this build of torch has no such mode."""
        set_mode = torch._C._cuda_set_sync_debug_mode
        self._asked = torch._C._cuda_get_sync_debug_mode()
        self._set = set_mode
        self._listener.listens = True
        self._be_first()
        for name in ("_add_filter", "resetwarnings"):
            patches.set(warnings, name, self._then_first(getattr(warnings, name)))
        patches.set(torch._C, "_cuda_set_sync_debug_mode", self._setting(set_mode))
        patches.set(torch._C, "_cuda_get_sync_debug_mode", lambda: self._asked)
        self._quietly_set(max(self._asked, _WARNS))
        scopes.install(patches)
        for owner, name, why in _unreported():
            patches.set(owner, name, self._waiting(getattr(owner, name), why))

    def off(self) -> None:
        """Report no more, and give the program's own mode back."""
        if not self._listener.listens:
            return
        self._quietly_set(self._asked)
        self._listener.listens = False
        for filters in _lists_of_filters():
            if self._filter in filters:
                filters.remove(self._filter)

    # -- the filter --------------------------------------------------------------------------------

    def _be_first(self) -> None:
        for filters in _lists_of_filters():
            if not filters or filters[0] is not self._filter:
                if self._filter in filters:
                    filters.remove(self._filter)
                filters.insert(0, self._filter)

    def _then_first(self, real: Any) -> Any:
        @functools.wraps(real)
        def changed(*args: Any, **kwargs: Any) -> Any:
            made = real(*args, **kwargs)
            self._be_first()
            return made

        return changed

    def _heard(self, text: str, frame: FrameType | None) -> bool:
        """Whether a warning, which C++ gives while this frame calls it, is kept from the program."""
        global _unsaid  # noqa: PLW0603 - torch says it once in a process, however often it is observed
        own = self._own
        if getattr(own, "passing", False):
            return False
        if text.startswith(_SAYS):
            own.heard = getattr(own, "heard", 0) + 1
            self._called("index" if _is_subscript(frame) else "stream")
            if self._asked == _WARNS:
                self._pass(text, frame)
            return True
        if text.startswith(_PROTOTYPE) and getattr(own, "setting", False):
            _unsaid = text
            return True
        return scopes.is_scope(frame) and scopes.printed(text)

    def _pass(self, text: str, frame: FrameType | None) -> None:
        """Give a warning to the program, which has asked for it, as C++ would; it may become an exception.

        What is known of warnings at these places is kept apart from the modules of the program: if a filter shows a
        warning once, all others at its place are not even given to filters.
        """
        if frame is None or scopes.is_scope(frame):
            scopes.printed(text)
            return
        names = frame.f_globals
        registry = self._registries.setdefault(id(names), {})
        module, path = names.get("__name__", "<string>"), frame.f_code.co_filename
        self._own.passing = True
        try:
            warnings.warn_explicit(text, UserWarning, path, frame.f_lineno or 0, module, registry)
        finally:
            self._own.passing = False

    # -- the program's own mode --------------------------------------------------------------------

    def _quietly_set(self, mode: int) -> None:
        self._own.setting = True
        try:
            self._set(mode)
        finally:
            self._own.setting = False

    def _setting(self, real: Any) -> Any:
        @functools.wraps(real)
        def set_mode(*args: Any) -> None:
            global _unsaid
            real(*args)  # raises for anything that is no mode
            self._asked = int(args[0])
            if self._asked == _QUIET:
                self._quietly_set(_WARNS)
            text, _unsaid = _unsaid, None
            if text is not None and not torch.is_warn_always_enabled():
                warnings.warn(text, UserWarning, stacklevel=2)

        return set_mode

    # -- waits that torch does not report ----------------------------------------------------------

    def _waiting(self, real: Any, why: str) -> Any:
        own = self._own

        @functools.wraps(real)
        def wait(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return real(*args, **kwargs)
            before = getattr(own, "heard", 0)
            made = real(*args, **kwargs)
            if getattr(own, "heard", 0) == before:
                self._called(why)
            return made

        return wait


class _Listener:
    """Stands for the pattern of a filter: :mod:`warnings` calls :meth:`match` in the thread of each warning.

    A copy, or one that another process receives with its filters, is a plain pattern.
    """

    def __init__(self, heard: Callable[[str, FrameType | None], bool]) -> None:
        self._heard = heard
        self.listens = False

    def match(self, text: str) -> bool:
        """Whether the filter applies to a warning, and keeps it from the program."""
        return self.listens and self._heard(text, sys._getframe().f_back)

    def __reduce__(self) -> Any:
        """What it is elsewhere."""
        return re.compile, (_SAYS,)


def _lists_of_filters() -> list[list[Any]]:
    """The lists of filters: that of the module and, since Python 3.14, that of the current context."""
    found: list[list[Any]] = [warnings.filters]  # type: ignore[list-item]
    in_context = getattr(warnings, "_get_filters", None)
    if in_context is not None and (own := in_context()) is not found[0]:
        found.append(own)
    return found


def _is_subscript(frame: FrameType | None) -> bool:
    """Whether a frame is reading or writing by index."""
    if frame is None:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    name = dis.opname[code[at]]
    return name in _SUBSCRIPTS or (name == "BINARY_OP" and code[at + 1] == _OPERATOR)


def _unreported() -> list[tuple[Any, str, str]]:
    """The functions that wait without a report: owner, name, and kind of wait."""
    found = [
        (torch._C, "_cuda_synchronize", "synchronize"),
        (torch._C, "_accelerator_synchronizeDevice", "synchronize"),
        (torch.cuda.Event, "synchronize", "event"),
        (torch.cuda.Stream, "synchronize", "stream"),
    ]
    return [(owner, name, why) for owner, name, why in found if hasattr(owner, name)]

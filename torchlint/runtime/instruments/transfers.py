"""Watches copies between host and a real device at the calls that request them, and synchronizations reported by torch.

Nothing here synchronizes. Wrapped methods call the originals with the same arguments and return their results.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchlint.runtime import legacy
from torchlint.runtime.copies import TENSOR, Copies, T, where
from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.labels import label_of, labeled, size_of
from torchlint.runtime.lazy import let_through
from torchlint.runtime.names import FACTORIES, OF_DATA
from torchlint.runtime.patches import Patches
from torchlint.runtime.waits import Waits

_is_compiling = torch.compiler.is_compiling


class Transfers(Instrument):
    """Watches the methods and factories that copy between host and device, or between devices."""

    modes = frozenset(("gpu",))

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.copies = Copies(watch.recorder, watch.sites)
        self.waits = Waits(self.copies.waited)
        self._reported = False

    def install(self, patches: Patches) -> None:
        """Wrap methods and factories, and let torch report synchronizations if it can."""
        for name in ("to", "cuda", "cpu", "type", "type_as"):
            patches.set(TENSOR, name, self._moving(name, getattr(TENSOR, name)))
        patches.set(TENSOR, "copy_", self._copying(TENSOR.copy_))
        let_through(patches, "to", "cuda", "cpu", "copy_")
        patches.set(TENSOR, "pin_memory", self._pinning(TENSOR.pin_memory))
        for name in FACTORIES:
            if hasattr(torch, name):
                patches.set(torch, name, self._making(name, getattr(torch, name)))
        for name in ("new", "new_tensor"):
            patches.set(TENSOR, name, self._renewing(name, getattr(TENSOR, name)))
        patches.set(torch, "_foreach_copy_", self._copying_all(torch._foreach_copy_))
        legacy.install(self.copies, patches)
        self._report_or_note(patches)

    def written(self) -> dict[str, Any]:
        """How many of the synchronizations reported by torch belong to copies; None if torch reported none at all."""
        counted = {"explained": self.copies.explained, "unexplained": self.copies.unexplained}
        return {"synchronizations": counted if self._reported else None}

    def _moving(self, name: str, real: Any) -> Any:
        copies = self.copies

        @functools.wraps(real)
        def move(tensor: T, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or copies.inside:
                return real(tensor, *args, **kwargs)
            if name == "type" and args:
                args = (legacy.original(args[0]), *args[1:])
            made, spent = copies.timed(real, (tensor, *args), kwargs)
            waits = False
            if isinstance(made, TENSOR):  # the type of a tensor is a string
                waits = copies.moved(tensor, made, name, spent, non_blocking=_asynchronous(name, args, kwargs))
            copies.settle(waits)
            return made

        return move

    def _copying(self, real: Any) -> Any:
        copies = self.copies

        @functools.wraps(real)
        def copy_(tensor: T, *args: Any, **kwargs: Any) -> Any:
            source = args[0] if args else kwargs.get("other", kwargs.get("src"))
            moves = isinstance(source, TENSOR) and where(source) != where(tensor)
            if _is_compiling() or copies.inside or not moves:
                return real(tensor, *args, **kwargs)
            made, spent = copies.timed(real, (tensor, *args), kwargs)
            asynchronous = bool(args[1] if len(args) > 1 else kwargs.get("non_blocking", False))
            copies.settle(copies.moved(source, tensor, "copy_", spent, non_blocking=asynchronous))
            return made

        return copy_

    def _copying_all(self, real: Any) -> Any:
        copies = self.copies

        @functools.wraps(real)
        def _foreach_copy_(targets: Any, sources: Any, non_blocking: bool = False) -> Any:
            if _is_compiling() or copies.inside:
                return real(targets, sources, non_blocking)
            made, spent = copies.timed(real, (targets, sources, non_blocking), {})
            each = spent // max(len(targets), 1)
            pairs = zip(sources, targets, strict=False)
            waits = [copies.moved(one, other, "copy_", each, non_blocking=non_blocking) for one, other in pairs]
            copies.settle(sum(waits))
            return made

        return _foreach_copy_

    def _pinning(self, real: Any) -> Any:
        @functools.wraps(real)
        def pin_memory(tensor: T, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return real(tensor, *args, **kwargs)
            made = real(tensor, *args, **kwargs)
            if made is not tensor:
                old = label_of(tensor)
                if old is not None:
                    new = labeled(made)
                    new.born, new.loader, new.left = old.born, old.loader, old.left
            return made

        return pin_memory

    def _making(self, name: str, real: Any) -> Any:
        copies = self.copies

        @functools.wraps(real)
        def factory(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or copies.inside:
                return real(*args, **kwargs)
            made, spent = copies.timed(real, args, kwargs)
            data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
            copies.settle(type(made) is TENSOR and self._made(name, data, made, spent))
            return made

        return factory

    def _made(self, name: str, first: Any, made: T, spent: int) -> bool:
        """Record what a factory has made. Returns whether it has copied something to the device."""
        data = first if name in OF_DATA else None
        if isinstance(data, TENSOR) and where(data) != where(made):
            return self.copies.moved(data, made, name, spent, non_blocking=False)
        if where(made) is None:
            if not isinstance(data, TENSOR):
                label = labeled(made)
                label.born = label.born or self._sites.here(3)
        elif data is not None and not isinstance(data, TENSOR):
            self.copies.up(None, size_of(made), name, spent)
            return True
        else:
            self._recorder.add("made", self._sites.here(3), size_of(made), spent)
        return False

    def _renewing(self, name: str, real: Any) -> Any:
        copies = self.copies

        @functools.wraps(real)
        def new(tensor: T, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or copies.inside:
                return real(tensor, *args, **kwargs)
            made, spent = copies.timed(real, (tensor, *args), kwargs)
            legacy.note_data(copies, args or tuple(kwargs.values())[:1], made, name, spent)
            return made

        return new

    # -- torch's own account -----------------------------------------------------------------------

    def _report_or_note(self, patches: Patches) -> None:
        try:
            self.waits.on(patches)
            self._reported = True
        except AttributeError as error:
            self.watch.notes.append(
                f"torch {torch.__version__} reports no synchronizations ({error}): only copies are counted"
            )

    def stop(self) -> None:
        """End torch's reports, and restore the program's own debug mode."""
        self.waits.off()


def _asynchronous(name: str, args: Any, kwargs: Any) -> bool:
    """Whether a move is requested with ``non_blocking``, by name or by position."""
    if "non_blocking" in kwargs:
        return bool(kwargs["non_blocking"])
    if name not in ("to", "cuda", "type"):
        return False
    # ``to(device, dtype, non_blocking, copy)``, but without the second one after another tensor or a dtype
    position = 2 if name == "to" and args and not isinstance(args[0], (TENSOR, torch.dtype)) else 1
    return len(args) > position and bool(args[position])

"""Attributes that are replaced for a while, and put back in reverse order."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from torch.jit._builtins import _find_builtin, _get_builtin_table

_MISSING = object()


class Patches:
    """Replaced attributes that :meth:`restore` restores, even if they were replaced several times."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []
        self._entries: list[tuple[MutableMapping[Any, Any], Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module, class or object. An inherited attribute is shadowed, not changed."""
        self._introduce(owner, name, value)
        own = vars(owner).get(name, _MISSING) if hasattr(owner, "__dict__") else getattr(owner, name, _MISSING)
        setattr(owner, name, value)
        self._before.append((owner, name, own))

    def _introduce(self, owner: Any, name: str, value: Any) -> None:
        """Let TorchScript recognize a wrapped function as the original operation, which it finds by identity."""
        real = getattr(owner, name, None)
        operation = _find_builtin(real) if callable(real) and callable(value) else None
        if operation is not None:
            self.set_item(_get_builtin_table(), id(value), operation)

    def set_all(self, owner: Any, **values: Any) -> None:
        """Replace several attributes of one owner."""
        for name, value in values.items():
            self.set(owner, name, value)

    def set_item(self, owner: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Replace an entry of a mapping."""
        self._entries.append((owner, key, owner.get(key, _MISSING)))
        owner[key] = value

    def replaced(self) -> Iterator[tuple[Any, str, Any]]:
        """The replaced attributes: owner, name, and the value before, None if there was none."""
        for owner, name, before in self._before:
            if before is not _MISSING:
                yield owner, name, before
            elif isinstance(owner, type):
                yield owner, name, getattr(super(owner, owner), name, None)

    def restore(self) -> None:
        """Restore everything."""
        while self._before:
            owner, name, value = self._before.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        while self._entries:
            owner, key, value = self._entries.pop()
            if value is _MISSING:
                owner.pop(key, None)
            else:
                owner[key] = value

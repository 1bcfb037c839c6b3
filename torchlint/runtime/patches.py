"""Attributes that are replaced for a while, and put back in reverse order."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, MutableMapping, MutableSet
from typing import Any

from torchlint.runtime import registries

_MISSING = object()


class Patches:
    """Replaced attributes that :meth:`restore` restores, even if they were replaced several times."""

    def __init__(self) -> None:
        registries.fill()
        self._before: list[tuple[Any, str, Any]] = []
        self._entries: list[tuple[MutableMapping[Any, Any], Any, Any]] = []
        self._members: list[tuple[MutableSet[Any], Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module, class or object. An inherited attribute is shadowed, not changed.

        Functions and properties look like those that they replace, and torch recognizes them as such.
        """
        real = getattr(owner, name, None)
        value = _alike(value, real)
        own = vars(owner).get(name, _MISSING) if hasattr(owner, "__dict__") else getattr(owner, name, _MISSING)
        setattr(owner, name, value)
        self._before.append((owner, name, own))
        self._introduce(real, getattr(owner, name))

    def _introduce(self, real: Any, value: Any) -> None:
        for entry in registries.entries(real, value):
            self.set_item(*entry)
        for registry, member in registries.members(real, value):
            registry.add(member)
            self._members.append((registry, member))

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
        while self._members:
            registry, member = self._members.pop()
            registry.discard(member)


class _Property(property):
    """A property in place of one that is written in C: it says of itself what that one says."""

    __objclass__: type
    __name__: str


def _alike(value: Any, real: Any) -> Any:
    """What replaces an attribute, with the name, the documentation and the signature of the attribute."""
    if isinstance(value, (staticmethod, classmethod)):
        _alike(value.__func__, real)
    elif isinstance(value, types.FunctionType) and callable(real) and not isinstance(real, type):
        functools.update_wrapper(value, real)
    elif isinstance(value, property) and isinstance(real, types.GetSetDescriptorType):
        made = _Property(value.fget, value.fset or real.__set__, value.fdel or real.__delete__)
        made.__objclass__, made.__name__, made.__doc__ = real.__objclass__, real.__name__, real.__doc__
        return made
    return value

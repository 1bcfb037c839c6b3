"""The user's folder for caches, and the key with which caches are signed."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH111, PTH117, PTH118
from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from torchlint.base.files import replace
from torchlint.base.inputs import read_own

_NAME = "cache-key"
_BYTES = 32


def folder() -> str | None:
    """The folder for caches of this user; None if the user has no home directory."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "torchlint") if os.path.isabs(base) else None


def key() -> bytes | None:
    """The key that signs this user's caches on this machine, created on first use; None if that is not possible.

    The identity of the key file is part of the key, so that a copy of it is useless: neither one that a repository
    contains (if the user's folder is inside a repository), nor one from another machine.
    """
    home = folder()
    if home is None:
        return None
    path = Path(home, _NAME)
    try:
        return _known(path)
    except (OSError, ValueError):
        pass  # there is none yet, or it may belong to another user
    try:
        Path(home).mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, os.urandom(_BYTES))
        return _known(path)
    except (OSError, ValueError):
        return None


def _known(path: Path) -> bytes:
    secret = read_own(path, _BYTES, secret=True)
    if len(secret) != _BYTES:
        raise ValueError("cut off")
    found = path.lstat()
    return blake2b(secret + f"{found.st_ino} {found.st_ctime_ns}".encode(), digest_size=_BYTES).digest()

"""BLAKE2 from where ``hashlib`` takes it: that module loads all of OpenSSL as well, which takes a tenth of a start."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

__all__ = ["blake2b"]

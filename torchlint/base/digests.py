"""BLAKE2 without ``hashlib``, which would also load OpenSSL and take a tenth of the start-up time."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # not CPython
    from hashlib import blake2b

__all__ = ["blake2b"]

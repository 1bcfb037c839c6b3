"""Comparison of versions of torch."""

from __future__ import annotations


def admits_older(target: str | None, since: str) -> bool:
    """Whether the oldest torch that a project supports is older than a version; false if it is not declared."""
    return target is not None and _numbers(target) < _numbers(since)


def _numbers(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")[:2]]

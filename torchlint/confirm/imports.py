"""Finds the user's own modules that a program imports, without importing anything."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from torchlint.base.limits import content

_LIMIT = 2000


def program_file(module: str, bases: Sequence[str]) -> str | None:
    """The file that ``python -m module`` runs."""
    for base in (*bases, *sys.path):
        stem = os.path.join(base or ".", *module.split("."))
        for candidate in (os.path.join(stem, "__main__.py"), f"{stem}.py"):
            if os.path.isfile(candidate):
                return os.path.realpath(candidate)
    return None


def closure(first: str, bases: Sequence[str]) -> list[str]:
    """A file and all modules below ``bases`` that it imports, directly or indirectly, in order of discovery."""
    found = [os.path.realpath(first)]
    known = set(found)
    for path in found:
        for target in _imported(path, bases):
            if target not in known and len(known) < _LIMIT:
                known.add(target)
                found.append(target)
    return found


def _imported(path: str, bases: Sequence[str]) -> Iterator[str]:
    try:
        tree = ast.parse(content(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), bases)
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, path, bases)
        elif isinstance(node, ast.Call) and _name(node.func) in ("run_path", "run_module"):
            yield from _run(node, path, bases)


def _name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _run(call: ast.Call, path: str, bases: Sequence[str]) -> Iterator[str]:
    """What ``runpy`` is to run, as far as it is written there: a module, or the last part of a path."""
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords)]
    texts = [node.value for value in given for node in ast.walk(value) if isinstance(node, ast.Constant)]
    for text in texts:
        if not isinstance(text, str) or not text:
            continue
        if _name(call.func) == "run_module":
            yield from _files([*text.split("."), "__main__"], bases)
            continue
        for base in (os.path.dirname(path), os.getcwd(), *bases):
            found = os.path.join(base, text)
            if os.path.isfile(found):
                yield os.path.realpath(found)
                break


def _from(node: ast.ImportFrom, path: str, bases: Sequence[str]) -> Iterator[str]:
    parts = node.module.split(".") if node.module else []
    if node.level:
        folder = path
        for _ in range(node.level):
            folder = os.path.dirname(folder)
        bases = [folder]
    yield from _files(parts, bases)
    for alias in node.names:
        yield from _files([*parts, alias.name], bases)


def _files(parts: Sequence[str], bases: Iterable[str]) -> Iterator[str]:
    """The file of a module, and those of its parent packages."""
    for base in bases:
        found = []
        for count in range(1, len(parts) + 1):
            stem = os.path.join(base, *parts[:count])
            for candidate in (os.path.join(stem, "__init__.py"), f"{stem}.py"):
                if os.path.isfile(candidate):
                    found.append(os.path.realpath(candidate))
                    break
        if found:
            yield from found
            return

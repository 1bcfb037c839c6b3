"""What ``pytest --torchlint-no-waits`` enforces: hot functions, and the waits in them that the configuration allows."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import FrameType

from torchlint.program.world import World, matches
from torchlint.run.linting.allowed import AllowedWaits

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Guard:
    """Says which waits of the code below a folder are not expected.

    A wait is expected unless a function of ``hot`` is running, and if the code that waits, or that calls it, is in an
    allowed context, or if an allowing comment stands at the statement that waits.
    """

    def __init__(self, world: World, folder: str) -> None:
        self._world, self._folder = world, str(Path(folder).resolve())
        self._files: dict[str, _File | None] = {}

    def unexpected(self, frame: FrameType | None, what: str, marked: str = "") -> str | None:
        """One line about a wait in a frame, or None if it is expected; all of a ``marked`` test is hot.

        It says where the host waits, for ``what``, and which functions lead there from the hot one.
        """
        place, hot = "", marked
        way: list[str] = []
        while frame is not None:
            file = self._file(frame.f_code.co_filename)
            if file is not None:
                if file.allows(frame.f_lineno, innermost=not place):
                    return None
                place = place or f"{Path(file.path).relative_to(self._folder)}:{frame.f_lineno}"
                name = file.hot(frame.f_code.co_firstlineno)
                way += [] if hot else [name or frame.f_code.co_name]
                hot = hot or name
            frame = frame.f_back
        return (
            f"{place}: waits for the device ({what}) in {' > '.join(way[::-1] or [marked])}" if place and hot else None
        )

    def _file(self, name: str) -> _File | None:
        if name not in self._files:
            path = Path(name)
            below = path.is_file() and path.resolve().is_relative_to(self._folder)
            own = below and "site-packages" not in path.parts
            self._files[name] = _File(path.resolve(), self._world) if own else None
        return self._files[name]


class _File:
    """The hot functions and the allowances of a file."""

    def __init__(self, path: Path, world: World) -> None:
        self.path = path
        text = path.read_text("utf-8", "replace")
        self._tree = ast.parse(text)
        self._allowed = AllowedWaits(text, world.allowed_waits)
        names = ".".join(path.with_suffix("").parts[1:])
        self._hot = dict(_hot_functions(self._tree, [names], world.hot))

    def hot(self, first_line: int) -> str:
        """The name of a function, by its first line, if it is hot; else empty."""
        return self._hot.get(first_line, "")

    def allows(self, line: int, *, innermost: bool) -> bool:
        """Whether a wait at a line is allowed; comments allow only what ``innermost`` code does."""
        first, last = _statement(self._tree, line) if innermost else (line, line)
        return self._allowed.allow(first, last, line, comments=innermost)


def _hot_functions(scope: ast.AST, names: Collection[str], hot: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The hot functions in a scope of these dotted names, by the line at which their code begins."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            yield from _hot_functions(node, [f"{name}.{each}" for name in names for each in (node.name, *bases)], hot)
        elif isinstance(node, _DEFINITIONS):
            inner = [f"{name}.{node.name}" for name in names]
            if matches(inner, node, hot):
                first = min(each.lineno for each in (node, *node.decorator_list))
                yield first, f"{scope.name}.{node.name}" if isinstance(scope, ast.ClassDef) else node.name
            yield from _hot_functions(node, inner, hot)
        else:
            yield from _hot_functions(node, names, hot)


def _statement(tree: ast.AST, line: int) -> tuple[int, int]:
    """The lines of the innermost statement at a line; of a compound one, those before its body."""
    found = line, line
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body: list[ast.stmt] = getattr(node, "body", [])
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            if line <= max(last, node.lineno):
                found = node.lineno, max(last, node.lineno)
    return found

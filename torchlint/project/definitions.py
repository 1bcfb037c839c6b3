"""Where the files of a run define what a dotted name refers to, through modules and re-exports."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from torchlint.project.module_files import ModuleFiles
from torchlint.project.names import names
from torchlint.project.outline import Outlines

Place = tuple[str, str]


class Definitions:
    """Resolves dotted names as Python would. A place is a file and the name of a function or class in it.

    The modules of star imports that may define a name are written in front of it: ``*losses|utils*.name``.
    """

    def __init__(self, paths: Collection[str], outlines: Outlines) -> None:
        self._names = names(paths)
        self._paths = {name: path for path, name in self._names.items()}
        self._outlines = outlines
        self._files = ModuleFiles(self._paths)
        self._modules: dict[tuple[str, str], str | None] = {}
        self._loads: dict[str, frozenset[str]] = {}
        self._imports: dict[str, frozenset[str]] = {}

    def module(self, asking: str, dotted: str) -> str | None:
        """The file that an import of a module resolves to; None if it is not part of the run.

        Absolute names are resolved as for a script: next to the importing file, then in each parent folder. A name that
        is in none of them is in a folder that an installation or the program itself puts on the path of modules, such
        as ``src``: it is the only file with such a name, or the one that shares most folders with the importing file.
        """
        name = self._names.get(asking) or asking.replace("\\", "/")
        place = posixpath.dirname(name), dotted
        if place not in self._modules:
            self._modules[place] = self._module(*place)
        return self._modules[place]

    def _module(self, folder: str, dotted: str) -> str | None:
        name = dotted.lstrip(".")
        tail = name.replace(".", "/")
        level = len(dotted) - len(name)
        if level:
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            return self._file(posixpath.join(folder, tail) if tail else folder)
        above = folder
        while True:
            found = self._file(posixpath.join(above, tail))
            if found is not None:
                return found
            if above == posixpath.dirname(above):
                found = self._files.elsewhere(folder, name)
                return self._paths[found] if found is not None else None
            above = posixpath.dirname(above)

    def _file(self, stem: str) -> str | None:
        found = (self._paths.get(name) for name in (f"{stem}.py", f"{stem}/__init__.py"))
        return next((path for path in found if path is not None), None)

    def imported(self, asking: str, name: str) -> str | None:
        """The file that an import of a module, or of a name in it, resolves to."""
        around = name.rpartition(".")[0]
        return self.module(asking, name) or (self.module(asking, around) if around.strip(".") else None)

    def loaded(self, asking: str, name: str) -> Iterator[str]:
        """The files that an import runs: a module and the packages that it is in."""
        path = self.imported(asking, name)
        if path is not None:
            yield path
            yield from self.packages(path)

    def loads(self, path: str) -> frozenset[str]:
        """The files that run whenever a file is imported, because it imports them itself."""
        if path not in self._loads:
            required = self._outlines.of(path).required
            self._loads[path] = frozenset(loaded for name in required for loaded in self.loaded(path, name))
        return self._loads[path]

    def unresolved(self, path: str) -> list[str]:
        """What a file imports whenever it runs and that is no file of the run, by relative or absolute names."""
        return [name for name in self._outlines.of(path).required if self.imported(path, name) is None]

    def imports(self, path: str) -> frozenset[str]:
        """The files that a file imports anywhere, also in functions and under conditions."""
        if path not in self._imports:
            outline = self._outlines.of(path)
            names = {name for found in outline.imports.values() for name in found} | {*outline.stars}
            found = {loaded for name in names for loaded in self.loaded(path, name)}
            self._imports[path] = frozenset(found - {path})
        return self._imports[path]

    def required(self, path: str) -> tuple[str, ...]:
        """What a file imports under no condition."""
        return self._outlines.of(path).required

    def is_program(self, path: str) -> bool:
        """Whether some of a file runs only if it is started as a program."""
        return self._outlines.of(path).is_program

    def is_test(self, path: str) -> bool:
        """Whether a file is a test."""
        return self._outlines.of(path).is_test

    def packages(self, path: str) -> Iterator[str]:
        """The packages that a module is in, which importing it runs first; the innermost first."""
        folder = posixpath.dirname(self._names[path])
        if path.endswith("/__init__.py"):
            folder = posixpath.dirname(folder)
        while (package := self._paths.get(f"{folder}/__init__.py")) is not None:
            yield package
            folder = posixpath.dirname(folder)

    def place(self, asking: str, dotted: str) -> Place | None:
        """Where a function or class is defined, through re-exports.

        A name that its module does not show to define is assumed to be defined there, in some other way.
        """
        if dotted.startswith("*"):
            modules, _, name = dotted[1:].partition("*.")
            return self._starred(asking, modules.split("|"), name, set())
        split = self._split(asking, dotted)
        return (self._find(*split, set()) or split) if split is not None else None

    def _split(self, asking: str, dotted: str) -> Place | None:
        """The file of the longest part of a dotted name that is a module, and the rest of the name."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = dotted[level:].split(".")
        for length in range(1, min(len(parts), 3) + 1):
            head = "." * level + ".".join(parts[:-length])
            path = self.module(asking, head) if head else None
            if path is not None:
                return path, ".".join(parts[-length:])
        return None

    def _find(self, path: str, name: str, seen: set[Place]) -> Place | None:
        """Where a module defines a name; None if it does not show to."""
        if (path, name) in seen:
            return None
        seen.add((path, name))
        first, _, rest = name.partition(".")
        outline = self._outlines.of(path)
        if first in outline.defined:
            return None if rest else (path, first)
        for dotted in outline.imports.get(first, ()):
            split = self._split(path, f"{dotted}.{rest}" if rest else dotted)
            found = self._find(*split, seen) if split is not None else None
            if found is not None:
                return found
        return self._starred(path, outline.stars, name, seen)

    def _starred(self, asking: str, modules: Collection[str], name: str, seen: set[Place]) -> Place | None:
        """Where one of several modules defines a name, the last one first."""
        for dotted in reversed(list(modules)):
            path = self.module(asking, dotted)
            found = self._find(path, name, seen) if path is not None and path != asking else None
            if found is not None:
                return found
        return None

"""The outline of a file: what it defines at module level and imports. Read from its bytes, without parsing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from torchlint.project.tests import is_test
from torchlint.text.lines import with_line_feeds

_DEFINITION = re.compile(rb"\n(?:def|async def|class)[ \t]+(\w+)")
_NAMES = rb"import[ \t]+(\((?:[^)#]|#[^\n]*)*\)?|(?:[^\n(;#\\]|\\\n)+)"
_FROM = re.compile(rb"\n([ \t]*)from[ \t]+([\w.]+)[ \t]+" + _NAMES)
_MODULE = re.compile(rb"\n" + _NAMES)
_COMMENT = re.compile(rb"#[^\n]*|\\\n|[()]")
_PROGRAM = re.compile(rb"\nif[ \t(]+__name__\b")
_RENAMED = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")


class Outline(NamedTuple):
    """What a module defines and imports.

    ``defined`` are its functions and classes; ``imports`` are the dotted names that a name may stand for, in order;
    ``stars`` the modules of ``import *``; ``required`` what is imported whenever the module is: under no condition, and
    not in a function. ``is_program`` says whether some of it runs only if the file is started as a program,
    ``is_test`` whether pytest collects it, or what it collects shares it.
    """

    defined: frozenset[str] = frozenset()
    imports: Mapping[str, tuple[str, ...]] = {}
    stars: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    is_program: bool = False
    is_test: bool = False


class Outlines:
    """The outlines of files, each made when it is first needed."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = {path.replace("\\", "/"): data for path, data in contents.items()}
        self._known: dict[str, Outline] = {}

    def of(self, path: str) -> Outline:
        """The outline of a file; empty if its content is unknown."""
        if path not in self._known:
            self._known[path] = outline(self._contents.get(path, b""), path)
        return self._known[path]

    def updated(self, changed: Mapping[str, bytes], removed: Iterable[str] = ()) -> Outlines:
        """The outlines after changes; those of all other files are kept."""
        found = Outlines(changed)
        touched = {*found._contents, *(path.replace("\\", "/") for path in removed)}
        found._contents |= {path: data for path, data in self._contents.items() if path not in touched}
        found._known = {path: known for path, known in self._known.items() if path not in touched}
        return found

    def __getstate__(self) -> dict[str, object]:
        """Other processes get the outlines instead of the contents, which are larger."""
        return {"_contents": {}, "_known": {path: self.of(path) for path in self._contents}}


def outline(data: bytes, path: str) -> Outline:
    """The outline of the content of a file. Definitions in conditional statements are not part of it."""
    test = is_test(path, data)
    data = b"\n" + with_line_feeds(data).replace(b"\r\n", b"\n")
    defined = frozenset(map(_text, _DEFINITION.findall(data)))
    imports: dict[str, tuple[str, ...]] = {}
    stars: list[str] = []
    required: dict[str, None] = {}
    for one in _imported(data):
        if one.bound == "*":
            stars.append(one.dotted)
        else:
            imports[one.bound] = (*imports.get(one.bound, ()), one.dotted)
        if one.required:
            required[one.module] = None
    return Outline(defined, imports, tuple(stars), tuple(required), _PROGRAM.search(data) is not None, test)


class _Import(NamedTuple):
    """A name that an import binds, or ``*``; what it stands for; the module to load for it; whether it always is."""

    bound: str
    dotted: str
    module: str
    required: bool


def _imported(data: bytes) -> Iterator[_Import]:
    for found in _FROM.finditer(data):
        module, required = _text(found[2]), not found[1]
        for name, alias in _RENAMED.findall(_text(_COMMENT.sub(b" ", found[3]))):
            joined = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
            if name == "*":
                yield _Import("*", module, module, required)
            else:
                yield _Import(alias or name, joined, joined, required)
    for found in _MODULE.finditer(data):
        for name, alias in _RENAMED.findall(_text(_COMMENT.sub(b" ", found[1]))):
            yield _Import(alias or name.partition(".")[0], name if alias else name.partition(".")[0], name, True)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

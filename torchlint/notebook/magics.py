"""Commands of IPython in the code of a cell, and the names that stand for them where Python is expected.

A command is replaced line for line, so that lines and columns stay. As in IPython, a command
begins where a statement could begin, never inside brackets or strings.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from torchlint.text.lines import STRINGS

# Cells below these commands hold Python that runs like that of any other cell.
PYTHON_CELLS = frozenset(
    "capture debug ipytest memit mprun notify prun pyinstrument scalene snakeviz time timeit wandb".split()
)
# Databricks has one language for each cell, and names it in the first line.
_LANGUAGES = frozenset("fs md md-sandbox r scala sh".split())
_MAYBE_LANGUAGES = frozenset(("sql",))  # also a command of one line, with Python below it

_BLANK = re.compile(r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*[ \t\f]*")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_REST = r"(?:[^\\\r\n]|\\(?:\r\n|[\s\S])|\\\Z)*"  # of a line, and of those that a backslash continues
_COMMAND = re.compile(rf"(?P<before>[ \t\f]*)(?P<command>[%!?]{_REST})")
_ASSIGNED = re.compile(rf"(?P<before>[\w.,*\[\]'\" \t\f]+=[ \t]*)(?P<command>[%!]{_REST})")
_HELP = re.compile(r"(?P<before>[ \t\f]*)(?P<command>%{0,2}[\w.*\[\]'\"()]+\?{1,2})[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")
_AUTOMATIC = re.compile(
    rf"(?P<before>[ \t\f]*)(?P<command>(?:pip3?|conda|mamba|cd|ls|ll|cp|mv|rm|mkdir|rmdir|cat|man|more|less)[ \t]+"
    rf"(?!\S{{0,2}}=)[^\s(=]{_REST})"
)
# What a line of a command may begin with.
_FORMS = (_COMMAND.match, _ASSIGNED.match, _HELP.match, _AUTOMATIC.match)
# A command that runs the statement behind it.
_TIMED = re.compile(
    r"%(?:time|timeit|memit|prun)\b(?:[ \t]+-(?:[nrp][ \t]*\d+|[cqov]\b))*[ \t]+(?=[^\s-])",
)
_TOKEN = re.compile(rf"{STRINGS}|#[^\r\n]*|[()\[\]{{}}]|\\(?:\r\n|\r|\n)|\r\n|\r|\n", re.DOTALL)


class Command(NamedTuple):
    """A command as it is written, and what stands for it in the module."""

    written: str
    stand_in: str


class Broken(NamedTuple):
    """Why the code of a cell is not Python, and where; lines and columns count from 1."""

    message: str
    line: int
    column: int


class Commands:
    """The commands of a notebook; what stands for each is unique."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: list[Command] = []

    def add(self, written: str, *, alone: bool) -> str:
        """What stands for a command: a call of an unknown function, or a name in front of the statement that it runs.

        ``alone`` says that it is a statement of its own, not the value of an assignment.
        """
        name = f"{self.name}{len(self.known)}"
        timed = _TIMED.match(written) if alone else None
        if timed and len(name) + 1 < timed.end() and _problem(f"{name};{written[timed.end() :]}") is None:
            command = timed[0]
            stand_in = f"{name};".ljust(len(command))
            self.known.append(Command(command, stand_in))
            return stand_in + written[timed.end() :]
        breaks = "".join(_NEWLINE.findall(written))
        self.known.append(Command(written, f"{name}({breaks})"))
        return f"{name}({breaks})"


def python_of(source: str, commands: Commands) -> str | Broken | None:
    """The code of a cell with its commands replaced; None if its language is not Python."""
    problem = _problem(source)
    if problem is None:
        return source
    first = _BLANK.match(source)
    start = first.end() if first else 0
    word = re.compile(r"%{0,2}[\w-]*").match(source, start)
    kind = word[0] if word else ""
    if _is_foreign(source, start, kind):
        return None
    before = len(commands.known)
    text = _replaced(source, start, commands)
    problem = _problem(text)
    if problem is not None:
        del commands.known[before:]
        return None if _is_pasted(source, start) else problem
    return text


def _is_foreign(source: str, start: int, kind: str) -> bool:
    """Whether the first line says that the cell is in another language."""
    if source.startswith("%%", start):
        return kind.removeprefix("%%") not in PYTHON_CELLS or not kind[2:]
    name = kind.removeprefix("%") if kind.startswith("%") else ""
    if name in _LANGUAGES:
        return True
    if name in _MAYBE_LANGUAGES:
        line = _NEWLINE.search(source, start)
        return line is not None and _problem(_replaced(source[line.end() :], 0, Commands("_"))) is not None
    return False


def _is_pasted(source: str, start: int) -> bool:
    """Whether IPython would first remove prompts or an indentation, which moves all columns."""
    if source.startswith((">>> ", "In ["), start):
        return True
    indent = source[max(source.rfind("\n", 0, start), source.rfind("\r", 0, start)) + 1 : start]
    return bool(indent) and _problem(re.sub(rf"(?m)^{indent}", "", source)) is None


def _replaced(source: str, start: int, commands: Commands) -> str:
    parts: list[str] = []
    position = 0
    for before, first, last in _commands(source, start):
        alone = not source[before:first].strip()
        parts += [source[position:first], commands.add(source[first:last], alone=alone)]
        position = last
    return "".join([*parts, source[position:]])


def _commands(source: str, position: int) -> Iterator[tuple[int, int, int]]:
    """Where the lines of commands, the commands on them, and their ends are."""
    position = max(source.rfind("\n", 0, position), source.rfind("\r", 0, position)) + 1
    while position < len(source):
        for match in _FORMS:
            found = match(source, position)
            if found is not None:
                yield position, found.start("command"), found.end("command")
                position = found.end()
                break
        position = _end_of_statement(source, position)


def _end_of_statement(source: str, position: int) -> int:
    """Where the next logical line begins."""
    depth = 0
    for token in _TOKEN.finditer(source, position):
        first = token[0][0]
        if first in "([{":
            depth += 1
        elif first in ")]}":
            depth = max(depth - 1, 0)
        elif first in "\r\n" and not depth:
            return token.end()
    return len(source)


def _is_parsable(text: str) -> bool:
    """Whether CPython parses a text; no syntax tree is made of Python objects, which takes most of the time."""
    import symtable

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(text, "<cell>", "exec")
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    return True


def _problem(text: str) -> Broken | None:
    """Why CPython does not parse a text as the code of a cell."""
    if _is_parsable(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)  # accepts what only the compiler refuses, such as a misplaced `global`
    except SyntaxError as error:
        return Broken(error.msg, max(error.lineno or 1, 1), max(error.offset or 1, 1))
    except UnicodeEncodeError:
        return Broken("contains half of a surrogate pair, which is no character", 1, 1)
    except ValueError as error:
        return Broken(str(error), 1, 1)
    except (RecursionError, MemoryError):
        return Broken("the code is nested too deeply to be analyzed: split it, or exclude the file", 1, 1)
    return None

"""Text from outside as it is printed: on one line, without control characters and without commands of CI systems.

GitHub Actions, Azure Pipelines and TeamCity search the output of a build for commands. A name or a quoted line of a
linted file must not become one. A line is a command if it begins with ``::``, after white space, or if it contains
``##[``, ``##vso[`` or ``##teamcity[``. Some comparisons there ignore invisible characters, such as variation
selectors, so any character outside ASCII may stand between these.
"""

from __future__ import annotations

import re

_MAYBE = "[^ -~]*"
# In both cases: patterns that ignore the case take several times as long to compile.
_WORDS = "|".join(_MAYBE.join(f"[{c}{c.upper()}]" for c in word) for word in ("vso", "teamcity"))
# The first sign of such a command.
_COMMAND = re.compile(rf"#(?={_MAYBE}#(?:{_MAYBE}(?:{_WORDS}))?{_MAYBE}\[)")
_FIRST = re.compile(rf"\A([^!-~]*):(?={_MAYBE}:)")
_FIRST_IN_PATH = re.compile(rf"\A[^!-~]*(?::{_MAYBE}:|#{_MAYBE}#)")


def escaped(text: str) -> str:
    r"""``text`` on one line, with control and invisible characters escaped.

    That covers C0 and C1 controls, bidirectional and other format characters, line separators and the surrogates of
    undecodable file names: ESC becomes ``\x1b``.
    """
    if text.isprintable():
        return text
    return "".join(c if shows(c) else ascii(c)[1:-1] for c in text)


def visible(text: str) -> str:
    r"""``text`` as :func:`escaped`, and with the first character of what would be a command as ``\x3a`` or ``\x23``."""
    shown = text if text.isprintable() and "#" not in text else "".join(characters(text))
    return _FIRST.sub(r"\1\\x3a", shown)


def characters(text: str) -> list[str]:
    """What is shown for each character of a text that does not begin a line of output."""
    shown = list(text) if text.isprintable() else list(map(escaped, text))
    for found in _COMMAND.finditer(text):
        shown[found.start()] = r"\x23"
    return shown


def visible_path(path: str) -> str:
    """A path as :func:`visible`; ``./`` stands before a name that could begin a command."""
    return visible(f"./{path}" if _FIRST_IN_PATH.match(path) else path)


def visible_lines(text: str) -> list[str]:
    """The lines of a message, each made :func:`visible`."""
    return [visible(line) for line in text.replace("\r\n", "\n").split("\n")]


def shows(character: str) -> bool:
    """Whether a terminal just draws a character. Python calls wide and non-breaking spaces unprintable."""
    if character.isprintable():
        return True
    from unicodedata import category

    return category(character) == "Zs"


def without_commands(document: str, sign: str) -> str:
    """A document in a format in which ``sign`` stands for ``#``, so that nothing in it is a command."""
    return _COMMAND.sub(lambda _: sign, document)

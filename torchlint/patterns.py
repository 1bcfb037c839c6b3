"""Regular expressions for source text that cost little: compiled when they are needed, and led by plain text.

A pattern that begins with a plain text is found many times faster than one that ends with it, or than alternatives.
So what must lie before a match is looked at when there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import AnyStr, NamedTuple

FAR = 400  # characters around a match that are looked at
# A string, whatever is in the fields of one that has any; a point matches newlines as well where this is used.
STRINGS = (
    r"\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\")?"
    r"|'''(?:[^\\']|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*\"?"
    r"|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'?"
)


@cache
def compiled(source: AnyStr) -> re.Pattern[AnyStr]:
    """A regular expression that is used again and again."""
    return re.compile(source)


@cache
def _beginning(source: str) -> str:
    found = re.match(r"\w*(?![\w?*{])", source)
    return found[0] if found is not None and "|" not in source else ""


class Pattern(NamedTuple):
    """A regular expression, compiled when it is first used: a short run has no time to compile all there are."""

    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression itself."""
        return compiled(self.source)

    @property
    def beginning(self) -> str:
        """The letters and digits that every match begins with, as far as they are easily seen."""
        return _beginning(self.source)

    def search(self, text: str, start: int, end: int) -> bool:
        """It matches somewhere between the offsets."""
        return self.pattern.search(text, start, end) is not None


# What may follow a name that is assigned as a whole.
NAMED_END = r"[ \t]*(?:[\r\n#;)]|if\b|\Z)"
Before = Callable[[str], bool]

# What ends before a match, told from the text up to there. All of these are true of some other texts as well.


def begins(lead: str) -> bool:
    """A statement begins there, perhaps with a dotted name or a parenthesis."""
    return _STATED.pattern.search(_last_line(lead)) is not None


def begins_or_is_assigned(lead: str) -> bool:
    """The same, or another target of an assignment."""
    return _TARGETED.pattern.search(_last_line(lead)) is not None


def begins_expression(lead: str) -> bool:
    """A statement that is an expression begins on the line: nothing is assigned, returned or opened before."""
    line = _last_line(lead)
    for _ in range(_NESTED):
        line, count = _IN_BRACKETS.pattern.subn("", line)
        if not count:
            break
    stated = line[max(line.rfind(":"), line.rfind(";")) + 1 :].lstrip(" \t(")
    return "=" not in stated and "(" not in stated and _GIVEN.pattern.match(stated) is None


def is_imported(lead: str) -> bool:
    """An import lists the name, or the module that it is taken from."""
    return ("import" in lead or "from" in lead) and _IMPORTING.pattern.search(lead) is not None


def is_looped(lead: str) -> bool:
    """What a loop goes through ends with it, as far as the text is known."""
    head = lead[lead.rfind(":") + 1 :]
    begins = _FOR.pattern.search(head)
    return begins is not None and _IN.pattern.search(head, begins.end()) is not None


def is_named(lead: str) -> bool:
    """The last part of a name follows that is assigned, or chosen by ``else``."""
    rest = lead
    while True:
        rest = rest.rstrip(_IN_WORDS)
        if not rest[-1:].isascii():
            return True  # a letter of a name, for all that is known
        rest = rest.rstrip(_BETWEEN)
        while "#" in (line := _last_line(rest)):
            rest = rest[: len(rest) - len(line) + line.index("#")].rstrip(_BETWEEN)
        if len(lead) >= FAR and _last_line(rest) == rest:
            return True  # a comment may begin further before
        if not rest.endswith("."):
            return rest.endswith(("=", "else"))
        rest = rest[:-1].rstrip(_BETWEEN)


def is_renamed(lead: str) -> bool:
    """The same of a name that is assigned or imported."""
    if is_named(lead):
        return True
    if "import" not in lead:
        return False
    before = lead.rstrip(_IN_LISTS)
    return not before[-1:].isascii() or _IMPORT.search(lead, len(before), len(lead))


@cache
def ends_with(pattern: str) -> Before:
    """What stands before ends with a match of a pattern."""
    return lambda lead: compiled(rf"(?:{pattern})\Z").search(lead) is not None


@cache
def last_word_begins(pattern: str) -> Before:
    """The word that stands before, and goes on here, begins with a match of a pattern."""
    return lambda lead: compiled(pattern).match(lead, len(lead.rstrip(_IN_WORDS))) is not None


_DOTTED = r"[ \t(]*(?:[\w\[\]]{1,80}[ \t]*\.[ \t]*){0,8}[\w\[\])]{0,80}\Z"
_STATED = Pattern(rf"(?:\A|[\r;:]){_DOTTED}")
_TARGETED = Pattern(rf"(?:\A|[\r;:=]){_DOTTED}")
# The beginning of a line, as far as the text is known.
FIRST = r"(?:\A(?:\ufeff|\xef\xbb\xbf)?|[\r\n])\f*"
_IMPORTING = Pattern(
    rf"(?:{FIRST}|[;:])[ \t]*(?:import|from)\b(?:[\w., \t]|\\\r?\n)*"
    r"(?:\((?:[\w\s.,]|#[^\n]*\n)*)?\Z"
)
_IMPORT = Pattern(r"\bimport\b")
_FOR, _IN = Pattern(r"\bfor\b"), Pattern(r"\bin\b")
_NESTED = 9  # brackets within one another that are taken away
_IN_BRACKETS = Pattern(r"\([^()\[\]]*\)|\[[^()\[\]]*\]")
_GIVEN = Pattern(r"(?:return|yield|await|del|assert|raise)\b")
_BETWEEN = " \t\r\n\\("
_IN_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_IN_LISTS = f"{_IN_WORDS}. \t\r\n\f\v,("


def _last_line(text: str) -> str:
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def follows(text: str, place: int, before: Before) -> bool:
    """It holds of what stands before a place."""
    return before(text[max(0, place - FAR) : place])


class Led(NamedTuple):
    """A regular expression that is searched first, and what must hold of the text right before a match."""

    source: str
    before: Before = begins_or_is_assigned

    def search(self, text: str, start: int, end: int) -> bool:
        """It matches somewhere between the offsets, and so does what lies before."""
        return any(follows(text, one.start(), self.before) for one in self.pattern.finditer(text, start, end))

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression that is searched."""
        return compiled(self.source)

    @property
    def beginning(self) -> str:
        """The letters and digits that every match begins with, as far as they are easily seen."""
        return _beginning(self.source)

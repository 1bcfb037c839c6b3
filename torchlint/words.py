"""Words of source text: which functions hold them, and what else is called so, told without parsing.

Everything here errs on one side: a function that holds what is asked for is always found, and perhaps some others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import AnyStr, NamedTuple

FAR = 400  # characters around a match that are looked at


@cache
def compiled(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is used again and again."""
    return re.compile(source, flags)


@cache
def _calls(names: Sequence[str], without: Sequence[str], having: Sequence[str]) -> re.Pattern[str]:
    """Calls by attribute without these keywords, or with one of those, as far as the arguments can be followed.

    A comment may hide a call.
    """
    arguments = r"[^()#]*(?:\([^()#]*\)[^()#]*)*"
    lacks = rf"(?!(?:{arguments},)?\s*{_one_of(without)}\s*=(?!=))" if without else ""
    has = rf"(?={arguments}(?:#|\((?![^()#]*\))|\b{_one_of(having)}\s*=))" if having else ""
    return re.compile(rf"\.[\s\\]*{_one_of(names)}[\s\\)]*(?:#|\({lacks}{has})")


@cache
def _named(names: Sequence[str]) -> re.Pattern[str]:
    """Functions that are only named at the end of what may be an assignment."""
    return re.compile(rf"\.{_one_of(names)}[ \t]*(?:[\r\n#;)]|if\b|\Z)")


def _one_of(names: Sequence[str]) -> str:
    return f"(?:{'|'.join(names)})"


@cache
def _beginning(source: str) -> str:
    found = re.match(r"\w*(?![\w?*{])", source)
    return found[0] if found is not None and "|" not in source else ""


class Pattern(NamedTuple):
    """A regular expression, compiled when it is first used: a short run has no time to compile all there are."""

    source: str
    flags: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression itself."""
        return compiled(self.source, self.flags)

    @property
    def beginning(self) -> str:
        """The letters and digits that every match begins with, as far as they are easily seen."""
        return "" if self.flags else _beginning(self.source)

    def search(self, text: str, start: int, end: int) -> bool:
        """It matches somewhere between the offsets."""
        return self.pattern.search(text, start, end) is not None


# Where a statement begins, perhaps with a dotted name or a parenthesis; also with another target of an assignment.
_DOTTED = r"[ \t(]*(?:[\w\[\]]{1,80}[ \t]*\.[ \t]*){0,8}\w{0,80}\Z"
STATEMENT = rf"(?:\A|[\r\n;:]){_DOTTED}"
BEGINNING = rf"(?:\A|[\r\n;:=]){_DOTTED}"


# Where an import begins, perhaps with other names.
IMPORTED = r"(?:\A|[\r\n;:])[ \t]*(?:import|from)\b[\w., \t]*(?:\([\w\s.,]*)?\Z"


class Led(NamedTuple):
    """A regular expression that is searched first, and another one for what must lie right before it.

    A pattern that begins with a plain text is found many times faster than one that ends with it.
    """

    source: str
    before: Before = BEGINNING

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


def follows(text: str, place: int, before: Before) -> bool:
    """What stands before a place ends with a match of this."""
    lead = text[max(0, place - FAR) : place]
    return compiled(before).search(lead) is not None if isinstance(before, str) else before(lead)


def is_named(lead: str) -> bool:
    """A text ends with what comes before the last part of a name that is assigned, or chosen by ``else``.

    So do some others.
    """
    rest = lead.rstrip(_DOTTED_NAME)
    if not rest[-1:].isascii():
        return True  # a letter of a name, for all that is known
    return rest.rstrip(" \t\r\n\\(").endswith(("=", "else"))


def _is_renamed(lead: str) -> bool:
    """The same of a name that is assigned or imported."""
    return is_named(lead) or compiled(r"\bimport\b[\w\s.,(]*\Z").search(lead) is not None


_DOTTED_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
Before = str | Callable[[str], bool]


class Calls(NamedTuple):
    """Calls of functions by the last part of their names, or another name for one of them.

    Only those without any keyword of ``without``, with one of ``having``, and on whose result a method of ``then`` is
    called, at once or through a variable.
    """

    names: tuple[str, ...]
    without: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    then: tuple[str, ...] = ()

    @property
    def signs(self) -> tuple[str, ...]:
        """One of these stands wherever the search finds anything."""
        return ("import", *self.names)

    def search(self, text: str, start: int, end: int) -> bool:
        """Some such call, or another name for one, may stand between the offsets."""
        return (
            self._is_called(text, start, end)
            or any(self._is_imported(text, one.end()) for one in _IMPORT.pattern.finditer(text, start, end))
            or any(follows(text, one.start(), is_named) for one in _named(self.names).finditer(text, start, end))
        )

    def _is_called(self, text: str, start: int, end: int) -> bool:
        calls = _calls(self.names, self.without, self.having)
        if not self.then:
            return calls.search(text, start, end) is not None
        from torchlint.chains import Results

        results = Results(text, start, end, self.then)
        return any(map(results.reach, calls.finditer(text, start, end)))

    def _is_imported(self, text: str, place: int) -> bool:
        """What is imported here are some of the names, or all that there are."""
        return _alone(self.names).search(_listed(text[place : place + _LIST])) is not None


_IMPORT = Pattern(r"import\b")
_COMMENT = Pattern(r"#[^\n]*")
_CONTINUED = Pattern(r"\\\r?\n")
_LIST = 4000  # characters of a list of imported names


def _listed(text: str) -> str:
    """The names that an import lists, of the text behind ``import``; ``*`` where there is too much of it."""
    text = text.lstrip(" \t\\\r\n")
    end = ")" if text.startswith("(") else "\n"
    names, ended, _ = text.partition(end)
    if end == ")" and "#" in names:
        names, ended, _ = _COMMENT.pattern.sub("", text).partition(end)
    elif end == "\n" and names.rstrip("\r").endswith("\\"):
        names, ended, _ = _CONTINUED.pattern.sub(" ", text).partition(end)
    return names if ended or len(text) < _LIST // 2 else "*"


@cache
def _alone(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b{_one_of(names)}\b|\*")


Word = str | re.Pattern[str] | Pattern | Led | Calls
Words = Sequence[Word]


def signs_of(word: Word) -> tuple[str, ...]:
    """One of these stands wherever a word is found; the empty text, which always does, where nothing is known."""
    if isinstance(word, str):
        return (word.removesuffix("("),)
    if isinstance(word, Calls):
        return word.signs
    return ("",) if isinstance(word, re.Pattern) else (word.beginning,)


def holds(text: str, start: int, end: int, word: Word) -> bool:
    """A word stands between two offsets; one that ends with ``(`` is a name that is called, or given another name."""
    if not isinstance(word, str):
        return bool(word.search(text, start, end))
    if text.find(word, start, end) >= 0:
        return True
    if not word.endswith("(") or text.find(word[:-1], start, end) < 0:
        return False
    return any(other.search(text, start, end) for other in _called_otherwise(word[:-1]))


# What follows a name that is assigned or imported as a whole.
_RENAMED_AFTER = r"(?![\w(.:|\]]|[ \t]+(?!(?:as|if|else|or|and)\b)\w)"


@cache
def _called_otherwise(name: str) -> tuple[Pattern, Led]:
    """A function called with a space or a comment before the parenthesis, or given another name."""
    plain = re.escape(name)
    return Pattern(rf"{plain}[\s\\)]+[(#]"), Led(rf"{plain}{_RENAMED_AFTER}", _is_renamed)

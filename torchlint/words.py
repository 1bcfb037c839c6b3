"""Words of source text: which functions hold them, and what else is called so, told without parsing.

Everything here errs on one side: a function that holds what is asked for is always found, and perhaps some others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from torchlint.patterns import Led, Pattern, follows, is_named, is_renamed


@cache
def _calls(names: Sequence[str], without: Sequence[str], having: Sequence[str]) -> re.Pattern[str]:
    """Calls by attribute without these keywords, or with one of those, as far as the arguments can be followed.

    A comment may hide a call.
    """
    arguments = r"[^()#]*(?:\([^()#]*\)[^()#]*)*"
    lacks = rf"(?!(?:{arguments},)?\s*{_one_of(without)}\s*=(?!=))" if without else ""
    plain = arguments.replace("#", "#\"'")
    has = rf"(?={plain}(?:[#\"']|\((?![^()#\"']*\))|\b{_one_of(having)}\s*=))" if having else ""
    return re.compile(rf"\.[\s\\]*{_one_of(names)}[\s\\)]*(?:#|\({lacks}{has})")


@cache
def _named(names: Sequence[str]) -> re.Pattern[str]:
    """Functions that are only named at the end of what may be an assignment."""
    return re.compile(rf"\.{_one_of(names)}[ \t]*(?:[\r\n#;)]|if\b|\Z)")


def _one_of(names: Sequence[str]) -> str:
    return f"(?:{'|'.join(names)})"


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
            or self._is_imported(text, start, end)
            or any(follows(text, one.start(), is_named) for one in _named(self.names).finditer(text, start, end))
        )

    def _is_called(self, text: str, start: int, end: int) -> bool:
        calls = _calls(self.names, self.without, self.having)
        if not self.then:
            return calls.search(text, start, end) is not None
        from torchlint.chains import Results

        results = Results(text, start, end, self.then)
        return any(map(results.reach, calls.finditer(text, start, end)))

    def _is_imported(self, text: str, start: int, end: int) -> bool:
        """Some of the names are imported, or all that there are."""
        for number, one in enumerate(_IMPORT.pattern.finditer(text, start, end)):
            if number >= _IMPORTS or _alone(self.names).search(listed(text, one.end())) is not None:
                return True
        return False


_IMPORT = Pattern(r"import\b")
_IMPORTS = 500  # that are looked at in one text
_COMMENT = Pattern(r"#[^\r\n]*")
_CONTINUED = Pattern(r"\\\r?\n")
_LIST = 4000  # characters of a list of imported names


def listed(text: str, place: int) -> str:
    """The names that an import lists whose ``import`` ends at a place; ``*`` where they are too many."""
    stop = text.find("\n", place, place + _LIST)
    line = text[place:stop].strip() if stop >= 0 else ""
    if line and line[0] not in "(\\" and line[-1] != "\\":
        return line
    text = text[place : place + _LIST].lstrip(" \t\\\r\n")
    end = ")" if text.startswith("(") else "\n"
    names, ended, _ = text.removeprefix("(").partition(end)
    if end == ")" and "#" in names:
        names, ended, _ = _COMMENT.pattern.sub("", text).removeprefix("(").partition(end)
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
    return Pattern(rf"{plain}[\s\\)]+[(#]"), Led(rf"{plain}{_RENAMED_AFTER}", is_renamed)

"""Words of source text: which functions hold them, and what else is called so, told without parsing.

Everything here errs on one side: a function that holds what is asked for is always found, and perhaps some others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from torchlint.patterns import NAMED_END, Led, Pattern, follows, is_named, is_renamed

if TYPE_CHECKING:
    from torchlint.chains import Results
    from torchlint.vocabulary import Vocabulary


@cache
def _called(without: Sequence[str], having: Sequence[str], idle: str) -> re.Pattern[str]:
    """A call without these keywords, or with one of those, as far as the arguments can be followed.

    A comment may hide it.
    """
    arguments = r"[^()#]*(?:\([^()#]*\)[^()#]*)*"
    lacks = rf"(?!(?:{arguments},)?\s*{_one_of(without)}\s*=(?!=))" if without else ""
    plain = arguments.replace("#", "#\"'")
    has = rf"(?={plain}(?:[#\"']|\((?![^()#\"']*\))|\b{_one_of(having)}\s*=))" if having else ""
    if having and idle:
        has += rf"(?!{plain}\b(?:{idle})\s*[,)])"
    return re.compile(rf"[\s\\)]*(?:#|\({lacks}{has})")


def _one_of(names: Sequence[str]) -> str:
    return f"(?:{'|'.join(names)})"


class Calls(NamedTuple):
    """Calls of functions by the last part of their names, or another name for one of them.

    Only those without any keyword of ``without``, with one of ``having``, and on whose result a method of ``then`` is
    called, at once or through a variable. What matches ``idle``, such a keyword with its value or such a method with
    its arguments, does not count.
    """

    names: tuple[str, ...]
    without: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    idle: str = ""

    @property
    def signs(self) -> tuple[str, ...]:
        """One of these stands wherever the search finds anything."""
        return ("import", *self.names)

    def standing_in(self, vocabulary: Vocabulary) -> Calls:
        """The same of those functions whose names are words of a text; searches take a while for each of them."""
        spelled = _spelled(self.names)
        return self._replace(names=tuple(sorted(spelled[word] for word in vocabulary.shared(frozenset(spelled)))))

    def search(self, text: str, start: int, end: int) -> bool:
        """Some such call, or another name for one, may stand between the offsets."""
        return bool(self.names) and (self._is_used(text, start, end) or self._is_imported(text, start, end))

    def _is_used(self, text: str, start: int, end: int) -> bool:
        """A function is called by attribute, or named at the end of what may be an assignment."""
        called = _called(self.without, self.having, self.idle)
        results: Results | None = None
        for point, stop in self._attributes(text, start, end):
            call = called.match(text, stop, end)
            if call is not None:
                if self.then and results is None:
                    from torchlint.chains import Results

                    results = Results(text, start, end, self.then, self.idle)
                if results is None or results.reach(point, call.end()):
                    return True
            if _ENDED.pattern.match(text, stop, end) is not None and follows(text, point + 1, is_named):
                return True
        return False

    def _attributes(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where one of the names stands behind a point: the place of the point, and the end of the name."""
        for name in self.names:
            found = text.find(name, start, end)
            while found >= 0:
                point = _point_before(text, start, found)
                if point is not None:
                    yield point, found + len(name)
                found = text.find(name, found + 1, end)

    def _is_imported(self, text: str, start: int, end: int) -> bool:
        """Some of the names are imported, or all that there are."""
        for number, one in enumerate(_IMPORT.pattern.finditer(text, start, end)):
            if number >= _IMPORTS or self._is_listed(listed(text, one.end())):
                return True
        return False

    def _is_listed(self, names: str) -> bool:
        return any(name == "*" or name in self.names for name in _LISTED.pattern.findall(names))


def _point_before(text: str, start: int, place: int) -> int | None:
    """The place of the point behind which a name stands, with blanks, comments and continued lines between them."""
    for _ in range(_COMMENTS):
        stop = place
        while place > start and (text[place - 1] == "\\" or text[place - 1].isspace()):
            place -= 1
        if _LINE_END.pattern.search(text, place, stop) is None:
            break
        line = max(text.rfind("\n", start, place), text.rfind("\r", start, place), start)
        comment = text.find("#", line, place)
        if comment < 0:
            break
        place = comment
    return place - 1 if place > start and text[place - 1] == "." else None


_ENDED = Pattern(NAMED_END)
_IMPORT = Pattern(r"import\b")
_IMPORTS = 500  # that are looked at in one text
_COMMENTS = 6  # that are looked over before a name
_LISTED = Pattern(r"\w+|\*")
_LINE_END = Pattern(r"[\r\n]")
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


class Followed(NamedTuple):
    """A plain text, and what has to follow it."""

    plain: str
    after: Pattern

    @property
    def signs(self) -> tuple[str, ...]:
        """This stands wherever the search finds anything."""
        return (self.plain,)

    def search(self, text: str, start: int, end: int) -> bool:
        """The text stands between the offsets, with what has to follow."""
        after = self.after.pattern
        place = text.find(self.plain, start, end)
        while place >= 0:
            place += len(self.plain)
            if after.match(text, place, end) is not None:
                return True
            place = text.find(self.plain, place, end)
        return False


def whole_name(name: str) -> Followed:
    """A name as a whole, as far as its end is concerned."""
    return Followed(name, _END)


def stored(name: str) -> Followed:
    """Assignments to something that has this name, also together with others."""
    return Followed(name, _STORED)


_END = Pattern(r"(?!\w)")
# What follows the target of an assignment, or one of several.
_GAP = r"[\s\\)\]]"
_STORED = Pattern(rf"(?!\w)(?:{_GAP}{{81}}|{_GAP}{{0,80}}(?:[,:#]|=(?!=)|(?:[-+%&|^@]|//?|\*\*?|<<|>>)=))")


@cache
def _spelled(names: Sequence[str]) -> dict[bytes, str]:
    return {name.encode(): name for name in names}


Word = str | re.Pattern[str] | Pattern | Led | Calls | Followed
Words = Sequence[Word]


def signs_of(word: Word) -> tuple[str, ...]:
    """One of these stands wherever a word is found; the empty text, which always does, where nothing is known."""
    if isinstance(word, str):
        return (word.removesuffix("("),)
    if isinstance(word, (Calls, Followed)):
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

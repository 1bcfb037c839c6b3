"""What becomes of the result of a call, told from the text: methods called on it, at once or through a variable.

Everything here errs on one side: where the text does not tell, anything may become of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_FAR = 400  # characters before a call that are looked at
_LONG = 1000  # characters of arguments that are looked at
_LINKS = 30
_PLACES = 5000  # at which variables are looked for in one text
_SPARE = 10_000  # characters that are searched in the time that one place takes
_WRAPPER = "Variable"  # `Variable(x)` has been `x` since torch 0.4
_GAP = re.compile(r"(?:[\s\\)]|#[^\r\n]*)*")
_MARK = re.compile(r"""'[^'\\\n]*'|"[^"\\\n]*"|[()#"']""")
_NAME = re.compile(r"[ \t\r\n\\]*(\w*)[ \t\r\n\\]*")
# `x = torch.` and `x = Variable(torch.` before a call, and a comment that hides what comes before.
_TARGET = re.compile(r"(?<![\w.])(\w+)[ \t]*=[\s\\(]*(?:[\w.]+[\s\\]*\([\s\\(]*)*[\w.]*\Z")
_HIDDEN = re.compile(r"#[^#\r\n]*[\r\n][\s\\(]*[\w.]*\Z")


class Results:
    """Follows the results of calls between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int, methods: Collection[str]) -> None:
        self._text, self._start, self._end = text, start, end
        self._methods = methods
        self._wraps = _WRAPPER in text
        self._variables: dict[str, bool] = {}
        self._places = _PLACES

    def reach(self, call: re.Match[str]) -> bool:
        """One of the methods may be called on what a call gives; the match ends with its parenthesis, or a comment."""
        place = _behind(self._text, call.end() - 1)
        if place is None or self._goes_on(place):
            return True
        before = self._text[max(0, call.start() - _FAR) : call.start()]
        target = _TARGET.search(before)
        return _HIDDEN.search(before) is not None if target is None else self._is_used(target[1])

    def _goes_on(self, place: int) -> bool:
        """The methods called on what ends here are, or may be, among those that are looked for."""
        text = self._text
        for _ in range(_LINKS):
            gap = _GAP.match(text, place)
            place = gap.end() if gap is not None else place
            if not text.startswith(".", place):
                return self._wraps and text.startswith(",", place)
            name = _NAME.match(text, place + 1)
            if name is None or not name[1] or name[1] in self._methods:
                return True
            if not text.startswith("(", name.end()):
                return text.startswith("#", name.end())
            behind = _behind(text, name.end())
            if behind is None:
                return True
            place = behind
        return True

    def _is_used(self, variable: str) -> bool:
        """The methods are called on a variable somewhere."""
        known = self._variables.get(variable)
        if known is None:
            known = self._variables[variable] = self._is_moved(variable)
        return known

    def _is_moved(self, variable: str) -> bool:
        text = self._text
        self._places -= (self._end - self._start) // _SPARE
        place = text.find(variable, self._start, self._end)
        while place >= 0:
            self._places -= 1
            if self._places < 0:
                return True
            stop = place + len(variable)
            if not (_is_part(text[place - 1 : place]) or _is_part(text[stop : stop + 1])) and self._goes_on(stop):
                return True
            place = text.find(variable, stop, self._end)
        return False


def _is_part(character: str) -> bool:
    """The character goes on a name."""
    return character == "_" or character.isalnum()


def _behind(text: str, place: int) -> int | None:
    """The place behind the parentheses that open at a place; None where strings, comments or length hide it."""
    depth = 0
    for mark in _MARK.finditer(text, place, place + _LONG):
        if mark[0] == "(":
            depth += 1
        elif mark[0] == ")":
            depth -= 1
            if depth == 0:
                return mark.end()
        elif len(mark[0]) == 1:
            return None
    return None

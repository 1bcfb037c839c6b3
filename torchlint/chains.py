"""What becomes of the result of a call, told from the text: methods called on it, at once or through a variable.

Everything here errs on one side: where the text does not tell, anything may become of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_FAR = 400  # characters before a call that are looked at
_LONG = 4000  # characters of arguments that are looked at
_LINKS = 30
_VARIABLES = 40  # of one text that are followed
_WRAPPER = "Variable"  # `Variable(x)` has been `x` since torch 0.4
_GAP = " \t\r\n\\)"
_MARK = re.compile(r"[()#\"']")
_NAME = re.compile(r"[ \t\r\n\\]*(\w*)[ \t\r\n\\]*")
# `x = torch.` and `x = Variable(torch.` before a call, and a comment that hides what comes before.
_TARGET = re.compile(r"(?<![\w.])(\w+)[ \t]*=[\s\\(]*(?:[\w.]+[\s\\]*\([\s\\(]*)*[\w.]*\Z")
_HIDDEN = re.compile(r"#[^#\n]*\n[\s\\(]*[\w.]*\Z")


class Results:
    """Follows the results of calls between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int, methods: Collection[str]) -> None:
        self._text, self._start, self._end = text, start, end
        self._methods = methods
        self._wraps = _WRAPPER in text
        self._variables: dict[str, bool] = {}

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
            while text[place : place + 1] in _GAP and place < len(text):
                place += 1
            mark = text[place : place + 1]
            if mark != ".":
                return mark == "#" or (mark == "," and self._wraps)
            name = _NAME.match(text, place + 1)
            if name is None or not name[1] or name[1] in self._methods:
                return True
            if text[name.end() : name.end() + 1] != "(":
                return text[name.end() : name.end() + 1] == "#"
            behind = _behind(text, name.end())
            if behind is None:
                return True
            place = behind
        return True

    def _is_used(self, variable: str) -> bool:
        """The methods are called on a variable somewhere."""
        known = self._variables.get(variable)
        if known is None:
            known = len(self._variables) >= _VARIABLES or self._is_moved(variable)
            self._variables[variable] = known
        return known

    def _is_moved(self, variable: str) -> bool:
        text = self._text
        place = text.find(variable, self._start, self._end)
        while place >= 0:
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
        else:
            return None
    return None

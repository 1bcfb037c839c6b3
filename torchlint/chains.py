"""What becomes of the result of a call, told from the text: methods called on it, at once or through a variable.

Everything here errs on one side: where the text does not tell, anything may become of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from torchlint.outline import outline
from torchlint.patterns import compiled

_FAR = 400  # characters before a call that are looked at
_LONG = 1000  # characters of arguments, or of a gap, that are looked at
_LINKS = 30
# What is looked at in one text before anything is possible: characters, of which a plain search looks at many at once.
_BUDGET = 200_000
_AT_ONCE = 100
_OCCURRENCE = 20
_WRAPPER = "Variable"  # `Variable(x)` has been `x` since torch 0.4
_GAP = re.compile(r"(?:[\s\\)]|#[^\r\n]*)*")
_MARK = re.compile(r"""'[^'\\\n]*'|"[^"\\\n]*"|[()#"']""")
_NAME = re.compile(r"[ \t\r\n\\]*(\w*)[ \t\r\n\\)]*")
# `x = torch.` and `x = Variable(torch.` before a call, and a comment that hides what comes before.
_TARGET = re.compile(r"(?<![\w.])(\w+)[ \t]*=[\s\\(]*(?:[\w.]+[\s\\]*\([\s\\(]*)*[\w.]*\Z")
_HIDDEN = re.compile(r"#[^#\r\n]*[\r\n][\s\\(]*[\w.]*\Z")
_CLOSED = re.compile(r"[\s\\]*\)")


class Results:
    """Follows the results of calls between two offsets of a text."""

    def __init__(self, text: str, start: int, end: int, methods: Collection[str], idle: str = "") -> None:
        self._text, self._start, self._end = text, start, end
        self._methods = methods
        self._idle = compiled(idle) if idle else None
        self._wraps = _WRAPPER in text
        self._outline = outline(text)
        self._variables: dict[tuple[str, int, int], bool] = {}
        self._budget = _BUDGET + 2 * (end - start)

    def reach(self, point: int, opened: int) -> bool:
        """One of the methods may be called on what a call gives.

        Given are the offset of the point in the name of what is called, and that behind the parenthesis that opens,
        or behind the sign of a comment that hides it.
        """
        self._budget -= _FAR
        place = self._behind(opened - 1)
        if place is None or self._goes_on(place):
            return True
        before = self._text[max(0, point - _FAR) : point]
        target = _TARGET.search(before)
        if target is None:
            return _HIDDEN.search(before) is not None
        keyword = before[: target.start()].rstrip().endswith(("(", ","))
        if target[1] in self._outline.shared or (keyword and self._wraps):
            return True
        if not self._is_used(target[1], self._start, self._end):
            return False
        start, end = self._outline.around(point) or (self._start, self._end)
        return self._is_used(target[1], max(start, self._start), min(end, self._end))

    def _goes_on(self, place: int) -> bool:
        """The methods called on what ends here are, or may be, among those that are looked for."""
        text = self._text
        for _ in range(_LINKS):
            gap = _GAP.match(text, place, place + _LONG)
            end = gap.end() if gap is not None else place
            self._budget -= end - place
            if end == place + _LONG or self._budget < 0:
                return True
            place = end
            if not text.startswith(".", place):
                return self._wraps and text.startswith(",", place)
            name = _NAME.match(text, place + 1)
            if name is None or not name[1] or (name[1] in self._methods and not self._is_idle(name.start(1))):
                return True
            if not text.startswith("(", name.end()):
                return text.startswith("#", name.end())
            behind = self._behind(name.end())
            if behind is None:
                return True
            place = behind
        return True

    def _is_idle(self, place: int) -> bool:
        """The call of a method that begins there does not count."""
        return self._idle is not None and self._idle.match(self._text, place) is not None

    def _is_used(self, variable: str, start: int, end: int) -> bool:
        """The methods are called on a variable somewhere between the offsets."""
        key = variable, start, end
        known = self._variables.get(key)
        if known is None:
            known = self._variables[key] = self._is_moved(*key)
        return known

    def _is_moved(self, variable: str, start: int, end: int) -> bool:
        text = self._text
        self._budget -= (end - start) // _AT_ONCE
        place = text.find(variable, start, end)
        while place >= 0:
            self._budget -= _OCCURRENCE
            if self._budget < 0:
                return True
            stop = place + len(variable)
            apart = not (_is_part(text[place - 1 : place]) or _is_part(text[stop : stop + 1]))
            if apart and not self._is_last(place, stop) and self._goes_on(stop):
                return True
            place = text.find(variable, stop, end)
        return False

    def _is_last(self, place: int, stop: int) -> bool:
        """A name is the last of several things between parentheses, and not what they hold."""
        if self._wraps or _CLOSED.match(self._text, stop) is None:
            return False
        before = self._text[max(0, place - _FAR) : place].rstrip(" \t\r\n\\")
        return bool(before) and before[-1] != "(" and "#" not in before[before.rfind("\n") + 1 :]

    def _behind(self, place: int) -> int | None:
        """The place behind the parentheses that open at a place; None where strings, comments or length hide it."""
        depth = 0
        for mark in _MARK.finditer(self._text, place, place + _LONG):
            if mark[0] == "(":
                depth += 1
            elif mark[0] == ")":
                depth -= 1
                if depth == 0:
                    self._budget -= mark.end() - place
                    return mark.end() if self._budget >= 0 else None
            elif len(mark[0]) == 1:
                return None
        return None


def _is_part(character: str) -> bool:
    """The character goes on a name."""
    return character == "_" or character.isalnum()

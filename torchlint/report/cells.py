"""Text in the cells of a terminal: what is drawn for a character, how wide it is, and where lines wrap.

A column of a source is a character; a column of a terminal is a cell. Tabs, wide and combining characters and escaped
controls make the two differ.
"""

from __future__ import annotations

import re

from torchlint.text.visible import characters, visible

TAB = 4
# A word, in which a part between backticks may contain spaces.
_WORD = re.compile(r"(?:`[^`]*`|\S)+")


def drawn(line: str) -> list[str]:
    """What a terminal draws for each character of a line: tabs as spaces, control characters as escapes."""
    if line.isprintable():
        return characters(line)
    found: list[str] = []
    at = 0
    for character, shown in zip(line, characters(line), strict=True):
        cell = " " * (TAB - at % TAB) if character == "\t" else shown
        found.append(cell)
        at += width(cell)
    return found


def width(text: str) -> int:
    """The number of cells that printable text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(c) in ("Mn", "Me") else 1 + (east_asian_width(c) in "WF") for c in text)


def in_word(character: str) -> bool:
    """Whether a character can be in a name or a number."""
    return character == "_" or character.isalnum()


def wrapped(text: str, room: int) -> list[str]:
    """Text in lines of at most ``room`` cells. Words stay whole, and so does code in backticks if it fits a line."""
    if width(text) <= max(room, 0):
        return [text]
    lines: list[str] = []
    for word in _WORD.findall(text):
        for part in [word] if width(word) <= room else word.split(" "):
            if lines and width(lines[-1]) + 1 + width(part) <= room:
                lines[-1] += f" {part}"
            else:
                lines.append(visible(part))
    return lines

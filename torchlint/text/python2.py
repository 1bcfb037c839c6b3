"""Whether code that Python 3 does not parse is written in Python 2."""

from __future__ import annotations

import re

from torchlint.text.lines import split_lines

_SHEBANG = re.compile(r"#![^\n]*\bpython([23])")
# What Python 3 says of statements, parameters, handlers and numbers that only Python 2 has.
_STATEMENT = re.compile(
    r"Missing parentheses in call to '(?:print|exec)'|(?:Function|Lambda expression) parameters cannot be parenthesized"
)
_HANDLER = "multiple exception types must be parenthesized"
_OCTAL = "leading zeros in decimal integer literals"
# In Python 2 the second name is a variable; in Python 3.14 it is a class, and classes are seldom written like that.
_VARIABLE = re.compile(r"[^#:]*,\s*[a-z_]\w*\s*:")
_NUMBER = re.compile(r"0[0-7]+[lL]?\b")
# Where Python 3 only finds the syntax or a number invalid: what begins at that place, or ends there.
_HERE = re.compile(r"<>|`[^`\n]+`(?!`)|(?<=\b[uU][rR])[\"']|[0-9a-fA-F][lL]\b")
_RAISED = re.compile(r"\braise\s+[\w.\[\]]+\s*,")
# What Python 2 does not have: a text with it is Python 3, and has an error.
_PYTHON3 = re.compile(
    r"^[ \t]*(?:async[ \t]+(?:def|for|with)[ \t]|nonlocal[ \t]|def[ \t][^#\n]*\)[ \t]*->"
    r"|raise[ \t].*\)[ \t]from[ \t]\w+$)"
    r"|\byield[ \t]+from\b|\(\w+[ \t]:=|\bsuper\(\)|[\s(\[{,=+](?:[fF][rR]?|[rR][fF])[\"']",
    re.MULTILINE,
)


def is_python2(code: str, message: str, line: int, column: int, whole: str | None = None) -> bool:
    """Whether code is written in Python 2, to which Python 3 objects with this message at this place.

    The first line may say which Python runs it. If it does not, the error must be one that Python 2 does not find, and
    the ``whole`` that the code is part of must not contain what only Python 3 has.
    """
    named = _SHEBANG.match(code)
    if named is not None:
        return named[1] == "2"
    lines = split_lines(code)[line - 1 :]
    return bool(lines) and _is_valid_there(message, lines, column - 1) and not _PYTHON3.search(whole or code)


def _is_valid_there(message: str, lines: list[str], start: int) -> bool:
    """Whether Python 2 accepts what Python 3 objects to in the first of some lines."""
    if _STATEMENT.match(message):
        return True
    if message.startswith(_HANDLER):
        return _VARIABLE.match("\n".join(lines), start) is not None
    if message.startswith(_OCTAL):
        return _NUMBER.match(lines[0], start) is not None
    if _HERE.match(lines[0], start):
        return True
    return any(found.end() == start + 1 for found in _RAISED.finditer(lines[0]))

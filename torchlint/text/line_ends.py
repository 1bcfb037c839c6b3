"""Where a comment may be added: at the ends of lines, outside strings and not after a backslash."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping

_ALONE = re.compile(r"\r(?!\n)")
_NO_CODE = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
# Python 3.12 has tokens for the parts of f-strings, and 3.14 for those of t-strings.
_OPENING = {number for name in ("FSTRING_START", "TSTRING_START") if (number := getattr(tokenize, name, None))}
_CLOSING = {number for name in ("FSTRING_END", "TSTRING_END") if (number := getattr(tokenize, name, None))}


class Untokenizable(Exception):
    """The running Python cannot split the text into tokens."""


def line_ends(text: str) -> Mapping[int, int]:
    """The column, from 1, at which each line with code ends; only lines after whose end a comment may be added.

    A comment at the end of the line counts as a part of it. Lines within the replacement field of an f-string are left
    out: before Python 3.12, a comment there was an error.
    """
    # Python ends a line at a CR that stands alone, as at an LF; no position changes.
    lines = io.StringIO(_ALONE.sub("\n", text), newline="")
    found: dict[int, int] = {}
    nested, has_code, end = 0, False, (0, 0)
    try:
        for token in tokenize.generate_tokens(lines.readline):
            nested += (token.type in _OPENING) - (token.type in _CLOSING)
            if token.type in (tokenize.NEWLINE, tokenize.NL):
                if has_code and not nested and end[0] == token.start[0]:
                    found[end[0]] = end[1] + 1
                has_code = False
                continue
            has_code |= token.type not in _NO_CODE
            end = token.end
    except (tokenize.TokenError, SyntaxError) as error:
        raise Untokenizable from error
    return found

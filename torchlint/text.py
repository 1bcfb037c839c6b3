"""Lines of source text, as Python counts them. Standard library only."""

from __future__ import annotations

import re


def split_lines(text: str) -> list[str]:
    """The lines without their ends: LF, CRLF and CR end a line, form feeds and U+2028 do not."""
    return re.split(r"\r\n|\r|\n", text)
